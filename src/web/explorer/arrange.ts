/** Sorts rows, and puts columns in order; fast enough for a hundred thousand. Pure. */
import { sortedBy } from '../ui/sort.js';
import { chosenFirst, type ReportColumn } from './columns.js';
import { textOf } from './filter.js';
import { type Cell, cellOf, type Row } from './parse.js';

/**
 * Texts first, then the charted measure, then the others.
 * On a phone the measures follow the first text, and those that the filter compares the charted one. @param compared their names
 */
export function inOrder<C extends Pick<ReportColumn, 'name' | 'numeric'>>(
  columns: readonly C[],
  metric: string,
  narrow: boolean,
  compared: readonly string[] = [],
): C[] {
  const texts = columns.filter(({ numeric }) => !numeric);
  const [charted, ...others] = chosenFirst(
    columns.filter(({ numeric }) => numeric),
    metric,
  );
  const isNext = ({ name }: C) => narrow && compared.includes(name);
  const measures =
    charted === undefined ? [] : [charted, ...others.filter(isNext), ...others.filter((one) => !isNext(one))];
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
