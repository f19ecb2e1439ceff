/** Whether two revisions of a day differ by what the platform said, or by how it was asked and read. Pure. */
import { kindsOf } from '../report/column-kinds.js';
import type { RowsHeader } from '../report/entry.js';
import type { Revision } from './revision.js';

export interface Shaped {
  readonly revision: Pick<Revision, 'schema' | 'credential'>;
  /** Null where the rows can no longer be read. */
  readonly header: Pick<RowsHeader, 'columns' | 'types' | 'rowCount'> | null;
}

/** The same token, and columns of the same names and kinds; a day without rows has none that could differ. */
export function isSameMethod(a: Shaped, b: Shaped): boolean {
  if (a.revision.credential !== b.revision.credential) return false;
  if (a.revision.schema === b.revision.schema) return true;
  const [one, other] = [a.header, b.header];
  if (one === null || other === null) return false;
  return one.rowCount === 0 || other.rowCount === 0 || haveSameColumns(one, other);
}

type Columns = NonNullable<Shaped['header']>;

function haveSameColumns(a: Columns, b: Columns): boolean {
  if (a.columns.length !== b.columns.length) return false;
  const kinds = kindsOf(b);
  return [...kindsOf(a)].every(([column, kind]) => {
    const other = kinds.get(column);
    return other !== undefined && (kind === 'nothing' || other === 'nothing' || kind === other);
  });
}
