/** What stands behind a date in the table: the sign of marked days, and how many days of a week or month are in the report. */
import { Tag } from '../ui/parts.js';
import type { ReportColumn } from './columns.js';
import { type Later, laterWords, type Marks } from './marks.js';
import type { Row } from './parse.js';
import type { Span } from './spans.js';

/** Explained below the table, so that the column stays narrow. */
export const SIGN = '~';

/** `5 of 7 days` as `5/7`: in the column of dates of a wide page, which leaves room for the measures. */
export const briefly = (part: string): string => part.replace(/ of (\d+) days/, '/$1');

export interface MarkedProps {
  readonly marks: Marks;
  readonly later: Later | null;
  /** By week or month: by the first day of each. */
  readonly spans: ReadonlyMap<string, Span>;
}

interface DayMarksProps extends MarkedProps {
  readonly row: Row;
  readonly narrow: boolean;
  /** The measure whose change is told of a day that changed later. */
  readonly largest: ReportColumn | undefined;
  readonly currency: string | null;
}

export function DayMarks({ row, marks, later, spans, narrow, largest, currency }: DayMarksProps) {
  const date = String(row.date);
  const { part = null, days = [date] } = spans.get(date) ?? {};
  const mark = marks.of(days);
  const change =
    largest === undefined || spans.size > 0 ? null : laterWords(later?.get(date), largest, currency);
  return (
    <>
      {mark === null ? null : (
        <strong
          class="sign"
          role="img"
          aria-label={mark}
          title={change === null ? mark : `${mark}. ${change}`}
        >
          {SIGN}
        </strong>
      )}
      {part === null ? null : narrow ? (
        <Tag tone="info">{part}</Tag>
      ) : (
        <span class="id small quiet" title={`${part} are in the report`}>
          {briefly(part)}
        </span>
      )}
    </>
  );
}
