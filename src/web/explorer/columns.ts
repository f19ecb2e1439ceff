/** The columns of a report, and whether they may be summed. Pure. */
import type { Meta, Row } from './parse.js';

export interface ReportColumn {
  readonly name: string;
  readonly title: string;
  /** A measure, not an id. */
  readonly numeric: boolean;
  /** Why its rows have no sum; null: they have one, or it is no measure. */
  readonly noSum: string | null;
  /** Approximate, characters. */
  readonly width: number;
}

const SUMMABLE =
  /^(viewable)?impressions$|^clicks$|^(spent|spend|cost|costs|revenue|budget|profit|conversions|views|installs|leads|orders|sales|bids|wins|requests|engagements|starts|completes|firstQuartiles|midpoints|thirdQuartiles)$/i;
const PEOPLE = /reach|unique|user|people|household|frequency/i;
const RATE = /rate|ratio|ctr|cpm|cpc|cpa|cpv|roas|share|percent|average|avg|viewability/i;
const ID = /(^id|Ids?)$/;
const SAMPLE = 200;
export const MIXED = 'The rows have different currencies, which do not add up.';

/** Looks at the first rows and a sample of the others. */
export function columnsOf(rows: readonly Row[]): ReportColumn[] {
  const step = Math.max(1, Math.floor(rows.length / SAMPLE));
  const looked = rows.filter((_, index) => index < SAMPLE || index % step === 0);
  const names = [...new Set(looked.flatMap((row) => Object.keys(row)))];
  return names.map((name) => {
    const values = looked.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
    const counted = !ID.test(name) && values.length > 0 && values.every((value) => typeof value === 'number');
    const longest = values.reduce<number>((most, value) => Math.max(most, shown(value, counted).length), 0);
    return {
      name,
      title: titleOf(name),
      numeric: counted,
      noSum: counted ? (mixesMoney(name, rows) ? MIXED : whyNoSum(name)) : null,
      // Letters are narrower than digits.
      width: Math.min(
        counted ? 18 : 36,
        Math.max(titleOf(name).length + 1, Math.ceil(counted ? longest : longest * 0.85) + 3),
      ),
    };
  });
}

/** Whether all rows have the same value; days and measures never count as constant. */
export function isConstant({ name, numeric }: ReportColumn, rows: readonly Row[]): boolean {
  const [first] = rows;
  if (numeric || name === 'date' || first === undefined || rows.length < 2) return false;
  return typeof first[name] !== 'object' && rows.every((row) => row[name] === first[name]);
}

const MONEY = /^(spent|spend|costs?|revenue|budget|profit|sales)$/i;

/** Whether the column has amounts of different currencies. */
export function mixesMoney(name: string, rows: readonly Row[]): boolean {
  return MONEY.test(name) && new Set(rows.map(({ currency }) => currency)).size > 1;
}

/** @returns null if the column may be summed */
export function whyNoSum(name: string): string | null {
  if (PEOPLE.test(name))
    return `${titleOf(name)} counts people. A person reached on two days, or by two campaigns, would count twice in a sum. The total is the platform's own, for the whole period.`;
  if (RATE.test(name)) return `${titleOf(name)} is a rate; rates do not add up.`;
  if (SUMMABLE.test(name)) return null;
  return `It is not known whether ${titleOf(name)} may be added up; the total is the platform's own.`;
}

/** `campaignName` as `Campaign name`. */
export function titleOf(name: string): string {
  const words = name.replace(
    /([a-z\d])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const number = new Intl.NumberFormat('en-US', { maximumFractionDigits: 4 });

/** The text of a cell. */
export function shown(value: unknown, numeric: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return numeric ? number.format(value) : String(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The unsplit report in `meta.totals`; null if it is missing or does not have exactly one row. */
export function totalsOf({ totals }: Meta): Row | null {
  if (totals === undefined || totals === null) return null;
  if (!Array.isArray(totals)) return totals as Row;
  return totals.length === 1 ? (totals[0] as Row) : null;
}

/** Removes rounding errors of sums. */
export const tidy = (value: number): number => Math.round(value * 10_000) / 10_000;

export const sumOf = (rows: readonly Row[], name: string): number =>
  tidy(rows.reduce((sum, row) => sum + (typeof row[name] === 'number' ? (row[name] as number) : 0), 0));
