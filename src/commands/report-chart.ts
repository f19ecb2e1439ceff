/** A report by day as a line of blocks for each of its numbers: for a look in a terminal. Pure. */
import { daysBetween } from '../report/days.js';
import { isAdditive, isMoney } from '../report/row-names.js';
import type { Row } from './report-output.js';
import { renderTable } from './table.js';

/** From the smallest number of a column to its largest. */
const BLOCKS = '▁▂▃▄▅▆▇█';
/** A day of which nothing is known. */
const NOTHING = ' ';
/** As many as stand beside the names and numbers in a terminal of 120 columns. */
const MOST_MARKS = 62;
const IDS = /(^id|Ids?)$/;

type Numbers = readonly (number | null)[];

/**
 * @param rows of a report by date, each with its `date` (YYYY-MM-DD), no day before `from` or after `to`
 * @param from first and last day of the period; null: those of the rows
 * @returns a line for each number, and a line for each that has none, with the reason; null where no row has a day
 */
export function renderChart(rows: readonly Row[], from: string | null, to: string | null): string | null {
  const dates = rows.flatMap(({ date }) => (typeof date === 'string' ? [date] : [])).sort();
  const [first, last] = [from ?? dates[0], to ?? dates.at(-1)];
  if (dates.length === 0 || first === undefined || last === undefined) return null;
  const days = daysBetween(first, last).map((day) => rows.filter(({ date }) => date === day));
  const width = Math.ceil(days.length / MOST_MARKS);
  const measures = measuresOf(rows).map((name) => ({ name, why: whyNotDrawn(name, days) }));
  const lines = measures.filter(({ why }) => why === null).map(({ name }) => lineOf(name, days, width));
  const span = `${first} to ${last}, ${width === 1 ? 'a mark a day' : `a mark for the mean of ${width} days`}`;
  return [
    lines.length === 0 ? '' : renderTable(['', span, 'lowest', 'highest', 'last'], lines),
    ...measures.flatMap(({ name, why }) => (why === null ? [] : [`${name} is not drawn: ${why}\n`])),
  ].join('');
}

/** Columns that hold numbers and no ids. */
function measuresOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap(Object.keys))].filter((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
    return !IDS.test(name) && values.length > 0 && values.every((value) => typeof value === 'number');
  });
}

/** @returns null where the rows of each day may be added up */
function whyNotDrawn(name: string, days: readonly (readonly Row[])[]): string | null {
  const mixed = isMoney(name) && new Set(days.flat().map(({ currency }) => currency)).size > 1;
  if (mixed) return 'the rows are of more than one currency';
  if (isAdditive(name) || days.every((rows) => rows.length < 2)) return null;
  return 'a day has several rows, and it does not add up over them';
}

function lineOf(name: string, days: readonly (readonly Row[])[], width: number): (string | number)[] {
  const numbers = days.map((rows) => {
    const values = rows.map((row) => row[name]).filter((value) => typeof value === 'number');
    return values.length === 0 ? null : tidy(values.reduce((sum, value) => sum + value, 0));
  });
  const known = numbers.filter((one) => one !== null);
  const [lowest, highest] = [Math.min(...known), Math.max(...known)];
  return [name, sparkline(meansOf(numbers, width)), lowest, highest, known.at(-1) ?? NOTHING];
}

/** @param width how many days a mark stands for */
function meansOf(numbers: Numbers, width: number): Numbers {
  return Array.from({ length: Math.ceil(numbers.length / width) }, (_, mark) => {
    const known = numbers.slice(mark * width, (mark + 1) * width).filter((one) => one !== null);
    return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length;
  });
}

/** Adding tenths leaves crumbs. */
const tidy = (sum: number): number => Number(sum.toPrecision(12));

/** @returns a mark for each number: its place between the smallest and the largest; flat where they are one */
export function sparkline(numbers: Numbers): string {
  const known = numbers.filter((one) => one !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // Divided first: between numbers next to each other a step of their distance may be 0.
  const placeOf = (one: number) =>
    high === low ? 0 : Math.round(((one - low) / (high - low)) * (BLOCKS.length - 1));
  return numbers.map((one) => (one === null ? NOTHING : (BLOCKS[placeOf(one)] ?? NOTHING))).join('');
}
