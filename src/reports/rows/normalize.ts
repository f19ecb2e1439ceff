/**
 * Normalises an answer: rows have camelCase names, ISO dates and one type per column; numbers only where a double represents
 * them exactly. Rows are compact JSON text, so that serving them is a join.
 */

import { groupBy } from '../../lib/group-by.js';
import { accountsShown } from '../query/accounts.js';
import { isoDate } from '../query/days.js';
import {
  addFacts,
  type ColumnFacts,
  type ColumnTypes,
  factsOfNumber,
  factsOfText,
  holdsTexts,
} from './column-types.js';
import { numberInString, numberTokenJson } from './decimal.js';
import { dateFlaws, type Flaw, platformWarning } from './flaws.js';
import {
  isJsonArray,
  type Json,
  JsonNumber,
  type JsonObject,
  ownText,
  parseJson,
  writeJson,
} from './json.js';
import {
  figuresIn,
  judgeShape,
  type KnownShape,
  NO_FIGURE,
  NOTHING_KNOWN,
  showsQuestion,
} from './judge-shape.js';
import type { Paging } from './paging.js';
import { filterFlaws, type RowFilter } from './row-filters.js';
import { camelCase, columnsBySource, dateFieldOf, dateIndex, holdsText } from './row-names.js';
import {
  type FoundRows,
  findRows,
  judgeSplittable,
  RowsError,
  type RowsInput,
  type Splittable,
} from './rows.js';

/** Shared by rows with the same members. */
interface RowPlan {
  /** In the platform's spelling. */
  readonly names: readonly string[];
  readonly columns: readonly string[];
  /** What is before each value: `{"date":`, `,"clicks":`. */
  readonly prefixes: readonly string[];
  /** Whether a member contains text by its name, even if it looks like a number. */
  readonly text: readonly boolean[];
  /** Index of the date; -1: none. */
  readonly dateAt: number;
  /** `names` if any differs from its column. */
  readonly sources: readonly string[] | undefined;
  /** A column is not in camelCase: its name depends on other rows. */
  readonly isSettled: boolean;
}

/** A parsed row. */
interface DraftRow {
  readonly values: readonly Json[];
  readonly plan: RowPlan;
  /** `YYYY-MM-DD`; null without a date that is a whole day. */
  readonly date: string | null;
}

export function typesOf(rows: readonly DraftRow[]): ColumnTypes {
  const byPlan = new Map<RowPlan, (ColumnFacts | undefined)[]>();
  for (const { values, plan } of rows) {
    let facts = byPlan.get(plan);
    if (facts === undefined) {
      facts = [];
      byPlan.set(plan, facts);
    }
    for (let at = 0; at < values.length; at += 1) {
      const before = facts[at];
      if (before?.text === true || at === plan.dateAt) continue;
      const seen = factsOf(values[at] as Json, plan.text[at] as boolean);
      if (seen !== null) facts[at] = before === undefined ? seen : addFacts(before, seen);
    }
  }
  const types = new Map<string, ColumnFacts>();
  for (const [{ columns }, facts] of byPlan) {
    for (const [at, seen] of facts.entries()) {
      if (seen === undefined) continue;
      const column = columns[at] as string;
      const before = types.get(column);
      types.set(column, before === undefined ? seen : addFacts(before, seen));
    }
  }
  return types;
}

function factsOf(value: Json, isText: boolean): ColumnFacts | null {
  if (typeof value === 'string') return factsOfText(value, isText);
  return value instanceof JsonNumber ? factsOfNumber(value) : null;
}

/** Orders members as in the first row with the same members. @returns null if all are in that order */
export function inOneOrder(rows: readonly DraftRow[]): readonly DraftRow[] | null {
  const plans = plansOf(rows);
  if (plans.size === 1) return null;
  const firsts = new Map<string, RowPlan>();
  const orders = new Map<RowPlan, { readonly plan: RowPlan; readonly from: readonly number[] }>();
  for (const plan of plans) {
    const key = JSON.stringify(plan.columns.toSorted());
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, plan);
    else orders.set(plan, { plan: first, from: first.columns.map((column) => plan.columns.indexOf(column)) });
  }
  if (orders.size === 0) return null;
  return rows.map((row) => {
    const order = orders.get(row.plan);
    if (order === undefined) return row;
    return { ...row, plan: order.plan, values: order.from.map((at) => row.values[at] as Json) };
  });
}

/** As compact JSON, in the same order. */
export function writeRows(rows: readonly DraftRow[], types: ColumnTypes): string[] {
  const texts = new Map<RowPlan, readonly boolean[]>();
  const parts: string[] = [];
  return rows.map((row) => {
    let isText = texts.get(row.plan);
    if (isText === undefined) {
      isText = row.plan.columns.map((column) => isTextIn(types, column));
      texts.set(row.plan, isText);
    }
    return writeRow(row, isText, parts);
  });
}

function isTextIn(types: ColumnTypes, column: string): boolean {
  const facts = types.get(column);
  return facts !== undefined && holdsTexts(column, facts);
}

