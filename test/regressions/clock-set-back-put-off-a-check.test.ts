/** A check that waited for a call that is made anyway waited on, by a clock that was set back, until six hours after the wrong time. */
import { expect, it } from 'vitest';
import { createCheckSchedule, DAY_MS } from '../../src/reports/fetch/cross-check.js';
import { policyOf } from '../reports/fetch/policy.js';
import { get } from '../reports/query/canonical-request.js';

const HOUR_MS = DAY_MS / 24;

it('waits six hours of the clock that was set back, and no longer', () => {
  const noonMs = Date.parse('2026-11-21T12:00:00Z');
  let nowMs = noonMs;
  const schedule = createCheckSchedule(1_000_000, {
    learner: {
      status: () => ({ id: '', state: 'proven', pinned: false, generation: 'one', wholeUntil: null }),
    },
    policy: policyOf(),
    now: () => nowMs,
  });
  const what = { ...get('advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-21'), series: 'series' };
  const state = schedule.stateOf(what);
  if (state === null) throw new Error('nothing is to be checked');
  for (let joins = 0; joins < 2; joins++) schedule.note(what, state);

  nowMs = noonMs + 3 * DAY_MS;
  expect(schedule.isDue(state, what)).toBe(true);
  expect(schedule.isWaiting(state, what)).toBe(true);

  nowMs = noonMs + DAY_MS;
  expect(schedule.isWaiting(state, what)).toBe(true);
  nowMs += 6 * HOUR_MS;
  expect(schedule.isDue(state, what)).toBe(true);
  expect(schedule.isWaiting(state, what)).toBe(false);
});
