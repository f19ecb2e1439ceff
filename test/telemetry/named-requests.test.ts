/** Which failed reports an incident names by their request ids. */
import { expect, it } from 'vitest';
import { createIncidents } from '../../src/server/keep-incidents.js';
import { NO_FAILURES } from '../../src/telemetry/failures.js';
import type { Incident } from '../../src/telemetry/incidents.js';
import { createStandingClock, MINUTE, NOON, SECOND } from '../support/test-clock.js';

const iso = (ms: number) => new Date(ms).toISOString();

it('an incident names the requests that failed by its part, also those of a minute of an earlier one', async () => {
  const platform: Incident = {
    ...{ part: 'platform', from: iso(NOON - 3 * MINUTE), until: iso(NOON - 2 * MINUTE + 20 * SECOND) },
    ...{ cause: 'status 500: 2', failedReports: 2, requestIds: ['p1', 'p2'], teams: ['growth'] },
  };
  // When each was answered; p2 and c1 in one minute. The first letter is that of the part.
  const failed = [
    ['p1', NOON - 3 * MINUTE],
    ['p2', NOON - 2 * MINUTE + 5 * SECOND],
    ['c1', NOON - 2 * MINUTE + 40 * SECOND],
    ['c2', NOON - MINUTE],
  ] as const;
  let text = JSON.stringify([platform]);
  const minute = (ms: number) => Math.floor(ms / MINUTE) * MINUTE;
  const since = { credential: { at: iso(NOON - 2 * MINUTE + 30 * SECOND) } };
  const incidents = createIncidents({
    documents: {
      create: async () => text,
      get: async () => text,
      replace: async (_key, _before, after) => {
        text = after ?? '[]';
        return true;
      },
    },
    health: {
      own: () => ({ since }),
      worst: () => ({ platform: 'ok', credential: 'refused' }),
      processes: () => [{ failures: NO_FAILURES }],
    } as never,
    clock: createStandingClock(),
    failedByMinute: async () =>
      new Map(
        failed.map(([, at]) => {
          const ids = failed.flatMap(([id, other]) => (minute(other) === minute(at) ? id : []));
          const credential = ids.filter((id) => id.startsWith('c')).length;
          return [minute(at), { platform: ids.length - credential, credential }];
        }),
      ),
    firstFailed: async (part, fromMs, untilMs, limit) =>
      failed
        .flatMap(([id, at]) => (part.startsWith(id.charAt(0)) && fromMs <= at && at <= untilMs ? id : []))
        .slice(0, limit),
  });
  await incidents.job(() => false);
  expect(await incidents.list()).toMatchObject([
    { part: 'credential', failedReports: 2, requestIds: ['c1', 'c2'] },
    { part: 'platform', failedReports: 2 },
  ]);
});
