/** Differences of a report between two moments, one line per changed value. Pure. */

import type { AnswerTo } from '../../api/operations/table.js';
import { instantOf } from './question.js';

export type Diff = AnswerTo<'GET /gateway/v1/diff'>;
export type DiffRow = Diff['data'][number];

type Cell = DiffRow['changed'][string];

export interface DiffLine extends Cell {
  readonly key: string;
  readonly date: string;
  /** Ids and names of the row. */
  readonly subject: string;
  readonly kind: DiffRow['kind'];
  readonly column: string;
}

const NO_SUBJECT = new Set(['date', 'kind', 'changed']);

export function linesOf(rows: readonly DiffRow[]): DiffLine[] {
  return rows.flatMap((row, index) =>
    Object.entries(row.changed).map(([column, cell]) => ({
      ...cell,
      key: `${index} ${column}`,
      date: row.date,
      subject: subjectOf(row),
      kind: row.kind,
      column,
    })),
  );
}

function subjectOf(row: DiffRow): string {
  return Object.entries(row)
    .filter(([name, value]) => !NO_SUBJECT.has(name) && value !== null && value !== '')
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');
}

export interface Moments {
  /** Value of a field, UTC; or `first`. */
  readonly from: string;
  /** Value of a field, UTC; or `latest`. */
  readonly to: string;
}

/** @param between from the address */
export function momentsOf(between: string): Moments {
  const [from = '', to = ''] = between.split(',');
  return { from: from || 'first', to: to || 'latest' };
}

/** Parameters of the call. */
export const askedMoments = ({ from, to }: Moments) => ({ from: instantOf(from), to: instantOf(to) });
