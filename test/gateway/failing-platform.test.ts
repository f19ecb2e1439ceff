/** The share of failed platform calls, in every place where an operator looks. */
import { describe, expect, it } from 'vitest';
import type { Conditions } from '../../src/telemetry/health.js';
import type { Verdict } from '../../src/telemetry/verdict.js';
import { gatewayAt, type SimulatedGateway, type TestGateway, withTeam } from '../support/start-gateway.js';
import { MINUTE, SECOND } from '../support/test-clock.js';

let advertiser = 0;

/** Requests reports that are not cached. @param how a fault of the platform for each; null: it answers */
async function ask(gateway: SimulatedGateway, key: string, times: number, how: object | null) {
  if (how !== null) gateway.simulator.fault({ kind: 'status', ...how, times });
  for (let asked = 0; asked < times; asked += 1) {
    advertiser += 1;
    await gateway.report(key, `advertiserId=${advertiser}&_period=yesterday&byDate=1`);
  }
}

async function readyz(gateway: TestGateway) {
  const reply = await gateway.call('/readyz');
  return { status: reply.status, ...reply.json<Conditions & { readonly worst: Conditions }>() };
}

async function verdict(gateway: TestGateway): Promise<Verdict> {
  return (await gateway.manage('GET', '/status')).verdict as Verdict;
}

const FAILS = { status: 500 };
const CALM = { config: { platform: { circuit: { failures: 1000 } } } };

it('the platform answers 500 to nine of ten calls: not well in status, doctor, /readyz and gauges', async () => {
  const { gateway, key } = await withTeam(CALM);
  for (let round = 0; round < 3; round += 1) {
    await ask(gateway, key, 1, null);
    await ask(gateway, key, 9, FAILS);
  }
  const says = 'most calls fail: 27 of 30 within the last 5 minutes';
  expect(await readyz(gateway)).toMatchObject({ status: 200, platform: says, worst: { platform: says } });
  expect(await verdict(gateway)).toMatchObject({
    level: 'not well',
    findings: [{ level: 'not well', part: 'platform', says: expect.stringContaining('27 of 30') }],
  });
  const { checks } = (await gateway.manage('POST', '/doctor')) as { checks: readonly object[] };
  expect(checks).toContainEqual(
    expect.objectContaining({ level: 'not well', says: expect.stringContaining('27 of 30') }),
  );
  expect((await gateway.manage('GET', '/status')).platform).toMatchObject({
    recentCalls: 30,
    recentFailedCalls: 27,
  });
  const gauges = await gateway.services.metrics.registry.metrics();
  expect(gauges).toMatch(/^dsp_gateway_platform_recent_calls 30$/m);
  expect(gauges).toMatch(/^dsp_gateway_platform_recent_failed_calls 27$/m);
});

describe('the share of failed calls', () => {
  it('counts answers that cannot be read and broken connections as failed, refusals of a query not', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 6, null);
    await ask(gateway, key, 3, { kind: 'status', status: 422 });
    await ask(gateway, key, 1, { kind: 'status', status: 404 });
    expect(await verdict(gateway)).toMatchObject({ level: 'well' });
    await ask(gateway, key, 1, { kind: 'garbage' });
    await ask(gateway, key, 1, { kind: 'html' });
    expect(await verdict(gateway)).toMatchObject({ level: 'well' });
    await ask(gateway, key, 1, { kind: 'redirect' });
    expect(await readyz(gateway)).toMatchObject({
      platform: 'some calls fail: 3 of 13 within the last 5 minutes',
    });
  });

  it('has no pause and no refused token in it, which have a condition of their own', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 10, null);
    await ask(gateway, key, 1, { status: 429, retryAfterS: 1 });
    gateway.clock.pass(2 * SECOND);
    gateway.simulator.revoke();
    await ask(gateway, key, 1, null);
    const { platform } = await gateway.manage('GET', '/status');
    expect(platform).toMatchObject({ recentCalls: 12, recentFailedCalls: 0 });
  });

  it('is well again five minutes after the last failure, also if the clock is set back', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 10, null);
    await ask(gateway, key, 5, FAILS);
    gateway.clock.pass(4 * MINUTE);
    expect((await readyz(gateway)).platform).toMatch(/^some calls fail/);
    gateway.clock.pass(MINUTE + 10 * SECOND);
    expect((await readyz(gateway)).platform).toBe('ok');
    await ask(gateway, key, 10, FAILS);
    gateway.clock.advance(-60 * MINUTE);
    expect((await readyz(gateway)).platform).toBe('ok');
  });
});

describe('several replicas', () => {
  it('have calls counted together: too few for each, enough for all', async () => {
    const { gateway, key } = await withTeam(CALM);
    const { simulator, store: sharedStore, clock } = gateway;
    const other = await gatewayAt(simulator, { ...CALM, sharedStore, clock });
    await Promise.all([gateway, other].map(({ services }) => services.limits.replicas.join()));
    await ask(gateway, key, 9, FAILS);
    expect(await readyz(gateway)).toMatchObject({ platform: 'ok', worst: { platform: 'ok' } });
    await ask(Object.assign(other, { simulator }), key, 11, FAILS);
    const worst = { platform: 'most calls fail: 20 of 20 within the last 5 minutes' };
    await expect.poll(async () => (await readyz(gateway)).worst).toMatchObject(worst);
    expect(await readyz(gateway)).toMatchObject({ status: 200, ready: true, platform: 'ok' });
    expect(await verdict(gateway)).toMatchObject({ level: 'not well' });
  });
});
