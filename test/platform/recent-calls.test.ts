/** The level that the platform has by its calls, whatever their order. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRecentCalls } from '../../src/platform/recent-calls.js';
import { LEVELS } from '../../src/telemetry/finding.js';
import { createHealth, type ProcessHealth } from '../../src/telemetry/health.js';
import type { CallReport } from '../../src/telemetry/trace.js';
import { verdictOf } from '../../src/telemetry/verdict.js';
import { measured } from '../support/measured.js';
import { createStandingClock, type TestClock } from '../support/test-clock.js';

const call = (outcome: CallReport['outcome']): CallReport => ({
  ...{ team: 'growth', method: 'GET', outcome, durationMs: 10, attempt: 1 },
  status: outcome === 'failed' ? 500 : 200,
});

/** A process that reports to others. */
function processAt(id: string, clock: TestClock) {
  const recentCalls = createRecentCalls(clock.now);
  const failures = () => ({ ...recentCalls.last(), teams: [] });
  const gateway = measured({ clock, recentCalls, failures });
  const health = createHealth(
    id,
    () => gateway,
    () => ({ tokenId: null, tokenSince: null }),
    clock.now,
  );
  return {
    add: (outcome: CallReport['outcome']) => recentCalls.add(call(outcome)),
    hear: (other: () => ProcessHealth) => health.hear(() => [other()]),
    own: health.own,
    level: () => LEVELS.indexOf(verdictOf(gateway, true, health.worst(), health.own()).level),
  };
}

const EVENTS = fc.oneof(
  { weight: 5, arbitrary: fc.constant('failed' as const) },
  { weight: 5, arbitrary: fc.constant('answer' as const) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 400 }) },
);
const MANY = fc.integer({ min: 1, max: 25 });

it('an answer never raises the level of one process, nor does time after it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(EVENTS, MANY), { maxLength: 12 }), (bursts) => {
      const clock = createStandingClock();
      const one = processAt('one', clock);
      for (const [event, times] of bursts) {
        if (event === 'failed') {
          for (let time = 0; time < times; time += 1) one.add('failed');
          one.add('answer');
        }
        let before = one.level();
        for (let time = 0; time < times; time += 1) {
          if (typeof event === 'number') clock.pass(event * 100);
          else one.add('answer');
          const level = one.level();
          expect(level).toBeLessThanOrEqual(before);
          before = level;
        }
      }
    }),
  );
});

it('an answer to either of two processes never raises the level of both together', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), EVENTS, MANY), { maxLength: 12 }), (bursts) => {
      const clock = createStandingClock();
      const [one, other] = [processAt('one', clock), processAt('other', clock)];
      one.hear(other.own);
      for (const [isFirst, event, times] of bursts) {
        const at = isFirst ? one : other;
        clock.pass(typeof event === 'number' ? event * 100 : 10);
        for (let time = 0; event === 'failed' && time < times; time += 1) at.add('failed');
        if (event !== 'answer') continue;
        let before = one.level();
        for (let time = 0; time < times; time += 1) {
          at.add('answer');
          const level = one.level();
          expect(level).toBeLessThanOrEqual(before);
          before = level;
        }
      }
    }),
  );
});

it('the last three calls failed: a warning until a call is answered, however long', () => {
  const clock = createStandingClock();
  const one = processAt('one', clock);
  for (const outcome of ['failed', 'answer', 'failed', 'failed'] as const) one.add(outcome);
  expect(one.level()).toBe(LEVELS.indexOf('well'));
  one.add('timeout');
  clock.pass(3_600_000);
  expect(one.level()).toBe(LEVELS.indexOf('warning'));
  // It has shown nothing about the platform.
  one.add('aborted');
  expect(one.level()).toBe(LEVELS.indexOf('warning'));
  one.add('answer');
  expect(one.level()).toBe(LEVELS.indexOf('well'));
});
