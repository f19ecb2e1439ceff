/** The columns of a report, and whether they may be summed. Pure. */
import { currencyIn, numbers, type Unit } from './numbers.js';
import { cellOf, type Meta, type Row } from './parse.js';

/** The sums of two columns, divided, and multiplied by a constant. */
export interface Ratio {
  readonly over: string;
  readonly under: string;
  readonly times: number;
}

export interface ReportColumn {
  readonly name: string;
  readonly title: string;
  /** A measure, not an id. */
  readonly numeric: boolean;
  /** Why its rows have no sum; null: they have one, or it is no measure. */
  readonly noSum: string | null;
  readonly unit: Unit;
  /** Of a measure that the page calculates; null: the column is the platform's. */
  readonly ratio: Ratio | null;
  /** Approximate, characters. */
  readonly width: number;
}

const SUMMABLE =
  /^(viewable)?impressions$|^clicks$|^(spent|spend|cost|costs|revenue|budget|profit|conversions|views|installs|leads|orders|sales|bids|wins|requests|engagements|starts|completes|firstQuartiles|midpoints|thirdQuartiles)$/i;
const PEOPLE = /reach|unique|user|people|household|frequency/i;
const RATE = /rate|ratio|ctr|cpm|cpc|cpa|cpv|roas|share|percent|average|avg|viewability/i;
const ID = /(^id|Ids?)$/;
export const SAMPLE = 200;
export const MIXED = 'The rows have different currencies, which do not add up.';

/**
 * Looks at the first rows and a sample of the others.
 * @param currency of rows that name none; null: unknown
 */
export function columnsOf(rows: readonly Row[], currency: string | null = null): ReportColumn[] {
  const step = Math.max(1, Math.floor(rows.length / SAMPLE));
  const looked = rows.filter((_, index) => index < SAMPLE || index % step === 0);
  const names = [...new Set(looked.flatMap((row) => Object.keys(row)))];
  return names.map((name) => {
    const told = looked.filter((row) => (cellOf(row, name) ?? null) !== null);
    const counted =
      !ID.test(name) && told.length > 0 && told.every((row) => typeof cellOf(row, name) === 'number');
    const unit = counted ? unitOf(name) : 'number';
    return {
      name,
      title: titleOf(name),
      numeric: counted,
      noSum: counted ? (MONEY.test(name) && haveCurrencies(rows) ? MIXED : whyNoSum(name)) : null,
      unit,
      ratio: null,
      width: widthOf({ title: titleOf(name), name, numeric: counted, unit }, told, currency),
    };
  });
}

/** Room for the title and the values of the rows; letters are narrower than digits. @returns approximate characters */
export function widthOf(
  column: Pick<ReportColumn, 'name' | 'title' | 'numeric' | 'unit'>,
  rows: readonly Row[],
  currency: string | null,
): number {
  const { name, title, numeric } = column;
  const lengths = rows.map((row) => written(cellOf(row, name), column, currencyOf([row], currency)).length);
  const longest = Math.max(0, ...lengths);
  const room = Math.ceil(numeric ? longest : longest * 0.8) + 2;
  return Math.min(numeric ? 18 : 36, Math.max(title.length + 1, room));
}

/** Whether all rows have the same value; days and measures never count as constant. */
export function isConstant({ name, numeric }: ReportColumn, rows: readonly Row[]): boolean {
  const [first] = rows;
  if (numeric || name === 'date' || first === undefined || rows.length < 2) return false;
  const value = cellOf(first, name);
  return typeof value !== 'object' && rows.every((row) => cellOf(row, name) === value);
}

const MONEY = /^(spent|spend|costs?|revenue|budget|profit|sales)$/i;
const MONEY_RATE = /^(e?cp[acmv]|costPer\w+)$/i;

export const unitOf = (name: string): Unit =>
  MONEY.test(name) || MONEY_RATE.test(name) ? 'money' : 'number';

/** Whether there are several, or rows that name none beside others. */
export const haveCurrencies = (rows: readonly Row[]): boolean =>
  rows.some(({ currency }) => currency !== rows[0]?.currency);

