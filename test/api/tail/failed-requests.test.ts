/** Failed requests are found by their id, whichever process answered them. */
import { expect, it, onTestFinished } from 'vitest';
import { createFailedRequests, FAILED_REQUESTS_KEPT } from '../../../src/api/tail/failed-requests.js';
import { createLocalBus } from '../../../src/store/listeners.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createStandingClock } from '../../support/test-clock.js';

const FAILED = {
  ...{ team: 'growth', key: 'k1', method: 'GET', path: '/api/v1/report/campaigns/get', status: 502 },
  ...{ outcome: 'failed', code: 'upstream_error', cause: 'status 500', platformCalls: 3, ms: 12 },
  ...{ rows: 0, bytes: 99, requestId: 'r1' },
};

function processes(count: number, clock = createStandingClock()) {
  const { logger } = createRecordedLog();
  const bus = createLocalBus(logger);
  return Array.from({ length: count }, () => {
    const one = createFailedRequests({ bus, clock, logger, replicas: { count } });
    onTestFinished(one.close);
    return one;
  });
}

it('a request is found in the process that answered it and from another one, and an unknown id is not found', async () => {
  const [one, other, third] = processes(3);
  one?.note(FAILED);
  const line = { at: '2026-11-21T12:00:00.000Z', ...FAILED };
  expect(await one?.find('r1')).toEqual({ line, matches: 1, searched: 1, processes: 3 });
  for (const asked of [other, third]) expect(await asked?.find('r1')).toMatchObject({ line, processes: 3 });
  expect(await other?.find('r2')).toEqual({ line: null, matches: 0, searched: 3, processes: 3 });
});

it('a single process asks nobody, and forgets the oldest requests', async () => {
  const [one] = processes(1);
  for (let at = 0; at <= FAILED_REQUESTS_KEPT; at += 1) one?.note({ ...FAILED, requestId: `r${at}` });
  expect(await one?.find('r0')).toEqual({ line: null, matches: 0, searched: 1, processes: 1 });
  expect(await one?.find('r1')).toMatchObject({ line: { requestId: 'r1' } });
});

it('a request is found by six first letters of its id if it alone begins so at all processes', async () => {
  const [one, other] = processes(2);
  const [id, near] = ['01JDC3T8Q5', '01JDC3T8Q5-next'];
  one?.note({ ...FAILED, requestId: id });
  const found = async (text: string) => {
    const { line, matches } = (await other?.find(text)) ?? { line: null };
    return [line?.requestId ?? null, matches];
  };
  expect(await found('01JDC3')).toEqual([id, 1]);
  expect(await found('01JDC')).toEqual([null, 0]);
  other?.note({ ...FAILED, requestId: near });
  expect(await found('01JDC3')).toEqual([null, 2]);
  expect(await found(id)).toEqual([id, 1]);
});

const EVERY = { team: null, outcome: null, fromMs: null, untilMs: null, oldest: false, limit: 10 };

it('the requests of all processes are listed together, newest first or oldest first, with the number beyond the limit', async () => {
  const clock = createStandingClock();
  const [one, other] = processes(2, clock);
  for (const [at, process] of [one, other, one, other].entries()) {
    process?.note({ ...FAILED, requestId: `r${at}` });
    clock.pass(1000);
  }
  const listed = async (changes: Partial<typeof EVERY>) => {
    const { lines, all, searched } = (await one?.list({ ...EVERY, ...changes })) ?? { lines: [] };
    return [lines.map(({ requestId }) => requestId), all, searched];
  };
  expect(await listed({})).toEqual([['r3', 'r2', 'r1', 'r0'], 4, 2]);
  expect(await listed({ limit: 1 })).toEqual([['r3'], 4, 2]);
  expect(await listed({ limit: 3, oldest: true })).toEqual([['r0', 'r1', 'r2'], 4, 2]);
});

it('a list has the requests of a team, of an outcome, and of a time', async () => {
  const clock = createStandingClock();
  const [one] = processes(1, clock);
  const fromMs = clock.now();
  one?.note(FAILED);
  clock.pass(1000);
  one?.note({ ...FAILED, requestId: 'refused', outcome: 'error' });
  clock.pass(1000);
  one?.note({ ...FAILED, requestId: 'other', team: 'emea' });
  const listed = async (changes: object) =>
    (await one?.list({ ...EVERY, ...changes }))?.lines.map(({ requestId }) => requestId);
  expect(await listed({ team: 'emea' })).toEqual(['other']);
  expect(await listed({ outcome: 'failed' })).toEqual(['other', 'r1']);
  one?.note({ ...FAILED, requestId: 'token', code: 'credential_unavailable' });
  expect(await listed({ part: 'credential' })).toEqual(['token']);
  expect(await listed({ part: 'platform' })).toEqual(['other', 'r1']);
  expect(await listed({ fromMs: fromMs + 1, untilMs: fromMs + 1999 })).toEqual(['refused']);
});

it('a process of an earlier release that knows no codes adds only requests of the code', async () => {
  const { logger } = createRecordedLog();
  const bus = createLocalBus(logger);
  const clock = createStandingClock();
  const one = createFailedRequests({ bus, clock, logger, replicas: { count: 2 } });
  onTestFinished(one.close);
  const at = new Date(0).toISOString();
  const lines = ['upstream_error', 'rate_limited'].map((code, id) => ({
    ...FAILED,
    at,
    code,
    requestId: `r${id}`,
  }));
  bus.subscribe('failed-request-wanted', (message) => {
    const { search } = JSON.parse(message) as { search: string };
    void bus.publish('failed-request-found', JSON.stringify({ search, lines, all: 2 }));
  });
  expect(await one.list({ ...EVERY, code: 'rate_limited' })).toMatchObject({ lines: [lines[1]], all: 1 });
});
