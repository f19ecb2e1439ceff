/**
 * Calendar days as ISO text (`2026-11-01`) and as day numbers (days since 1970-01-01).
 * Day arithmetic is done on numbers, so that daylight saving cannot touch it.
 */

const DAY_MS = 86_400_000;

/** Days that were read or written lately; each entry is asked for several of its own. */
const [numbers, texts] = [new Map<string, number>(), new Map<number, string>()];
const KNOWN_MAX = 10_000;

/** @returns the day number of a real calendar day, or null for anything else, 30 February included. */
export function dayNumber(iso: string): number | null {
  const known = numbers.get(iso);
  if (known !== undefined) return known;
  const day = readDay(iso);
  if (day === null) return null;
  if (numbers.size >= KNOWN_MAX) numbers.clear();
  numbers.set(iso, day);
  return day;
}

function readDay(iso: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(iso)) return null;
  const ms = Date.parse(`${iso}T00:00:00Z`);
  // Date.parse refuses 31 April in some engines and rolls it over in others: only the round trip is sure.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(iso)) return null;
  return ms / DAY_MS;
}

/** Four-digit years only, which is all the gateway accepts. */
export function isoDay(day: number): string {
  const known = texts.get(day);
  if (known !== undefined) return known;
  const text = new Date(day * DAY_MS).toISOString().slice(0, 10);
  if (texts.size >= KNOWN_MAX) texts.clear();
  texts.set(day, text);
  return text;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * The calendar day it is in a time zone.
 * @param nowMs milliseconds since the epoch
 * @param timezone IANA name
 */
export function dayAt(nowMs: number, timezone: string): number {
  if (timezone === 'UTC') return Math.floor(nowMs / DAY_MS);
  let formatter = formatters.get(timezone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-CA', {
      timeZone: timezone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    formatters.set(timezone, formatter);
  }
  return dayNumber(formatter.format(nowMs)) as number;
}

/** Furthest a clock on a wall is from UTC, and a little more. */
const ZONE_MS = 15 * 3_600_000;

const begins = new Map<string, { readonly day: number; readonly atMs: number }>();

/**
 * When a calendar day begins in a time zone: the first moment at which it is this day or a later one. Not always
 * midnight, for clocks are set forward at midnight in places.
 * @param timezone IANA name
 * @returns milliseconds since the epoch
 */
export function startOfDay(day: number, timezone: string): number {
  if (timezone === 'UTC') return day * DAY_MS;
  const known = begins.get(timezone);
  if (known?.day === day) return known.atMs;
  let [before, atMs] = [day * DAY_MS - ZONE_MS, day * DAY_MS + ZONE_MS];
  while (atMs - before > 1) {
    const middle = Math.floor((before + atMs) / 2);
    if (dayAt(middle, timezone) >= day) atMs = middle;
    else before = middle;
  }
  // The next day's is asked for again and again.
  begins.set(timezone, { day, atMs });
  return atMs;
}

/** Every day from `from` to `to`, both included. */
export function daysBetween(from: string, to: string): string[] {
  const first = dayNumber(from) as number;
  const last = dayNumber(to) as number;
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => isoDay(first + index));
}

const DATE = /^(\d{4}-\d{2}-\d{2})(?: 00:00:00(?:\.0+)?|T00:00:00(?:\.0+)?(?:Z|\+00:00)?)?$/;

/**
 * @returns `YYYY-MM-DD` for a real calendar day that stands alone or with the time 00:00:00 (`2026-11-01`,
 * `2026-11-01 00:00:00.000`, `2026-11-01T00:00:00Z`), null for anything else: an hour is not for us to drop.
 */
export function isoDate(text: string): string | null {
  const day = DATE.exec(text)?.[1];
  return day === undefined || dayNumber(day) === null ? null : day;
}
