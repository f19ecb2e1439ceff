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

function processes(count: number) {
  const { logger } = createRecordedLog();
  const [bus, clock] = [createLocalBus(logger), createStandingClock()];
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
  expect(await one?.find('r1')).toEqual({ line, searched: 1, processes: 3 });
  for (const asked of [other, third]) expect(await asked?.find('r1')).toMatchObject({ line, processes: 3 });
  expect(await other?.find('r2')).toEqual({ line: null, searched: 3, processes: 3 });
});

it('a single process asks nobody, and forgets the oldest requests', async () => {
  const [one] = processes(1);
  for (let at = 0; at <= FAILED_REQUESTS_KEPT; at += 1) one?.note({ ...FAILED, requestId: `r${at}` });
  expect(await one?.find('r0')).toEqual({ line: null, searched: 1, processes: 1 });
  expect(await one?.find('r1')).toMatchObject({ line: { requestId: 'r1' } });
});