/** Whether the column has amounts of different currencies, or is calculated from such. */
export const mixesMoney = ({ unit }: ReportColumn, rows: readonly Row[]): boolean =>
  unit === 'money' && haveCurrencies(rows);

/** The column in rows of one currency, where amounts add up. */
export const inOneCurrency = (column: ReportColumn): ReportColumn =>
  column.noSum === MIXED ? { ...column, noSum: null } : column;

/** The one of this name, else the first, leads. */
export function chosenFirst<C extends Pick<ReportColumn, 'name'>>(measures: readonly C[], name: string): C[] {
  const chosen = measures.find((one) => one.name === name) ?? measures[0];
  return chosen === undefined ? [] : [chosen, ...measures.filter((one) => one !== chosen)];
}

/** @returns null if the column may be summed */
function whyNoSum(name: string): string | null {
  if (PEOPLE.test(name))
    return `${titleOf(name)} counts people. A person reached on two days, by two campaigns or by two advertisers would count twice in a sum.`;
  if (RATE.test(name)) return `${titleOf(name)} is a rate; rates do not add up.`;
  if (SUMMABLE.test(name)) return null;
  return `It is not known whether ${titleOf(name)} may be added up.`;
}

/** `campaignName` as `Campaign name`. */
export function titleOf(name: string): string {
  const words = name.replace(
    /([a-z\d])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a measure is counted in; null: pieces, or an unknown currency. */
function unitWord({ unit }: Pick<ReportColumn, 'unit'>, currency: string | null): string | null {
  return unit === 'share' ? '%' : unit === 'money' ? currency : null;
}

/** `Spent (USD)`, `CTR (%)` */
export function headOf(column: Pick<ReportColumn, 'title' | 'unit'>, currency: string | null): string {
  const unit = unitWord(column, currency);
  return unit === null ? column.title : `${column.title} (${unit})`;
}

/** `Spent, USD` */
export function titleWithUnit(column: ReportColumn, currency: string | null): string {
  const unit = unitWord(column, currency);
  return unit === null ? column.title : `${column.title}, ${unit}`;
}

/** The text of a cell, without a unit. */
export function shown(value: unknown, numeric: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return numeric ? numbers.full(value, 'number', null) : String(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

type Written = Pick<ReportColumn, 'numeric' | 'unit'>;

/** The text of a cell, with its unit. @param currency null: unknown */
export function written(value: unknown, { numeric, unit }: Written, currency: string | null): string {
  return numeric && typeof value === 'number' ? numbers.full(value, unit, currency) : shown(value, numeric);
}

/** As {@link written}, but not rounded. @returns undefined if it says no more */
export function exactly(value: unknown, column: Written, currency: string | null): string | undefined {
  const { numeric, unit } = column;
  if (!numeric || typeof value !== 'number' || (unit === 'number' && Number.isInteger(value)))
    return undefined;
  const text = numbers.exact(value, unit, currency);
  return text === written(value, column, currency) ? undefined : text;
}

/** The currency of all rows; null: unknown, or they have several. @param otherwise of rows that name none */
export const currencyOf = (rows: readonly Row[], otherwise: string | null): string | null =>
  haveCurrencies(rows) ? null : (currencyIn(rows[0]?.currency) ?? otherwise);

/** The unsplit report in `meta.totals`; null if it is missing or does not have exactly one row. */
export function totalsOf({ totals }: Meta): Row | null {
  if (totals === undefined || totals === null) return null;
  if (!Array.isArray(totals)) return totals as Row;
  return totals.length === 1 ? (totals[0] as Row) : null;
}

/** Removes rounding errors of sums. */
export const tidy = (value: number): number => Math.round(value * 10_000) / 10_000;

export const sumOf = (rows: readonly Row[], name: string): number =>
  tidy(
    rows.reduce((sum, row) => {
      const value = cellOf(row, name);
      return typeof value === 'number' ? sum + value : sum;
    }, 0),
  );
