/** Measures that the page calculates: each is a ratio of sums, never a mean of ratios. Pure. */
import { columnsOf, mixesMoney, type ReportColumn, sumOf } from './columns.js';
import type { Unit } from './numbers.js';
import { cellOf, type Row, rowWith } from './parse.js';

interface Measure {
  readonly name: string;
  readonly title: string;
  readonly over: RegExp;
  readonly under: RegExp;
  readonly times: number;
  readonly unit: Unit;
  /** Columns in which a platform has it itself: then it is not calculated. */
  readonly own: RegExp;
}

const [IMPRESSIONS, CLICKS, SPENT] = [/^impressions$/i, /^clicks$/i, /^(spent|spend|costs?)$/i];
const CONVERSIONS = /^conversions$/i;

const MEASURES: readonly Measure[] = [
  {
    name: 'ctr',
    title: 'CTR',
    over: CLICKS,
    under: IMPRESSIONS,
    times: 100,
    unit: 'share',
    own: /^(ctr|clickThroughRate|clickRate)$/i,
  },
  {
    name: 'cpc',
    title: 'CPC',
    over: SPENT,
    under: CLICKS,
    times: 1,
    unit: 'money',
    own: /^((avg|average)?cpc|costPerClick)$/i,
  },
  {
    name: 'cpm',
    title: 'CPM',
    over: SPENT,
    under: IMPRESSIONS,
    times: 1000,
    unit: 'money',
    own: /^((avg|average|e)?cpm|costPerMille)$/i,
  },
  {
    name: 'conversionRate',
    title: 'Conversion rate',
    over: CONVERSIONS,
    under: CLICKS,
    times: 100,
    unit: 'share',
    own: /^(conversionRate|cvr|cr)$/i,
  },
  {
    name: 'costPerConversion',
    title: 'Cost per conversion',
    over: SPENT,
    under: CONVERSIONS,
    times: 1,
    unit: 'money',
    own: /^(costPer(Conversion|Action|Acquisition)|e?cpa)$/i,
  },
];

/** @param columns of the platform. @returns those that can be calculated from them */
export function calculatedColumns(columns: readonly ReportColumn[]): ReportColumn[] {
  const numeric = columns.filter((column) => column.numeric);
  const find = (pattern: RegExp) => numeric.find(({ name }) => pattern.test(name))?.name;
  return MEASURES.flatMap(({ name, title, unit, times, own, ...parts }): ReportColumn[] => {
    const [over, under] = [find(parts.over), find(parts.under)];
    if (over === undefined || under === undefined || columns.some((column) => own.test(column.name)))
      return [];
    const ratio = { over, under, times };
    return [{ name, title, unit, ratio, numeric: true, noSum: null, width: title.length + 1 }];
  });
}

/** @returns the platform's columns, these with the calculated ones, and of all the measures */
export function allColumnsOf(rows: readonly Row[], currency: string | null = null) {
  const own = columnsOf(rows, currency);
  const columns = [...own, ...calculatedColumns(own)];
  return { own, columns, measures: columns.filter(({ numeric }) => numeric) };
}

/** `CTR = clicks ÷ impressions` */
export function wordsOf({ title, ratio }: ReportColumn): string {
  const { over = '', under = '', times = 1 } = ratio ?? {};
  return `${title} = ${times === 1000 ? '1,000 × ' : ''}${over} ÷ ${under}`;
}

/**
 * The value of a column over rows: their sum, or the ratio of two sums.
 * @returns null: there is none. Of a ratio: a row lacks a part, the divisor is 0, or amounts have different currencies
 */
export function valueOver(rows: readonly Row[], column: ReportColumn): number | null {
  const { name, noSum, ratio } = column;
  if (ratio === null) {
    const told = rows.filter((row) => typeof cellOf(row, name) === 'number');
    if (told.length === 0 || (told.length > 1 && noSum !== null)) return null;
    return sumOf(told, name);
  }
  const { over, under, times } = ratio;
  const isTold = (row: Row, part: string) => typeof cellOf(row, part) === 'number';
  if (!rows.every((row) => isTold(row, over) && isTold(row, under))) return null;
  if (mixesMoney(column, rows)) return null;
  const divisor = sumOf(rows, under);
  return divisor === 0 ? null : (times * sumOf(rows, over)) / divisor;
}

/** @returns the rows with calculated columns; the same without one */
export function withMeasures(rows: readonly Row[], columns: readonly ReportColumn[]): readonly Row[] {
  const calculated = columns.filter(({ ratio }) => ratio !== null);
  if (calculated.length === 0) return rows;
  return rows.map((row) =>
    rowWith(
      row,
      calculated.map((column) => [column.name, valueOver([row], column)]),
    ),
  );
}