/** Whether both write these columns alike. */
export function agreeOn(columns: readonly string[], one: ColumnTypes, other: ColumnTypes): boolean {
  return columns.every((column) => isTextIn(one, column) === isTextIn(other, column));
}

/** @param parts is overwritten: one list for all rows, as each would grow its own */
function writeRow({ values, plan, date }: DraftRow, isText: readonly boolean[], parts: string[]): string {
  if (values.length === 0) return '{}';
  const end = values.length * 2;
  parts.length = end + 1;
  for (let at = 0; at < values.length; at += 1) {
    const isDate = at === plan.dateAt;
    const value = values[at] as Json;
    parts[at * 2] = plan.prefixes[at] as string;
    parts[at * 2 + 1] =
      isDate && date !== null ? `"${date}"` : cellJson(value, isText[at] as boolean, isDate);
  }
  parts[end] = '}';
  return parts.join('');
}

function cellJson(value: Json, isText: boolean, isDate: boolean): string {
  if (typeof value === 'string')
    return (isText || isDate ? null : numberInString(value)) ?? JSON.stringify(value);
  if (!(value instanceof JsonNumber)) return writeJson(value, tokenJson);
  const json = tokenJson(value);
  return isText && !json.startsWith('"') ? `"${json}"` : json;
}

function tokenJson(number: JsonNumber): string {
  return numberTokenJson(number.text);
}

export interface NormalizeInput extends RowsInput {
  /** See accounts.ts. */
  readonly accountPattern: RegExp;
  /** Names that name no account. */
  readonly nonAccounts?: readonly string[];
  readonly known?: KnownShape;
  readonly filters?: readonly RowFilter[];
}

export interface NormalizedRow extends Pick<DraftRow, 'date'> {
  /** Compact JSON, without raw line breaks. */
  readonly json: string;
  /** The names in `json`; rows of one shape share the list. */
  readonly columns: readonly string[];
}

/** An answer whose rows are not written yet. */
export interface Drafted {
  /** In date order if split by date; else, and within a day, in the platform's order. */
  readonly drafts: readonly DraftRow[];
  /** In order of first occurrence. */
  readonly columns: readonly string[];
  /** The columns in the platform's spelling, if any differs. */
  readonly sources: readonly string[] | undefined;
  /** Accounts in the document, distinct and sorted. */
  readonly accounts: readonly string[];
  readonly splittable: Splittable;
  readonly paging: Paging | null;
  /** Path from the root to the rows: member names joined by dots. */
  readonly place: string;
  readonly flaws: readonly Flaw[];
  /** Further columns of numbers of an answer that has days inside the period, or the ids asked for; else none. */
  readonly newFigures: readonly string[];
  /** Why it may be no report; null: no doubt. */
  readonly doubt: string | null;
}

export interface Normalized extends Drafted {
  readonly types: ColumnTypes;
  /** In the same order. */
  readonly rows: readonly NormalizedRow[];
}

/** Of one row, nested ones included. What follows takes microseconds for each. */
const MAX_MEMBERS = 2000;
/** Of all rows. */
const MAX_COLUMNS = 10_000;

/** @throws JsonError, also for a row with too many members */
export const parseAnswer = (text: string): Json =>
  parseJson(text, { allowBom: true, maxPerItem: MAX_MEMBERS });

/** @throws JsonError; RowsError if its rows cannot be identified, or if it is an error */
export function draftAnswer(text: string, ask: NormalizeInput): Drafted {
  const document = parseAnswer(text);
  const found = findRows(document, ask);
  refuseManyMembers(found);
  const doubt = judgeShape(document, found, ask, ask.known ?? NOTHING_KNOWN);
  const given = draftRows(found.rows, ask.rule.dateField);
  const flaws = flawsOf(document, found, given, ask);
  const teaches = flaws.length === 0 && (doubt ?? NO_FIGURE) === NO_FIGURE && showsQuestion(given, ask);
  return {
    drafts: ask.byDate ? orderByDate(given) : given,
    ...columnsIn(given),
    accounts: [...accountsShown(document, ask.accountPattern, ask.nonAccounts)].map(ownText).sort(),
    splittable: judgeSplittable(
      found,
      given.map((row) => row.date),
      ask.period,
    ),
    paging: found.paging,
    place: found.at,
    flaws,
    newFigures: teaches ? figuresIn(given, ask.known) : [],
    doubt,
  };
}

/** Writes the rows of an answer, each with the types of all of them. */
export function writeAnswer(drafted: Drafted): Normalized {
  const { drafts } = drafted;
  const types = typesOf(drafts);
  const texts = writeRows(drafts, types);
  const rows = drafts.map(({ date, plan }, at) => ({
    json: texts[at] as string,
    date,
    columns: plan.columns,
  }));
  return { ...drafted, types, rows };
}

/** @throws as {@link draftAnswer} */
export function normalizeAnswer(text: string, ask: NormalizeInput): Normalized {
  return writeAnswer(draftAnswer(text, ask));
}

