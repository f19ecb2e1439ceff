/**
 * The platform's answer as the gateway gives it: rows with camelCase names, ISO dates, columns of one type, and numbers
 * only where JavaScript holds their decimal value exactly. Rows come as ready JSON text, so that serving them is a join.
 */

import { accountsShown } from '../query/accounts.js';
import { isoDate } from '../query/days.js';
import type { ColumnTypes } from './column-types.js';
import { dateFlaws, type Flaw, platformWarning } from './flaws.js';
import { type Json, type JsonObject, parseJson } from './json.js';
import { judgeShape, type KnownShape, NOTHING_KNOWN } from './judge-shape.js';
import type { Paging } from './paging.js';
import { filterFlaws, type RowFilter } from './row-filters.js';
import { columnsBySource, dateFieldOf, dateIndex, holdsText } from './row-names.js';
import { type FoundRows, findRows, judgeSplittable, type RowsInput, type Splittable } from './rows.js';
import { type DraftRow, type RowPlan, typesOf, writeRows } from './typed-rows.js';

export interface NormalizeInput extends RowsInput {
  /** Tells the members that name an account; see accounts.ts. */
  readonly accountPattern: RegExp;
  /** Names that name no account, whatever they look like. */
  readonly nonAccounts?: readonly string[];
  /** Absent: nothing. */
  readonly known?: KnownShape;
  /** What the rows are to keep to. */
  readonly filters?: readonly RowFilter[];
}

export interface NormalizedRow {
  /** Compact JSON, without any raw line break. */
  readonly json: string;
  /** `YYYY-MM-DD`, null when the row has no date that is a whole day. */
  readonly date: string | null;
  /** The names in `json`, in order; one list for all rows of the same shape. */
  readonly columns: readonly string[];
}

export interface Normalized {
  /** The same rows before they were written, for writing some of them by themselves. */
  readonly drafts: readonly DraftRow[];
  /** What the columns of all rows show. */
  readonly types: ColumnTypes;
  /** In date order when split by date, the platform's own order within a day; else as the platform gave them. */
  readonly rows: readonly NormalizedRow[];
  /** All columns, in the order in which the platform's rows first showed them. */
  readonly columns: readonly string[];
  /** Their members as the platform spells them, where any is spelt otherwise. */
  readonly sources: readonly string[] | undefined;
  /** What the document names as accounts, distinct, in the order of their UTF-16 units. */
  readonly accounts: readonly string[];
  readonly splittable: Splittable;
  readonly paging: Paging | null;
  /** Member names joined by dots, from the root to the rows. */
  readonly place: string;
  /** What of all of it is visibly not what was asked for. */
  readonly flaws: readonly Flaw[];
  /** Why it may be no report, for people; null when nothing speaks against it. */
  readonly doubt: string | null;
}

/**
 * Reads and normalises one answer.
 *
 * @throws {JsonError} when it is not strict JSON
 * @throws {RowsError} when its rows cannot be told, or it says that it is an error
 */
export function normalizeAnswer(text: string, ask: NormalizeInput): Normalized {
  const document = parseJson(text, { allowBom: true });
  const found = findRows(document, ask);
  const doubt = judgeShape(document, found, ask, ask.known ?? NOTHING_KNOWN);
  const given = draftRows(found.rows, ask.rule.dateField);
  const drafts = ask.byDate ? orderByDate(given) : given;
  const types = typesOf(drafts);
  const texts = writeRows(drafts, types);
  return {
    drafts,
    types,
    rows: drafts.map(({ date, plan }, at) => ({ json: texts[at] as string, date, columns: plan.columns })),
    ...columnsIn(given),
    accounts: [...accountsShown(document, ask.accountPattern, ask.nonAccounts)].map(ownText).sort(),
    splittable: judgeSplittable(
      found,
      given.map((row) => row.date),
      ask.period,
    ),
    paging: found.paging,
    place: found.at,
    flaws: flawsOf(document, found, given, ask),
    doubt,
  };
}

/** The columns of rows, in the order in which they first show, and their members where those are spelt otherwise. */
export function columnsIn(rows: readonly DraftRow[]): Pick<Normalized, 'columns' | 'sources'> {
  const sources = new Map<string, string>();
  for (const { names, columns } of new Set(rows.map(({ plan }) => plan)))
    for (const [at, column] of columns.entries()) sources.set(column, names[at] as string);
  const columns = [...sources.keys()];
  const isAsGiven = columns.every((column) => sources.get(column) === column);
  return { columns, sources: isAsGiven ? undefined : [...sources.values()] };
}

function flawsOf(
  document: Json,
  { value, paging }: FoundRows,
  rows: readonly DraftRow[],
  { byDate, period, filters = [] }: NormalizeInput,
): readonly Flaw[] {
  const warning = platformWarning(document, value);
  return [
    ...(byDate ? dateFlaws(rows, period) : []),
    ...filterFlaws(rows, filters),
    ...(warning === null ? [] : [warning]),
    ...(paging === null ? [] : [{ code: 'pages_left' as const }]),
  ];
}

/** Rows in date order, those of one day in the order given; rows without a date come last. Linear in the rows. */
export function orderByDate<T extends { readonly date: string | null }>(rows: readonly T[]): readonly T[] {
  const days = new Map<string, T[]>();
  for (const row of rows) {
    const key = row.date ?? UNDATED;
    const day = days.get(key);
    if (day === undefined) days.set(key, [row]);
    else day.push(row);
  }
  return [...days.keys()].sort().flatMap((key) => days.get(key) ?? []);
}

/** Sorts behind every date. */
const UNDATED = '~';

function draftRows(rows: readonly JsonObject[], dateField: string | undefined): DraftRow[] {
  const shapes = [...new Set(rows.map(({ names }) => names))];
  const columnOf = columnsBySource(shapes.flat().map(ownText));
  const plans = new Map(
    shapes.map((names) => [
      names,
      planFor(names.map(ownText), dateIndex(names, dateFieldOf(names, dateField)), columnOf),
    ]),
  );
  const dates = new Map<string, string | null>();
  return rows.map(({ names, values }) => {
    const plan = plans.get(names) as RowPlan;
    return { values, plan, date: dateOf(values[plan.dateAt], dates) };
  });
}

/** Some of the rows, named as they would be without the others. */
export function namedAlone(rows: readonly DraftRow[]): readonly DraftRow[] {
  const before = [...new Set(rows.map(({ plan }) => plan))];
  const columnOf = columnsBySource(before.flatMap(({ names }) => names));
  const plans = new Map(before.map((plan) => [plan, planFor(plan.names, plan.dateAt, columnOf)]));
  return rows.map((row) => ({ ...row, plan: plans.get(row.plan) as RowPlan }));
}

function planFor(names: readonly string[], dateAt: number, columnOf: ReadonlyMap<string, string>): RowPlan {
  const columns = names.map((name) => columnOf.get(name) as string);
  return {
    names,
    columns,
    prefixes: columns.map((column) => `${JSON.stringify(column)}:`),
    text: names.map((name, index) => holdsText(name, columns[index] as string)),
    dateAt,
  };
}

/** @param known dates read before: a report has few, and many rows of each */
function dateOf(value: Json | undefined, known: Map<string, string | null>): string | null {
  if (typeof value !== 'string') return null;
  let date = known.get(value);
  if (date === undefined) {
    date = isoDate(value);
    known.set(value, date);
  }
  return date;
}

/** A copy that does not keep the whole answer in memory, as a piece cut from it would. */
function ownText(piece: string): string {
  return JSON.parse(JSON.stringify(piece));
}
