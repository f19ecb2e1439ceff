/** Rows in the order and of the kind that somebody asked for: quick for a hundred thousand of them. Pure. */
import type { Cell, Row } from './parse.js';

const collator = new Intl.Collator('en', { numeric: true });

/** A new list; empty cells come last either way, and equal rows keep their order. */
export function sortRows(rows: readonly Row[], sort: string): readonly Row[] {
  if (sort === '') return rows;
  const down = sort.startsWith('-');
  const name = down ? sort.slice(1) : sort;
  const sign = down ? -1 : 1;
  const rank = ranksOf(rows, name);
  return rows
    .map((row) => ({ row, by: rank(row[name]) }))
    .sort((a, b) => {
      if (a.by === null || b.by === null) return a.by === b.by ? 0 : a.by === null ? 1 : -1;
      return sign * (a.by - b.by);
    })
    .map(({ row }) => row);
}

/** Texts are compared once each, and not once for each pair of rows. */
function ranksOf(rows: readonly Row[], name: string): (value: Cell | undefined) => number | null {
  const isNothing = (value: Cell | undefined) => value === null || value === undefined;
  if (rows.every((row) => typeof row[name] === 'number' || isNothing(row[name])))
    return (value) => (typeof value === 'number' ? value : null);
  const texts = new Set(
    rows
      .map((row) => row[name])
      .filter((value) => !isNothing(value))
      .map(textOf),
  );
  const places = new Map([...texts].sort(collator.compare).map((text, place) => [text, place]));
  return (value) => (isNothing(value) ? null : (places.get(textOf(value)) ?? 0));
}

const textOf = (value: Cell | undefined): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');

const CONDITION = /^([\p{L}_]\w*)(>=|<=|>|<|=)(-?\d+(?:\.\d+)?)$/u;

/**
 * @param filter words that all have to be in a row, in any of its cells, whatever their case; `clicks>10` is a condition
 *   where there is such a column
 */
export function filterRows(rows: readonly Row[], filter: string): readonly Row[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return rows;
  const [first] = rows;
  const names = new Map(Object.keys(first ?? {}).map((name) => [name.toLowerCase(), name]));
  const tests = words.map((word) => conditionOf(word, names) ?? contains(word));
  return rows.filter((row) => tests.every((test) => test(row)));
}

type Test = (row: Row) => boolean;

const contains =
  (word: string): Test =>
  (row) => {
    for (const name in row) if (textOf(row[name]).toLowerCase().includes(word)) return true;
    return false;
  };

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '=': (a, b) => a === b,
};

function conditionOf(word: string, names: ReadonlyMap<string, string>): Test | null {
  const [, column = '', sign = '', text = ''] = CONDITION.exec(word) ?? [];
  const name = names.get(column);
  const compare = COMPARE[sign];
  if (name === undefined || compare === undefined) return null;
  const limit = Number(text);
  return (row) => typeof row[name] === 'number' && compare(row[name] as number, limit);
}
