import { describe, expect, it } from 'vitest';
import { createTrace } from '../../../bench/trace.mjs';
import { exhaustedAtMs } from '../../../src/teams/limits/forecast.js';

const [HOUR_S, DAY_S] = [3600, 86_400];
const RESTATED_DAYS = 5;

function freshS(day: number, at: number): number {
  const today = Math.floor(at / DAY_S);
  if (day >= today) return 300;
  return day < today - RESTATED_DAYS ? 30 * DAY_S : HOUR_S;
}

/** When the requests of the bench cause platform calls, if each day of each series is kept as long as it is fresh. */
function callsOf(trace: ReturnType<typeof createTrace>): number[] {
  const kept = new Map<string, number>();
  return trace.flatMap(({ at, advertiser, byCampaign, byDate, from, to }) => {
    const series = `${advertiser} ${byCampaign} ${byDate ? '' : `${from} ${to}`}`;
    const days = Array.from({ length: byDate ? to - from + 1 : 1 }, (_, index) => to - index);
    if (days.every((day) => at < (kept.get(`${series} ${day}`) ?? 0))) return [];
    for (const day of days) kept.set(`${series} ${day}`, at + freshS(day, at));
    return [at];
  });
}

/** By hour, of the seven days before one that begins at `start`, and of that day. */
function byHour(times: readonly number[], start: number): number[] {
  const hours = Array.from({ length: 8 * 24 }, () => 0);
  for (const at of times) (hours[Math.floor((at - start) / HOUR_S) + 7 * 24] as number) += 1;
  return hours;
}

/**
 * Errors of the forecasts of one day, every half hour from the middle of the period on until the budget is exhausted, as parts
 * of the whole period. After the last call of a day nobody can tell whether its budget is exhausted: a later time, and none,
 * count as the time of that call.
 */
function errorsOf(before: readonly number[], today: readonly number[], limit: number, from = 12): number[] {
  const start = Math.floor((today[0] as number) / DAY_S) * DAY_S;
  const last = today.at(-1) as number;
  const end = today[limit - 1] ?? last;
  const errors: number[] = [];
  for (let now = start + from * HOUR_S; now < end; now += HOUR_S / 2) {
    const past = today.filter((at) => at < now);
    const calls = byHour([...before, ...past], start);
    const atMs = exhaustedAtMs({ used: past.length, limit, calls }, now * 1000);
    errors.push(Math.abs(Math.min(last, atMs === null ? last : atMs / 1000) - end) / DAY_S);
  }
  return errors;
}

const SHARES = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5];

describe.each([1, 2, 3])('on the trace of the bench (seed %i), a forecast', (seed) => {
  const calls = callsOf(createTrace({ seed, days: 28 }));
  const on = (day: number, days = 1) => calls.filter((at) => at >= day * DAY_S && at < (day + days) * DAY_S);
  const errorsOn = (day: number, limitOf: (share: number) => number, from = 12) =>
    SHARES.flatMap((share) => errorsOf(on(day - 7, 7), on(day), Math.round(limitOf(share)), from));
  const days = Array.from({ length: 21 }, (_, at) => at + 7);

  it('errs by a tenth of the period at most, from half of it on', () => {
    const errors = days.flatMap((day) => {
      const busiest = Math.max(...[1, 2, 3, 4, 5, 6, 7].map((ago) => on(day - ago).length));
      return errorsOn(day, (share) => busiest * share);
    });
    expect(errors.length).toBeGreaterThan(1000);
    expect(Math.max(...errors)).toBeLessThanOrEqual(0.1);
  });

  // Even the true rate errs by more than a tenth on some of the 25 calls of a Sunday.
  it('does so in 99 of 100 cases for budgets near the calls of the day itself, and on weekends from the morning on', () => {
    const errors = days.flatMap((day) => errorsOn(day, (share) => on(day).length * share));
    expect(errors.filter((error) => error > 0.1).length).toBeLessThanOrEqual(errors.length / 100);
    const mornings = [12, 13, 19, 20, 26, 27].flatMap((day) =>
      errorsOn(day, (share) => on(day).length * share, 6),
    );
    expect(mornings.reduce((sum, error) => sum + error, 0) / mornings.length).toBeLessThan(0.05);
  });
});

describe('a forecast from half of the period on', () => {
  const spread = (day: number, rates: readonly number[]) =>
    rates.flatMap((count, hour) =>
      Array.from({ length: count }, (_, at) => day * DAY_S + (hour + (at + 0.5) / count) * HOUR_S),
    );
  const OFFICE = Array.from({ length: 24 }, (_, hour) =>
    hour >= 8 && hour < 19 ? 40 - 4 * Math.abs(13 - hour) : 0,
  );
  const NIGHT = Array.from({ length: 24 }, (_, hour) => (hour >= 20 ? 60 : 2));
  const FLAT = Array.from({ length: 24 }, () => 12);
  const loop = (rates: readonly number[], from: number, more: number) =>
    rates.map((count, hour) => count + (hour >= from ? more : 0));

  it.each<[string, number[], number[], number]>([
    ['as steady as always', FLAT, FLAT, 12],
    ['a day in an office', OFFICE, OFFICE, 12],
    ['twice as much of it', OFFICE, OFFICE.map((count) => count * 2), 12],
    ['half of it', OFFICE, OFFICE.map((count) => Math.round(count / 2)), 12],
    ['an export in the night', NIGHT, NIGHT, 12],
    ['a script that has looped since ten', OFFICE, loop(OFFICE, 10, 300), 12],
    [
      'a script that has looped since three in the afternoon, an hour later',
      OFFICE,
      loop(OFFICE, 15, 300),
      16,
    ],
    ['the first day of all, steady', [], FLAT, 12],
  ])('errs by a tenth at most on %s', (_what, before, today, from) => {
    const past = [0, 1, 2, 3, 4, 5, 6].flatMap((day) => spread(day, before));
    const calls = spread(7, today);
    const errors = SHARES.flatMap((share) => errorsOf(past, calls, Math.round(calls.length * share), from));
    expect(errors.length).toBeGreaterThan(0);
    expect(Math.max(...errors)).toBeLessThanOrEqual(0.1);
  });
});
