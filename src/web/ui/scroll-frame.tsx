/** A frame that scrolls, also by keyboard, and says so while columns are hidden at its end, and on a phone also of rows. */
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface ScrollFrameProps {
  /** For screen readers. */
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
  /** Of the frame itself. */
  readonly frame?: RefObject<HTMLElement | null>;
}

export function ScrollFrame({ label, class: more = '', children, frame }: ScrollFrameProps) {
  const own = useRef<HTMLElement>(null);
  const section = frame ?? own;
  const [state, setState] = useState<'' | 'more' | 'end'>('');
  const [hasRows, setHasRows] = useState(false);
  const look = () => {
    const element = section.current;
    if (element === null) return;
    const { scrollLeft, clientWidth, scrollWidth, clientHeight, scrollHeight } = element;
    setHasRows(scrollHeight > clientHeight + 1);
    const left = scrollWidth - clientWidth - Math.abs(scrollLeft);
    setState(scrollWidth <= clientWidth + 1 ? '' : left > 1 ? 'more' : 'end');
  };
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    for (const element of [section.current, section.current?.firstElementChild])
      if (element) watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return (
    <div class={`scroll ${state}`}>
      {state === '' && !hasRows ? null : (
        <p class={`small quiet ${state === '' ? 'of-phone' : ''}`} aria-hidden="true">
          {hasRows ? <span class="of-phone">More rows ↓ </span> : null}
          {state === '' ? null : <span class="columns">Scroll for more columns →</span>}
        </p>
      )}
      <div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without it the arrow keys would not scroll it */}
        <section ref={section} class={`table-frame ${more}`} aria-label={label} tabIndex={0} onScroll={look}>
          {children}
        </section>
      </div>
    </div>
  );
}