export function columnsIn(rows: readonly DraftRow[]): Pick<Normalized, 'columns' | 'sources'> {
  const plans = [...plansOf(rows)];
  const [plan] = plans;
  if (plan !== undefined && plans.length === 1) return { columns: plan.columns, sources: plan.sources };
  const sources = new Map(
    plans.flatMap(({ names, columns }) => columns.map((column, at) => [column, names[at] as string])),
  );
  const columns = [...sources.keys()];
  return { columns, sources: sourcesOf(columns, [...sources.values()]) };
}

function sourcesOf(columns: readonly string[], names: readonly string[]): readonly string[] | undefined {
  return columns.every((column, at) => column === names[at]) ? undefined : names;
}

export function plansOf(rows: readonly DraftRow[]): ReadonlySet<RowPlan> {
  const plans = new Set<RowPlan>();
  for (const { plan } of rows) plans.add(plan);
  return plans;
}

/** The parser has counted the members of rows in a list. */
function refuseManyMembers({ rows, single }: FoundRows): void {
  if (single && membersIn(rows[0] as JsonObject, MAX_MEMBERS) > MAX_MEMBERS)
    throw new RowsError(`the row has more than ${MAX_MEMBERS} members`);
  const shapes = new Set(rows.map(({ names }) => names));
  const count = [...shapes].reduce((sum, names) => sum + names.length, 0);
  if (count > MAX_COLUMNS && new Set([...shapes].flat()).size > MAX_COLUMNS)
    throw new RowsError(`the rows have more than ${MAX_COLUMNS} different members`);
}

/** Nested ones included. @param enough stops counting beyond it */
function membersIn(value: Json, enough: number): number {
  if (typeof value !== 'object' || value === null || value instanceof JsonNumber) return 0;
  const held = isJsonArray(value) ? value : value.values;
  let count = isJsonArray(value) ? 0 : held.length;
  for (const one of held) {
    if (count > enough) return count;
    count += membersIn(one, enough - count);
  }
  return count;
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

/** Keeps the order within a day; rows without a date come last. Linear in the rows. */
export function orderByDate<T extends { readonly date: string | null }>(rows: readonly T[]): readonly T[] {
  const days = groupBy(rows, ({ date }) => date ?? UNDATED);
  return [...days.keys()].sort().flatMap((key) => days.get(key) ?? []);
}

/** Sorts after all dates. */
const UNDATED = '~';

function draftRows(rows: readonly JsonObject[], dateField: string | undefined): DraftRow[] {
  const plans = plansFor([...new Set(rows.map(({ names }) => names))], dateField);
  const dates = new Map<string, string | null>();
  return rows.map(({ names, values }) => {
    const plan = plans.get(names) as RowPlan;
    return { values, plan, date: dateOf(values[plan.dateAt], dates) };
  });
}

type Plans = ReadonlyMap<readonly string[], RowPlan>;
/** Of answers whose rows all have these names, with the configured date. */
const plansAlone = new WeakMap<readonly string[], [dateField: string | undefined, plans: Plans]>();

function plansFor(shapes: readonly (readonly string[])[], dateField: string | undefined): Plans {
  const [first, second] = shapes;
  const alone = first === undefined || second !== undefined ? undefined : plansAlone.get(first);
  if (alone !== undefined && alone[0] === dateField) return alone[1];
  const columnOf = columnsBySource(shapes.flat().map(ownText));
  const plans = new Map(
    shapes.map((names) => [
      names,
      planFor(names.map(ownText), dateIndex(names, dateFieldOf(names, dateField)), columnOf),
    ]),
  );
  if (first !== undefined && second === undefined) plansAlone.set(first, [dateField, plans]);
  return plans;
}

/** Some of the rows, with the names that they have without the others. */
export function namedAlone(rows: readonly DraftRow[]): readonly DraftRow[] {
  const before = [...plansOf(rows)];
  const columnOf = columnsBySource(before.flatMap(({ names }) => names));
  const plans = new Map(before.map((plan) => [plan, planFor(plan.names, plan.dateAt, columnOf)]));
  return rows.map((row) => ({ ...row, plan: plans.get(row.plan) as RowPlan }));
}

function planFor(names: readonly string[], dateAt: number, columnOf: ReadonlyMap<string, string>): RowPlan {
  const columns = names.map((name) => columnOf.get(name) as string);
  return {
    names,
    columns,
    prefixes: columns.map((column, at) => `${at === 0 ? '{' : ','}${JSON.stringify(column)}:`),
    text: names.map((name, index) => holdsText(name, columns[index] as string)),
    dateAt,
    sources: sourcesOf(columns, names),
    isSettled: columns.some((column) => column !== camelCase(column)),
  };
}

/** @param known memoized dates */
function dateOf(value: Json | undefined, known: Map<string, string | null>): string | null {
  if (typeof value !== 'string') return null;
  let date = known.get(value);
  if (date === undefined) {
    date = isoDate(value);
    known.set(value, date);
  }
  return date;
}
