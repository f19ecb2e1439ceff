/** Copies a link that shows the same days to whoever may see them, also later. */
import { copied, useNotices } from '../ui/notices.js';
import { Button } from '../ui/parts.js';
import type { Meta } from './parse.js';
import { reportHref, type Viewed } from './question.js';
import { closedPeriod, periodWords } from './spans.js';

interface CopyProps extends Pick<Viewed, 'question' | 'view'> {
  readonly period: Meta['period'];
}

/** Of a relative period the days are fixed; the address of the page keeps moving. */
export function CopyLink({ question, view, period }: CopyProps) {
  const { act } = useNotices();
  const days = question.period === '' ? null : closedPeriod(period);
  const fixed = days && reportHref({ ...question, period: '', dateFrom: days.from, dateTo: days.to }, view);
  const link = new URL(fixed ?? location.hash, location.href).href;
  const of = days === null ? 'the address of this page' : `a link to ${periodWords(days)}`;
  return (
    <Button
      label="Copy link"
      title={
        days === null
          ? 'The address of this page; whoever may see the report sees the same'
          : `Shows ${periodWords(days)}, whenever it is opened`
      }
      act={() => act(() => copied(link, null), `Copied: ${of}.`)}
    />
  );
}
