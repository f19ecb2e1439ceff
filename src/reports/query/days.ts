/**
 * Calendar days as ISO text (`2026-11-01`) and as day numbers (days since 1970-01-01). Arithmetic is done on numbers, which
 * daylight saving does not affect.
 */

const DAY_MS = 86_400_000;

/** Memoized: each entry needs its days several times. */
const [numbers, texts] = [new Map<string, number>(), new Map<number, string>()];
const KNOWN_MAX = 10_000;

/** @returns null if it is no calendar day, e.g. 30 February */
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
  // Engines differ: Date.parse refuses 31 April, or returns 1 May.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(iso)) return null;
  return ms / DAY_MS;
}

/** For four-digit years. */
export function isoDay(day: number): string {
  const known = texts.get(day);
  if (known !== undefined) return known;
  const text = new Date(day * DAY_MS).toISOString().slice(0, 10);
  if (texts.size >= KNOWN_MAX) texts.clear();
  texts.set(day, text);
  return text;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/** @param nowMs epoch milliseconds. @param timezone IANA name. @returns the day number */
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

/** More than the greatest offset of a time zone from UTC. */
const ZONE_MS = 15 * 3_600_000;

const begins = new Map<string, { readonly day: number; readonly atMs: number }>();

/**
 * The first moment of a calendar day in a time zone, epoch milliseconds. Not always midnight: some zones set clocks forward then.
 * @param timezone IANA name
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
  begins.set(timezone, { day, atMs });
  return atMs;
}

/** ISO days, both ends included. */
export function daysBetween(from: string, to: string): string[] {
  const first = dayNumber(from) as number;
  const last = dayNumber(to) as number;
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => isoDay(first + index));
}

const DATE = /^(\d{4}-\d{2}-\d{2})(?: 00:00:00(?:\.0+)?|T00:00:00(?:\.0+)?(?:Z|\+00:00)?)?$/;

/** @returns `YYYY-MM-DD` for a calendar day, alone or with the time 00:00:00 (`2026-11-01T00:00:00Z`); null with another time */
export function isoDate(text: string): string | null {
  const day = DATE.exec(text)?.[1];
  return day === undefined || dayNumber(day) === null ? null : day;
}
