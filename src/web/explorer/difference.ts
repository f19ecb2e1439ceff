/** What differs of a report between two moments, a line for each number that is another. Pure. */

import type { AnswerTo } from '../../api/operations/table.js';
import { instantOf } from './question.js';

export type Diff = AnswerTo<'GET /gateway/v1/diff'>;
/** What it is about, and what is another. */
export type DiffRow = Diff['data'][number];

type Cell = DiffRow['changed'][string];

export interface DiffLine extends Cell {
  readonly key: string;
  readonly date: string;
  /** Names of what the row is about. */
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
  /** As a field has it, by UTC; `first`. */
  readonly from: string;
  /** As a field has it, by UTC; `latest`. */
  readonly to: string;
}

/** @param between as the address has it. What is left out is the beginning, and the end, of what is known */
export function momentsOf(between: string): Moments {
  const [from = '', to = ''] = between.split(',');
  return { from: from || 'first', to: to || 'latest' };
}

/** As the gateway is asked. */
export const askedMoments = ({ from, to }: Moments) => ({ from: instantOf(from), to: instantOf(to) });
