import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/simulator.js';
import { admin, ask, newTeam, REPORT } from '../../support/ask.js';
import { launchGateway, logLines, startGateway, startPlatform } from '../../support/processes.js';
import { openEmbedded } from '../../support/shared-registry.js';
import { ADMIN_TOKEN, gatewayAt, reportIn, type TestGateway } from '../../support/start-gateway.js';
import { createTestClock, DAY, HOUR } from '../../support/test-clock.js';

const LIMIT_MS = 100 * 366 * DAY;
const YESTERDAY = 'advertiserId=1&byDate=1&_period=yesterday';

const put = async (gateway: TestGateway, body: unknown, token = ADMIN_TOKEN) => {
  const { statusCode, payload } = await gateway.admin.inject({
    method: 'PUT',
    url: '/admin/v1/clock',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: statusCode, json: JSON.parse(payload) as Record<string, unknown> };
};

/** Two replicas on one store, with a clock each, and a platform whose own clock stands. */
async function replicas(testClock = true) {
  const simulator = await startSimulator({
    clock: createTestClock(),
    switches: { rateLimitPerMinute: 0 },
  });
  onTestFinished(() => simulator.close());
  const sharedStore = await openEmbedded();
  const open = () => gatewayAt(simulator, { sharedStore, config: { testClock } });
  const [here, there] = [await open(), await open()];
  return { here, there, simulator };
}

describe('PUT /admin/v1/clock', () => {
  it('moves now on all replicas: the day a question is about, and what is still fresh', async () => {
    const { here, there, simulator } = await replicas();
    const key = await here.addTeam();
    const first = reportIn(await here.report(key, YESTERDAY));
    expect(first.meta.period).toEqual({ from: '2026-11-20', to: '2026-11-20' });
    const moved = await put(here, { offsetMs: -2 * DAY });
    expect(moved).toEqual({
      status: 200,
      json: { offsetMs: -2 * DAY, now: '2026-11-19T12:00:00.000Z' },
    });
    expect(reportIn(await here.report(key, YESTERDAY)).meta.period?.from).toBe('2026-11-18');
    await expect.poll(() => there.clock.offsetMs).toBe(-2 * DAY);
    expect(reportIn(await there.report(key, YESTERDAY)).meta.period?.from).toBe('2026-11-18');
    expect(simulator.callCount).toBe(2);
    // What was fetched at noon of the 21st is over its hour.
    await put(there, { offsetMs: 3 * HOUR });
    await expect.poll(() => here.clock.offsetMs).toBe(3 * HOUR);
    const later = reportIn(await here.report(key, YESTERDAY));
    expect(later.meta).toMatchObject({ period: first.meta.period, asOf: '2026-11-21T15:00:00.000Z' });
    expect(simulator.callCount).toBe(3);
  });

  it('is audited, with who did it and where to', async () => {
    const { here } = await replicas();
    await put(here, { offsetMs: DAY });
    const { entries } = (await here.manage('GET', '/audit?limit=1')) as { entries: object[] };
    expect(entries[0]).toMatchObject({ action: 'clock.move', after: { offsetMs: DAY } });
  });

  it.each([
    ['{}', 'offsetMs'],
    ['{"offsetMs":"1"}', 'offsetMs'],
    ['{"offsetMs":1.5}', 'offsetMs'],
    ['{"offsetMs":null}', 'offsetMs'],
    [`{"offsetMs":${LIMIT_MS + 1}}`, 'offsetMs'],
    [`{"offsetMs":${-LIMIT_MS - 1}}`, 'offsetMs'],
    ['{"offsetMs":1,"now":2}', 'now'],
    ['nonsense', ''],
  ])('refuses %s and moves nothing', async (body, param) => {
    const { here } = await replicas();
    const { status, json } = await put(here, body);
    expect([status, json.code]).toEqual([422, 'invalid_body']);
    if (param !== '') expect(JSON.stringify(json.errors)).toContain(param);
    expect(here.clock.offsetMs).toBe(0);
  });

  it('asks for the admin token', async () => {
    const { here } = await replicas();
    expect((await put(here, { offsetMs: 1 }, 'wrong')).status).toBe(401);
    expect(here.clock.offsetMs).toBe(0);
  });

  it('is not there without GATEWAY_TEST_CLOCK, and a moved clock in the store is not followed', async () => {
    const { here } = await replicas(false);
    expect((await put(here, { offsetMs: DAY })).status).toBe(404);
    await here.services.registry.commit({ writes: new Map([['clock', '{"offsetMs":86400000}']]) });
    expect(here.clock.offsetMs).toBe(0);
  });
});

describe('a process', () => {
  it('with GATEWAY_TEST_CLOCK replays another day', async () => {
    const platform = await startPlatform();
    const gateway = await startGateway({ ...platform.env, GATEWAY_TEST_CLOCK: '1' });
    const { key } = await newTeam(gateway, { id: 'clock' });
    const { now } = await admin<{ now: string }>(gateway, 'PUT', '/clock', { offsetMs: -10 * DAY });
    const expected = new Date(Date.parse(now) - DAY).toISOString().slice(0, 10);
    const answer = await ask(`${gateway.data}${REPORT}?${YESTERDAY}`, { key });
    expect(answer.json<{ meta: { period: object } }>().meta.period).toEqual({ from: expected, to: expected });
  });

  it('in production does not start with it', async () => {
    const gateway = await launchGateway({
      NODE_ENV: 'production',
      GATEWAY_TEST_CLOCK: '1',
      PLATFORM_BASE_URL: 'http://127.0.0.1:1',
      PLATFORM_TOKEN: 'token',
    });
    expect((await gateway.exited).code).toBe(78);
    expect(gateway.stderr).toContain('GATEWAY_TEST_CLOCK: was 1; allowed is 0 when NODE_ENV is production');
    expect(logLines(gateway).filter(({ msg }) => msg === 'listening')).toEqual([]);
  });
});
