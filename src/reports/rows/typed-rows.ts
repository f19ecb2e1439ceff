/** Rows of an answer as JSON text, each column as numbers or as texts. */

import {
  addFacts,
  type ColumnFacts,
  type ColumnTypes,
  factsOfNumber,
  factsOfText,
  holdsTexts,
} from './column-types.js';
import { type Json, JsonNumber, writeJson } from './json.js';
import { numberInString, numberTokenJson } from './number-text.js';

/** What is the same for all rows with the same members. */
export interface RowPlan {
  /** As the platform spells them. */
  readonly names: readonly string[];
  readonly columns: readonly string[];
  /** The names as JSON, each with its colon. */
  readonly prefixes: readonly string[];
  /** Which members hold texts by their name, even when those look like numbers. */
  readonly text: readonly boolean[];
  /** Where the date stands, -1 for nowhere. */
  readonly dateAt: number;
}

/** A row that was read and not yet written. */
export interface DraftRow {
  readonly values: readonly Json[];
  readonly plan: RowPlan;
  /** `YYYY-MM-DD`, null when the row has no date that is a whole day. */
  readonly date: string | null;
}

/** What the columns of these rows show. */
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

/** @returns the rows with the members of each in the order of the first row that has the same; null where all are in it already */
export function inOneOrder(rows: readonly DraftRow[]): readonly DraftRow[] | null {
  const plans = new Set(rows.map(({ plan }) => plan));
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

/** @returns the rows as compact JSON, without any raw line break, in the same order */
export function writeRows(rows: readonly DraftRow[], types: ColumnTypes): string[] {
  const texts = new Map<RowPlan, readonly boolean[]>();
  return rows.map((row) => {
    let isText = texts.get(row.plan);
    if (isText === undefined) {
      isText = row.plan.columns.map((column) => isTextIn(types, column));
      texts.set(row.plan, isText);
    }
    return writeRow(row, isText);
  });
}

function isTextIn(types: ColumnTypes, column: string): boolean {
  const facts = types.get(column);
  return facts !== undefined && holdsTexts(column, facts);
}

/** Whether rows are written alike by both, as far as these columns go. */
export function agreeOn(columns: readonly string[], one: ColumnTypes, other: ColumnTypes): boolean {
  return columns.every((column) => isTextIn(one, column) === isTextIn(other, column));
}

function writeRow({ values, plan, date }: DraftRow, isText: readonly boolean[]): string {
  const parts: string[] = [];
  for (let at = 0; at < values.length; at += 1) {
    const isDate = at === plan.dateAt;
    const value = values[at] as Json;
    const cell = isDate && date !== null ? `"${date}"` : cellJson(value, isText[at] as boolean, isDate);
    parts.push(plan.prefixes[at] + cell);
  }
  return `{${parts.join()}}`;
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
