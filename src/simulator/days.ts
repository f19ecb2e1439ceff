/** Calendar days as whole numbers: days since 1970-01-01, so that ranges are plain arithmetic. */

const DAY_MS = 86_400_000;
/** Today's numbers move every five minutes. */
const STEP_MS = 5 * 60_000;
/** Steps of an ordinary day; the 25-hour day of a clock change stays at its last step for an hour. */
export const STEPS_PER_DAY = DAY_MS / STEP_MS;

/** Where an instant lies in the platform's calendar. */
export interface Moment {
  /** The day number of "today". */
  readonly today: number;
  /** How far today has come: 0 … {@link STEPS_PER_DAY} − 1, never falling while the day lasts. */
  readonly step: number;
}

/** @returns the day number of `YYYY-MM-DD`, or undefined when that is not a real calendar day. */
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

/**
 * @param now milliseconds since the Unix epoch
 * @param timezone an IANA name; where the platform's day begins
 * @throws RangeError when the time zone is not known
 */
export function momentAt(now: number, timezone: string): Moment {
  const step = Math.floor(now / STEP_MS);
  if (timezone === 'UTC') {
    const today = Math.floor(now / DAY_MS);
    return { today, step: step - today * STEPS_PER_DAY };
  }
  const today = localDay(step, timezone);
  // The first step of the local day, found by halving: a wall clock that is set back would otherwise make a day's
  // numbers fall.
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
    calendar = new Intl.DateTimeFormat('en-US', {
      timeZone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
    });
    calendars.set(timeZone, calendar);
  }
  const [month, day, year] = calendar
    .format(step * STEP_MS)
    .split('/')
    .map(Number);
  return Date.UTC(year ?? Number.NaN, (month ?? Number.NaN) - 1, day ?? Number.NaN) / DAY_MS;
}
