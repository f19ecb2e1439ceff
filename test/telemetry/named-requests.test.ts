/** What is kept of an incident: its end, and the request ids of its first failed reports. */
import { expect, it } from 'vitest';
import { createIncidents } from '../../src/server/keep-incidents.js';
import { NO_FAILURES } from '../../src/telemetry/failures.js';
import type { Incident } from '../../src/telemetry/incidents.js';
import { createStandingClock, MINUTE, NOON, SECOND } from '../support/test-clock.js';

const iso = (ms: number) => new Date(ms).toISOString();

/** Documents that hold this one text. */
function createDocument(text: string) {
  return {
    create: async () => text,
    get: async () => text,
    replace: async (_key: string, _before: string | null, after: string | null) => {
      text = after ?? '[]';
      return true;
    },
  };
}

it('an incident that was open when the gateway stopped ends when it starts again and nothing fails', async () => {
  const left: Incident = {
    ...{ part: 'platform', from: iso(NOON - 20 * MINUTE), until: null },
    ...{ cause: 'status 500: 4', failedReports: 4, teams: ['growth'] },
  };
  const incidents = createIncidents({
    documents: createDocument(JSON.stringify([left])),
    health: {
      own: () => ({ since: {} }),
      worst: () => ({ platform: 'ok', credential: 'ok' }),
      processes: () => [{ failures: NO_FAILURES }],
    } as never,
    outlook: () => ({ refusedAt: null }),
    clock: createStandingClock(),
    failedByMinute: async () => new Map([[NOON - 20 * MINUTE, { platform: 4, credential: 0 }]]),
    firstFailed: async () => [],
  });
  await incidents.job(() => false);
  expect(await incidents.list()).toMatchObject([{ from: left.from, until: iso(NOON), failedReports: 4 }]);
});

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
  const minute = (ms: number) => Math.floor(ms / MINUTE) * MINUTE;
  const since = { credential: { at: iso(NOON - 2 * MINUTE + 30 * SECOND) } };
  const incidents = createIncidents({
    documents: createDocument(JSON.stringify([platform])),
    health: {
      own: () => ({ since }),
      worst: () => ({ platform: 'ok', credential: 'refused' }),
      processes: () => [{ failures: NO_FAILURES }],
    } as never,
    outlook: () => ({ refusedAt: null }),
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
  // It is listed before the elected process has noted it.
  const before = await incidents.list();
  expect(before?.map(({ part, until, requestIds }) => [part, until, requestIds])).toEqual([
    ['credential', null, ['c1', 'c2']],
    ['platform', platform.until, ['p1', 'p2']],
  ]);
  await incidents.job(() => false);
  expect(await incidents.list()).toMatchObject([
    { part: 'credential', failedReports: 2, requestIds: ['c1', 'c2'] },
    { part: 'platform', failedReports: 2 },
  ]);
});
