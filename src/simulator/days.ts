/** Calendar days as numbers of days since 1970-01-01. */

const DAY_MS = 86_400_000;
/** Today's numbers move every five minutes. */
const STEP_MS = 5 * 60_000;
/** Steps of a day; a 25-hour day stays at its last step for an hour. */
export const STEPS_PER_DAY = DAY_MS / STEP_MS;

/** An instant in the platform's calendar. */
export interface Moment {
  readonly today: number;
  /** 0 … {@link STEPS_PER_DAY} − 1; never falls during a day. */
  readonly step: number;
}

/** @param text `YYYY-MM-DD`. @returns undefined if it is not a calendar day */
export function parseDay(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const day = Date.parse(`${text}T00:00:00Z`) / DAY_MS;
  return Number.isInteger(day) && formatDay(day) === text ? day : undefined;
}

/** @returns `YYYY-MM-DD` */
export function formatDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** @returns 0 for Sunday … 6 for Saturday */
export function weekday(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** @param now epoch milliseconds. @param timezone IANA name. @throws RangeError for an unknown time zone */
export function momentAt(now: number, timezone: string): Moment {
  const step = Math.floor(now / STEP_MS);
  if (timezone === 'UTC') {
    const today = Math.floor(now / DAY_MS);
    return { today, step: step - today * STEPS_PER_DAY };
  }
  const today = localDay(step, timezone);
  // Bisects the first step of the local day: counting local time would make numbers fall when clocks are set back.
  let before = step - 26 * 12;
  let within = step;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (localDay(middle, timezone) < today) before = middle;
    else within = middle;
  }
  return { today, step: Math.min(step - within, STEPS_PER_DAY - 1) };
}

const calendars = new Map<string, Intl.DateTimeFormat>();

function localDay(step: number, timeZone: string): number {
  let calendar = calendars.get(timeZone);
  if (!calendar) {
    calendar = new Intl.DateTimeFormat('en-US', { timeZone });
    calendars.set(timeZone, calendar);
  }
  const [month, day, year] = calendar
    .format(step * STEP_MS)
    .split('/')
    .map(Number);
  return Date.UTC(year ?? Number.NaN, (month ?? Number.NaN) - 1, day ?? Number.NaN) / DAY_MS;
}
