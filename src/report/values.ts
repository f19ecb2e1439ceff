/** One value of a known parameter, from a query's text or a body's JSON, in its one canonical form. */
import { dayNumber, isoDay } from './days.js';
import { isJsonArray, type Json, JsonNumber } from './json.js';
import type { Kind } from './parameters.js';

/** `texts` is empty when the value means "absent"; a fault says what is allowed. */
export type ReadValue = { readonly texts: readonly string[] } | { readonly fault: string };

const INT = /^[1-9][0-9]{0,15}$/;
/** The earliest day that may be asked for. */
export const FIRST_DAY = dayNumber('2000-01-01') as number;
const DAYS_AHEAD = 366;
const MAX_SET = 10_000;

/** Whether a text is an integer in its one spelling, e.g. an account id. */
export function isInteger(text: string): boolean {
  return INT.test(text);
}

const ALLOWED = {
  int: 'must be a whole number without sign or leading zero, at most 16 digits',
  flag: 'must be 1 or true (on), 0, false or empty (off)',
  set: 'must be a list of whole numbers, at least one',
  text: 'must be text',
};

/** @param today day number in the platform's time zone; dates may lie up to 366 days ahead of it */
export function readText(kind: Kind, values: readonly string[], today: number): ReadValue {
  if (kind === 'set') return readSet(values.flatMap((value) => value.split(',')));
  const value = values[0] as string;
  switch (kind) {
    case 'int':
      return isInteger(value) ? { texts: [value] } : { fault: ALLOWED.int };
    case 'flag':
      return readFlag(value);
    case 'date':
      return readDate(value, today);
    case 'text':
      return { texts: value === '' ? [] : [value] };
  }
}

/** The same for a member of a JSON body: numbers and digit texts, booleans and flags are one. */
export function readJson(kind: Kind, value: Json, today: number): ReadValue {
  if (kind === 'set')
    return readSet((isJsonArray(value) ? value : [value]).map(scalarText).flatMap(splitCommas));
  if (value === null)
    return kind === 'flag' || kind === 'text' ? { texts: [] } : { fault: fault(kind, today) };
  if (kind === 'flag' && typeof value === 'boolean') return readFlag(String(value));
  const text = scalarText(value);
  const wrongType = text === null || ((kind === 'date' || kind === 'text') && typeof value !== 'string');
  return wrongType ? { fault: fault(kind, today) } : readText(kind, [text], today);
}

function fault(kind: Kind, today: number): string {
  return kind === 'date' ? dateFault(today) : ALLOWED[kind];
}

function scalarText(value: Json): string | null {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : null;
}

function splitCommas(text: string | null): (string | null)[] {
  return text === null ? [null] : text.split(',');
}

function readFlag(value: string): ReadValue {
  if (value === '1' || value === 'true') return { texts: ['1'] };
  if (value === '' || value === '0' || value === 'false') return { texts: [] };
  return { fault: ALLOWED.flag };
}

function readDate(value: string, today: number): ReadValue {
  const day = dayNumber(value);
  const inRange = day !== null && day >= FIRST_DAY && day <= today + DAYS_AHEAD;
  return inRange ? { texts: [value] } : { fault: dateFault(today) };
}

function dateFault(today: number): string {
  return `must be a calendar day as YYYY-MM-DD, from 2000-01-01 to ${isoDay(today + DAYS_AHEAD)}`;
}

/** Sorted by value, each once: a set has no order. */
function readSet(values: readonly (string | null)[]): ReadValue {
  if (values.length === 0 || values.length > MAX_SET) return { fault: ALLOWED.set };
  const texts = new Set<string>();
  for (const value of values) {
    if (value === null || !isInteger(value)) return { fault: ALLOWED.set };
    texts.add(value);
  }
  return { texts: [...texts].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)) };
}
