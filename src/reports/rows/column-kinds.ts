/** What columns of rows are: numbers or texts. Where two sets of rows differ in that, the schema changed. Pure. */
import { decodeFacts, holdsTexts } from './column-types.js';
import type { RowsHeader } from './entry.js';

export type Columns = Pick<RowsHeader, 'columns' | 'types'>;
export type ColumnKind = 'nothing' | 'text' | 'number';

/** What was seen of a column's values depends on the values; whether it holds texts or numbers hardly does. */
export function kindsOf({ columns, types = [] }: Columns): ReadonlyMap<string, ColumnKind> {
  return new Map(
    columns.map((column, at) => {
      const code = types[at] ?? '';
      return [column, code === '' ? 'nothing' : holdsTexts(column, decodeFacts(code)) ? 'text' : 'number'];
    }),
  );
}

/** Names of columns, by what became of them. */
export interface SchemaChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly retyped: readonly string[];
}

export function schemaChange(before: Columns, after: Columns): SchemaChange {
  const [old, now] = [kindsOf(before), kindsOf(after)];
  const isRetyped = (column: string) => {
    const kinds = [old.get(column), now.get(column)];
    return kinds.includes('text') && kinds.includes('number');
  };
  return {
    added: after.columns.filter((column) => !old.has(column)),
    removed: before.columns.filter((column) => !now.has(column)),
    retyped: after.columns.filter(isRetyped),
  };
}

export interface SchemaMix {
  /** Columns that some of the days do not have. */
  readonly partial: readonly string[];
  /** Columns that hold numbers on some days, and texts on others. */
  readonly retyped: readonly string[];
}

/** @param days those with rows. @returns null where all have the same columns */
export function schemaMix(days: readonly Columns[]): SchemaMix | null {
  const [first] = days;
  // As days of one answer from a store have them.
  if (
    first === undefined ||
    days.every(({ columns, types }) => columns === first.columns && types === first.types)
  )
    return null;
  const seen = new Map<string, { count: number; readonly kinds: Set<ColumnKind> }>();
  for (const day of days) {
    for (const [column, kind] of kindsOf(day)) {
      const known = seen.get(column) ?? { count: 0, kinds: new Set<ColumnKind>() };
      known.count += 1;
      known.kinds.add(kind);
      seen.set(column, known);
    }
  }
  const partial = [...seen].filter(([, { count }]) => count < days.length).map(([column]) => column);
  const retyped = [...seen]
    .filter(([, { kinds }]) => kinds.has('text') && kinds.has('number'))
    .map(([column]) => column);
  return partial.length + retyped.length === 0 ? null : { partial, retyped };
}
