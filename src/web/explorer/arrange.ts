/** Sorts and filters rows; fast enough for a hundred thousand. Pure. */
import { sortedBy } from '../ui/sort.js';
import { chosenFirst, type ReportColumn } from './columns.js';
import { type Cell, cellOf, type Row } from './parse.js';

/** Texts first, then the charted measure, then the others; on a phone the measures follow the first text. */
export function inOrder<C extends Pick<ReportColumn, 'name' | 'numeric'>>(
  columns: readonly C[],
  metric: string,
  narrow: boolean,
): C[] {
  const texts = columns.filter(({ numeric }) => !numeric);
  const measures = chosenFirst(
    columns.filter(({ numeric }) => numeric),
    metric,
  );
  const lead = narrow ? texts.slice(0, 1) : texts;
  return [...lead, ...measures, ...texts.slice(lead.length)];
}

const collator = new Intl.Collator('en', { numeric: true });

/** @param sort a column, with `-` in front for descending. Empty cells come last; the sort is stable */
export function sortRows(rows: readonly Row[], sort: string): readonly Row[] {
  if (sort === '') return rows;
  const name = sort.replace(/^-/, '');
  const rank = ranksOf(rows, name);
  return sortedBy(rows, (row) => rank(cellOf(row, name)), sort.startsWith('-'));
}

/** Each distinct text is collated once. */
function ranksOf(rows: readonly Row[], name: string): (value: Cell | undefined) => number | null {
  const isNothing = (value: Cell | undefined) => value === null || value === undefined;
  if (rows.every((row) => typeof cellOf(row, name) === 'number' || isNothing(cellOf(row, name))))
    return (value) => (typeof value === 'number' ? value : null);
  const texts = new Set(
    rows
      .map((row) => cellOf(row, name))
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
 * @param filter words that a row must contain in any cell, regardless of case; `clicks>10` is a condition if there is
 *   such a column
 */
export function filterRows(rows: readonly Row[], filter: string): readonly Row[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return rows;
  const names = new Map(Object.keys(rows[0] ?? {}).map((name) => [name.toLowerCase(), name]));
  const tests = words.map((word) => conditionOf(word, names) ?? contains(word));
  return rows.filter((row) => tests.every((test) => test(row)));
}

/** What looks like a condition and is none, if no row has it as a text; null: nothing. */
export function filterFault([row = {}]: readonly Row[], filter: string): string | null {
  const names = Object.keys(row).filter((name) => typeof cellOf(row, name) === 'number');
  for (const word of filter.split(/\s+/)) {
    const [, column = '', limit = ''] = /^([\p{L}_]\w*)[<>=]+(.*)$/u.exec(word) ?? [];
    if (column === '') continue;
    if (!names.some((name) => name.toLowerCase() === column.toLowerCase()))
      return `no column ${column} of numbers; columns are ${names.join(', ')}`;
    if (!CONDITION.test(word)) return `${limit || 'nothing'} is no number`;
  }
  return null;
}

type Test = (row: Row) => boolean;

const contains =
  (word: string): Test =>
  (row) => {
    for (const name in row) if (textOf(cellOf(row, name)).toLowerCase().includes(word)) return true;
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
  return (row) => {
    const value = cellOf(row, name);
    return typeof value === 'number' && compare(value, limit);
  };
}
