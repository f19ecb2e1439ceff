/**
 * Flaws: how an answer visibly differs from the query. Its rows are passed on with a warning; they are not final, are stored
 * for five minutes at most, and nothing is learned from them. Pure.
 */

import type { Period } from '../query/period.js';
import { bareWord, isSaid, wrappersOf } from './error-signs.js';
import { isJsonArray, type Json, JsonNumber, JsonObject } from './json.js';

export const FLAW_CODES = [
  'duplicate_rows',
  'pages_left',
  'platform_warning',
  'rows_of_other_advertisers',
  'rows_of_other_campaigns',
  'rows_outside_filter',
  'rows_outside_range',
  'undated_rows',
] as const;

export interface Flaw {
  readonly code: (typeof FLAW_CODES)[number];
  /** The platform's own words, bounded and escaped. */
  readonly text?: string;
}

/** Longest time for which such an answer is fresh. */
export const FLAWED_MS = 300_000;

/** The date of a row. */
interface DatedRow {
  /** Null: it has no date that is a whole day. */
  readonly date: string | null;
  readonly values: readonly Json[];
  /** `dateAt` is negative where no member is the date. */
  readonly plan: { readonly dateAt: number };
}

export function dateFlaws(rows: readonly DatedRow[], { from, to }: Period): readonly Flaw[] {
  const dates = new Set(rows.map(({ date }) => date));
  const isDated = dates.size > (dates.has(null) ? 1 : 0);
  const isOutside = (date: string | null) =>
    date !== null && ((from !== null && date < from) || (to !== null && date > to));
  const isUndated = ({ date, values, plan: { dateAt } }: DatedRow) =>
    date === null && !holdsDate(values[dateAt]) && !((dateAt < 0 || !isDated) && values.some(startsWithDay));
  return [
    ...([...dates].some(isOutside) ? [{ code: 'rows_outside_range' as const }] : []),
    // Where no member is the date, or no date can be read, another member may contain it.
    ...(dates.has(null) && rows.some(isUndated) ? [{ code: 'undated_rows' as const }] : []),
  ];
}

/** A date in an unknown form is still a date; a text without a digit, such as `Total`, is not. */
function holdsDate(value: Json | undefined): boolean {
  return value !== undefined && value !== null && (typeof value !== 'string' || /\d/.test(value));
}

const STARTS_WITH_DAY = /^(?:\d{4}([-/.]?)\d\d\1\d\d|\d\d?([-/.])\d\d?\2\d{4})/;

/** Whether a cell may be a date. */
export function startsWithDay(value: Json | undefined): boolean {
  const text = value instanceof JsonNumber ? value.text : value;
  return typeof text === 'string' && STARTS_WITH_DAY.test(text);
}

const WARNINGS = new Set(['warning', 'warnings']);
const MAX_TEXTS = 3;
const MAX_CHARS = 200;
const CONTROL = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** Warnings beside the rows. A number may be a count of something else. */
export function platformWarning(document: Json, rows: Json): Flaw | null {
  for (const { names, values } of wrappersOf(document, rows)) {
    const at = values.findIndex(
      (value, index) => WARNINGS.has(bareWord(names[index] as string)) && value !== rows && isSaid(value),
    );
    const value = values[at];
    if (value === undefined || value instanceof JsonNumber) continue;
    const text = textsIn(value).slice(0, MAX_TEXTS).map(escaped).join('; ');
    return { code: 'platform_warning', ...(text === '' ? {} : { text }) };
  }
  return null;
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  const held = isJsonArray(value) ? value : value instanceof JsonObject ? value.values : [];
  return held.slice(0, MAX_TEXTS).flatMap(textsIn);
}

function escaped(text: string): string {
  const short = [...text.slice(0, 2 * MAX_CHARS)].slice(0, MAX_CHARS).join('');
  const shown = short.replace(CONTROL, (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`);
  return JSON.stringify(short.length < text.length ? `${shown}…` : shown);
}

/** The flaws of several parts, each once. */
export function joinFlaws(
  parts: readonly { readonly flaws?: readonly Flaw[] | undefined }[],
): readonly Flaw[] {
  const all = new Map<string, Flaw>();
  for (const { flaws } of parts)
    for (const flaw of flaws ?? []) if (!all.has(flaw.code)) all.set(flaw.code, flaw);
  return [...all.values()];
}
