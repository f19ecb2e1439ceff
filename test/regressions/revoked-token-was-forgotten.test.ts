/** A revoked token was `refused` at 2 s and `ok` at 5 s, with no success in between; other processes never said it. */
import { expect, it, onTestFinished } from 'vitest';
import type { Conditions } from '../../src/telemetry/health.js';
import { outcomeOf, startGatewayAt, type TestGateway, withGateway } from '../support/start-gateway.js';

const WARM = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03';
const COLD = 'advertiserId=2&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03';

interface Ready extends Conditions {
  readonly ready: boolean;
  readonly worst?: Conditions;
}

async function readyz(gateway: TestGateway): Promise<Ready & { status: number }> {
  const reply = await gateway.call('/readyz');
  return { status: reply.status, ...reply.json<Ready>() };
}

/** Another replica on the same store. */
async function replicaOf(gateway: TestGateway & { readonly simulator: { url: string; token: string } }) {
  const { simulator, store, clock } = gateway;
  const replica = await startGatewayAt(simulator, { sharedStore: store, clock });
  onTestFinished(() => replica.close());
  return replica;
}

it('stays refused, whatever time passes, until the platform answers again', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  expect(await readyz(gateway)).toMatchObject({ credential: 'unproven', ready: true });
  expect(outcomeOf(await gateway.report(key, WARM))).toBe('200');
  expect(await readyz(gateway)).toMatchObject({ credential: 'ok' });

  const { token } = gateway.simulator;
  gateway.simulator.revoke();
  expect(outcomeOf(await gateway.report(key, COLD))).toBe('503 credential_unavailable');
  for (const passedMs of [0, 3000, 60_000, 600_000]) {
    gateway.clock.advanceMonotonic(passedMs);
    gateway.clock.advance(passedMs);
    expect(await readyz(gateway)).toMatchObject({ status: 200, ready: true, credential: 'refused' });
  }
  // What is cached is still served.
  expect(outcomeOf(await gateway.report(key, WARM))).toBe('200');
  expect(await readyz(gateway)).toMatchObject({ credential: 'refused' });
  expect(await gateway.manage('GET', '/status')).toMatchObject({ credential: { state: 'refused' } });

  expect(token).not.toBe('');
  await gateway.manage('POST', '/token/rotate', { token: gateway.simulator.issueToken(), force: true });
  expect(outcomeOf(await gateway.report(key, COLD))).toBe('200');
  expect(await readyz(gateway)).toMatchObject({ credential: 'ok', worst: { credential: 'ok' } });
});

it('is told by every replica, also by one that never asked the platform, and after a restart', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const other = await replicaOf(gateway);
  expect(outcomeOf(await gateway.report(key, WARM))).toBe('200');
  await expect.poll(async () => (await readyz(other)).credential).toBe('ok');

  gateway.simulator.revoke();
  expect(outcomeOf(await gateway.report(key, COLD))).toBe('503 credential_unavailable');
  await expect.poll(async () => (await readyz(other)).credential).toBe('refused');
  expect(await readyz(other)).toMatchObject({ status: 200, worst: { credential: 'refused' } });
  const started = await replicaOf(gateway);
  expect(await readyz(started)).toMatchObject({ credential: 'refused' });
});

it('is told as the worst of all replicas, and what they hold is added up', async () => {
  const gateway = await withGateway({ config: { platform: { circuit: { failures: 1, openSeconds: 60 } } } });
  const key = await gateway.addTeam();
  const other = await replicaOf(gateway);
  for (const advertiser of [1, 2])
    await gateway.report(key, `advertiserId=${advertiser}&dateFrom=2026-11-01&dateTo=2026-11-03`);
  gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
  expect(outcomeOf(await gateway.report(key, 'advertiserId=3&_period=yesterday'))).toBe('502 upstream_error');
  await expect.poll(async () => (await readyz(other)).worst?.platform).toMatch(/^failing/);
  // Of the process itself nothing is wrong: a balancer may go on sending it requests.
  expect(await readyz(other)).toMatchObject({ status: 200, ready: true, platform: 'ok' });
  expect(await readyz(gateway)).toMatchObject({
    status: 200,
    ready: true,
    platform: expect.stringMatching(/^failing/),
  });
  const status = await other.manage('GET', '/status');
  expect(status).toMatchObject({
    worst: { store: 'ok', platform: expect.stringMatching(/^failing; asked again in \d+ s$/) },
    platform: { state: 'ok' },
    cache: { l1Entries: 2 },
    processes: [
      { pid: process.pid, l1Entries: 0 },
      { l1Entries: 2, platform: expect.any(String) },
    ],
  });
});
