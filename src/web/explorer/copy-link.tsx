/** Copies a link that shows the same days to whoever may see them, also later. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../ui/parts.js';
import type { Meta } from './parse.js';
import { reportHref, type Viewed } from './question.js';
import { closedPeriod, periodWords } from './spans.js';

/** How long the page says so. */
const COPIED_MS = 3_000;

interface CopyProps extends Pick<Viewed, 'question' | 'view'> {
  readonly period: Meta['period'];
}

/** Of a relative period the days are fixed; the address of the page keeps moving. */
export function CopyLink({ question, view, period }: CopyProps) {
  const days = question.period === '' ? null : closedPeriod(period);
  const fixed = days && reportHref({ ...question, period: '', dateFrom: days.from, dateTo: days.to }, view);
  const link = new URL(fixed ?? location.hash, location.href).href;
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
    const isCopied = await navigator.clipboard?.writeText(link).then(
      () => true,
      () => false,
    );
    setState(isCopied === true ? 'copied' : 'refused');
  };
  return (
    <>
      <Button
        label="Copy link"
        title={
          days === null
            ? 'The address of this page; whoever may see the report sees the same'
            : `Shows ${periodWords(days)}, whenever it is opened. The address of this page shows the period as of the day it is opened.`
        }
        act={copy}
      />
      <span role="status" class="small">
        {state !== 'copied' ? null : days === null ? 'Copied' : `Copied: a link to ${periodWords(days)}`}
        {state === 'refused' ? (
          <label class="row">
            Press Ctrl+C or ⌘C
            <input ref={field} readOnly value={link} onBlur={() => setState('')} />
          </label>
        ) : null}
      </span>
    </>
  );
}
