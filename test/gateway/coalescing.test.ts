import { describe, expect, it } from 'vitest';
import { createMemoryLeases } from '../../src/store/embedded/embedded-store.js';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';
import { createTestClock } from '../support/test-clock.js';
import { cacheOf, FINAL } from './reports.js';

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1,"spent":"1.50"}]}';

async function held(handler = sends(ROWS)) {
  const platform = await startHeldPlatform(handler);
  const gateway = await gatewayAt(platform, {
    config: { platform: { retry: { attempts: 0 } } },
    // Granted at once: hundreds of calls keep a slow machine for longer than a disk's grant is waited for.
    wrapStore: (store) => ({ ...store, leases: createMemoryLeases(createTestClock()) }),
  });
  return { platform, gateway };
}

describe('many calls at once', () => {
  it('ask the platform once', async () => {
    const { platform, gateway } = await held();
    const keys = [
      await gateway.addTeam(),
      await gateway.addTeam(),
      await gateway.addTeam({ advertisers: [1] }),
    ];
    const calls = Array.from({ length: 300 }, (_, at) => gateway.report(keys[at % 3] as string, FINAL));
    await platform.arrived(1);
    platform.release();
    const replies = await Promise.all(calls);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(cacheOf(replies[0] as (typeof replies)[0])).toBe('fwd=miss; stored');
    expect(new Set(replies.slice(1).map(cacheOf))).toEqual(new Set(['fwd=miss; collapsed; stored']));
    expect(platform.requests).toHaveLength(1);
  });

  it('in all formats ask the platform once', async () => {
    const { platform, gateway } = await held();
    const key = await gateway.addTeam();
    const formats = ['json', 'csv', 'ndjson', 'raw', 'json&_days=1'];
    const calls = formats.map((format) => gateway.report(key, `${FINAL}&_format=${format}`));
    await platform.arrived(1);
    platform.release();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(platform.requests).toHaveLength(1);
  });

  it('fail together when the one call fails, and nothing of it lasts', async () => {
    const { platform, gateway } = await held(sends('{}', {}, 500));
    const key = await gateway.addTeam();
    const calls = Array.from({ length: 20 }, () => gateway.report(key, FINAL));
    await platform.arrived(1);
    platform.release();
    expect(new Set((await Promise.all(calls)).map(outcomeOf))).toEqual(new Set(['502 upstream_error']));
    expect(platform.requests).toHaveLength(1);
    platform.answer(sends(ROWS));
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
  });

  it('are each refused or let in by themselves, also while they would only wait', async () => {
    const { platform, gateway } = await held();
    const [key, foreign] = [await gateway.addTeam(), await gateway.addTeam({ advertisers: [2] })];
    const first = gateway.report(key, FINAL);
    await platform.arrived(1);
    expect(outcomeOf(await gateway.report(foreign, FINAL))).toBe('403 advertiser_forbidden');
    platform.release();
    expect(outcomeOf(await first)).toBe('200');
  });

  it('are charged to the team that was first', async () => {
    const { platform, gateway } = await held();
    const [one, two] = [await gateway.addTeam({ id: 'one' }), await gateway.addTeam({ id: 'two' })];
    const calls = [gateway.report(one, FINAL), gateway.report(two, FINAL)];
    await platform.arrived(1);
    platform.release();
    await Promise.all(calls);
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toContain('dsp_gateway_platform_calls_total{outcome="answer",team="one"} 1');
    expect(metrics).not.toContain('dsp_gateway_platform_calls_total{outcome="answer",team="two"}');
    const lines = gateway.log.filter(({ plane }) => plane === 'data');
    expect(
      lines.map(({ team, outcome, platformCalls }) => [team, outcome, platformCalls]).toSorted(),
    ).toEqual([
      ['one', 'miss', 1],
      ['two', 'collapsed', 0],
    ]);
  });

  it('beyond what may wait are told to come again', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1, maxQueued: 1 } } });
    const key = await gateway.addTeam();
    const calls = [1, 2, 3].map((id) => gateway.report(key, `advertiserId=${id}`));
    await platform.arrived(1);
    const refused = await Promise.race(calls);
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['503 overloaded', '1']);
    platform.release();
    expect((await Promise.all(calls)).map(outcomeOf).toSorted()).toEqual(['200', '200', '503 overloaded']);
  });
});
