/** Copies the address of the page, which shows the same to whoever may see it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../ui/parts.js';

/** How long the page says so. */
const COPIED_MS = 3_000;

export function CopyLink() {
  const [state, setState] = useState<'' | 'copied' | 'refused'>('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (state === 'refused') field.current?.select();
    if (state !== 'copied') return;
    const timer = setTimeout(() => setState(''), COPIED_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    // Only pages over https or from this machine have a clipboard, and it may be forbidden.
    const isCopied = await navigator.clipboard?.writeText(location.href).then(
      () => true,
      () => false,
    );
    setState(isCopied === true ? 'copied' : 'refused');
  };
  return (
    <>
      <Button
        label="Copy link"
        title="The address of this page; whoever may see the report sees the same"
        act={copy}
      />
      <span role="status" class="small">
        {state === 'copied' ? 'Copied' : null}
        {state === 'refused' ? (
          <label class="row">
            Press Ctrl+C or ⌘C
            <input ref={field} readOnly value={location.href} onBlur={() => setState('')} />
          </label>
        ) : null}
      </span>
    </>
  );
}
