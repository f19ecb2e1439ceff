/** What is known of the token, and of how the platform is, told by `/readyz`, by status and in the audit, on every replica. */
import { describe, expect, it } from 'vitest';
import type { Conditions } from '../../src/telemetry/health.js';
import { byDay } from '../reports/fetch/by-day.js';
import { gatewayAt, outcomeOf, reportIn, type TestGateway, withGateway } from '../support/start-gateway.js';
import { DAY, MINUTE, SECOND } from '../support/test-clock.js';

const WARM = byDay('2026-11-01', '2026-11-03');
const COLD = WARM.replace('advertiserId=1', 'advertiserId=2');

interface Ready extends Conditions {
  readonly ready: boolean;
  readonly worst?: Conditions;
}

async function readyz(gateway: TestGateway): Promise<Ready & { status: number }> {
  const reply = await gateway.call('/readyz');
  return { status: reply.status, ...reply.json<Ready>() };
}

async function open(options: Parameters<typeof withGateway>[0] = {}) {
  const gateway = await withGateway(options);
  const key = await gateway.addTeam();
  const { simulator, store: sharedStore, clock } = gateway;
  return {
    gateway,
    key,
    simulator,
    clock,
    ask: async (query: string) => outcomeOf(await gateway.report(key, query)),
    startReplica: () => gatewayAt(simulator, { sharedStore, clock }),
  };
}

describe('a revoked token', () => {
  it('stays refused, whatever time passes, until the platform answers again', async () => {
    const { gateway, key, simulator, clock, ask } = await open();
    expect(await readyz(gateway)).toMatchObject({ credential: 'unproven', ready: true });
    expect(await ask(WARM)).toBe('200');
    expect(await readyz(gateway)).toMatchObject({ credential: 'ok' });
    simulator.revoke();
    expect(await ask(COLD)).toBe('503 credential_unavailable');
    const told = (await gateway.report(key, COLD)).json<{ detail: string; help: string }>();
    expect(told.detail).toMatch(/^The platform refuses the token since \d\d:\d\d UTC \(.*\)\.$/);
    expect(told.help).toContain('dsp-gateway token rotate');
    for (const passedMs of [0, 3 * SECOND, MINUTE, 10 * MINUTE]) {
      clock.advanceMonotonic(passedMs);
      clock.advance(passedMs);
      expect(await readyz(gateway)).toMatchObject({ status: 200, ready: true, credential: 'refused' });
    }
    // What is cached is still served.
    expect(await ask(WARM)).toBe('200');
    expect(await readyz(gateway)).toMatchObject({ credential: 'refused' });
    expect(await gateway.manage('GET', '/status')).toMatchObject({ credential: { state: 'refused' } });
    await gateway.manage('POST', '/token/rotate', { token: simulator.issueToken(), force: true });
    expect(await ask(COLD)).toBe('200');
    expect(await readyz(gateway)).toMatchObject({ credential: 'ok', worst: { credential: 'ok' } });
  });

  it('is told by every replica, also by one that never asked the platform, and after a restart', async () => {
    const { simulator, ask, startReplica } = await open();
    const other = await startReplica();
    expect(await ask(WARM)).toBe('200');
    await expect.poll(async () => (await readyz(other)).credential).toBe('ok');
    simulator.revoke();
    expect(await ask(COLD)).toBe('503 credential_unavailable');
    await expect.poll(async () => (await readyz(other)).credential).toBe('refused');
    expect(await readyz(other)).toMatchObject({ status: 200, worst: { credential: 'refused' } });
    expect(await readyz(await startReplica())).toMatchObject({ credential: 'refused' });
  });
});

it('is told as the worst of all replicas, and what they hold is added up', async () => {
  const config = { platform: { circuit: { failures: 1, openSeconds: 60 } } };
  const { gateway, simulator, ask, startReplica } = await open({ config });
  const other = await startReplica();
  for (const query of [WARM, COLD]) await ask(query);
  simulator.fault({ kind: 'status', status: 500, times: 0 });
  expect(await ask('advertiserId=3&_period=yesterday')).toBe('502 upstream_error');
  await expect.poll(async () => (await readyz(other)).worst?.platform).toMatch(/^failing/);
  // Of the process itself nothing is wrong: a balancer may go on sending it requests.
  expect(await readyz(other)).toMatchObject({ status: 200, ready: true, platform: 'ok' });
  const platform = expect.stringMatching(/^failing/);
  expect(await readyz(gateway)).toMatchObject({ status: 200, ready: true, platform });
  expect(await other.manage('GET', '/status')).toMatchObject({
    worst: {
      store: 'ok',
      platform: expect.stringMatching(/^failing: .* failed; no call is made for \d+ s more$/),
    },
    platform: { state: 'ok' },
    cache: { l1Entries: 2 },
    processes: [
      { pid: process.pid, l1Entries: 0 },
      { l1Entries: 2, platform: expect.any(String) },
    ],
  });
});

it('goes on being used, with a warning, and may be told its expiry later', async () => {
  const { gateway, key, simulator, clock } = await open({ switches: { tokenTtlSeconds: 5 * 31_536_000 } });
  const { token } = simulator;
  const active = async () => (await gateway.manage('GET', '/token')).active;
  expect(await active()).toMatchObject({ expiryKnown: false });
  clock.advance(366 * DAY);
  expect(reportIn(await gateway.report(key, WARM)).data.length).toBeGreaterThan(0);
  expect(await readyz(gateway)).toMatchObject({ ready: true, credential: 'expired' });
  // The same token once more, with what is now known of it.
  const expiresAt = '2029-05-01T00:00:00.000Z';
  await gateway.manage('POST', '/token/rotate', { token, expiresAt });
  expect(await active()).toMatchObject({ expiresAt, expiryKnown: true });
  expect(await readyz(gateway)).toMatchObject({ credential: 'ok' });
});

it('is in the audit, with its reason and without the token', async () => {
  const probe = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01';
  const { gateway } = await open({ config: { platform: { probe } } });
  await expect(gateway.manage('POST', '/token/rotate', { token: 'a-token-that-is-wrong' })).rejects.toThrow();
  const { entries } = (await gateway.manage('GET', '/audit')) as { entries: { action: string }[] };
  const reason = 'The platform refused the token; the active token stays in use.';
  expect(entries.slice(0, 3)).toMatchObject([
    { action: 'token.discard' },
    { action: 'token.verify', after: { verified: false, reason } },
    { action: 'token.stage' },
  ]);
  expect(JSON.stringify(entries)).not.toContain('a-token-that-is-wrong');
});
