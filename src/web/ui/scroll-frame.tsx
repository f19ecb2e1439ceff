/** A frame that scrolls what is wider or higher than it, and that a keyboard reaches. */
import type { ComponentChildren } from 'preact';

interface ScrollFrameProps {
  /** What is in it, for a screen reader. */
  readonly label: string;
  /** No higher than a chart. */
  readonly short?: boolean;
  readonly children: ComponentChildren;
}

export function ScrollFrame({ label, short = false, children }: ScrollFrameProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the arrow keys would not scroll it
    <section class={short ? 'table-frame short' : 'table-frame'} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
