/** Gateways on a real Redis: keys that were taken back, limits, confirmations, and entries under the names of others. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../src/lib/clock.js';
import { rowsKey } from '../../src/reports/query/platform-call.js';
import { startSimulator } from '../../src/simulator/simulator.js';
import { createRedisStore } from '../../src/store/redis/redis-store.js';
import { withReplicas } from '../engine/replicas.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import {
  ADMIN_TOKEN,
  outcomeOf,
  REPORT,
  reportIn,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';

const ME = '/gateway/v1/me';
let redis: RedisServer;
let control: Redis;
beforeAll(async () => {
  redis = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  control = new Redis(redis.url);
});
afterAll(async () => {
  control.disconnect();
  await redis.close();
});

async function openReplicas(count: number, config: Readonly<Record<string, unknown>> = {}) {
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const replicas = await withReplicas({ platform: simulator, redis, count, config });
  const [one, two] = replicas.all as [TestGateway, TestGateway];
  return { replicas, one, two };
}

/** Asks the admin plane whatever it answers. */
async function ask(gateway: TestGateway, method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) {
  const { statusCode, payload: text } = await gateway.admin.inject({
    method,
    url: `/admin/v1${path}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: statusCode, body: text === '' ? null : JSON.parse(text) };
}
const issue = (gateway: TestGateway, id: string) => ask(gateway, 'POST', `/teams/${id}/keys`, {});
const tryKey = async (gateway: TestGateway, key: unknown) =>
  outcomeOf(await gateway.call(ME, { key: String(key) }));

describe.each<[string, (by: TestGateway, id: string, backup: object) => Promise<unknown>]>([
  ['is deleted', (by, id) => ask(by, 'DELETE', `/teams/${id}`)],
  ['leaves the file of teams', (by) => ask(by, 'POST', '/teams/apply', { teams: [], removed: 'delete' })],
  [
    'is not in a backup',
    (by, _id, backup) => ask(by, 'POST', '/registry/import', { ...backup, replace: true }),
  ],
])('a team that %s', (what, remove) => {
  it('takes every key with it, those included that are being issued or that are not known yet', async () => {
    const { replicas, one, two } = await openReplicas(2);
    const { body: backup } = await ask(one, 'GET', '/registry/export');
    for (let at = 0; at < 8; at++) {
      const id = `gone-${at}`;
      if (what === 'leaves the file of teams')
        await ask(one, 'POST', '/teams/apply', { teams: [{ id }], removed: 'keep' });
      else await ask(one, 'POST', '/teams', { id });
      await replicas.agreed();
      replicas.outage.deaf = true;
      const before = await issue(one, id);
      const [meanwhile] = await Promise.all([issue(one, id), remove(two, id, backup)]);
      replicas.outage.deaf = false;
      await replicas.agreed();
      await ask(one, 'POST', '/teams', { id });
      await replicas.agreed();
      for (const { status, body } of [before, meanwhile])
        if (status === 201)
          for (const gateway of [one, two]) expect(await tryKey(gateway, body.key)).not.toBe('200');
      const { status, body } = await issue(two, id);
      expect([status, await tryKey(two, body.key)]).toEqual([201, '200']);
    }
  });
});

it('a key is issued although its team is edited meanwhile', async () => {
  const { replicas, one, two } = await openReplicas(2);
  await one.manage('POST', '/teams', { id: 'edited' });
  await replicas.agreed();
  const issueAndEdit = async (_: unknown, at: number) => {
    // Two edits at once: one of them is refused.
    await two.manage('PATCH', '/teams/edited', { name: `name ${at}` }).catch(() => {});
    return (await issue(one, 'edited')).status;
  };
  const answers = await Promise.all(Array.from({ length: 5 }, issueAndEdit));
  expect(answers).toEqual([201, 201, 201, 201, 201]);
});

describe('a backup that is imported', () => {
  const restore = (gateway: TestGateway, backup: object) =>
    gateway.manage('POST', '/registry/import', { ...backup, replace: true });

  it.each([1, 2, 3])('gives back no secret that was rolled away since, after %i rolls', async (rolls) => {
    const gateway = await withGateway();
    await gateway.manage('POST', '/teams', { id: 'growth' });
    const first = await gateway.manage('POST', '/teams/growth/keys', {});
    const backup = await gateway.manage('GET', '/registry/export');
    let last = first;
    for (let roll = 0; roll < rolls; roll++)
      last = await gateway.manage('POST', `/keys/${first.id}/roll`, {});
    await restore(gateway, backup);
    expect(await tryKey(gateway, first.key)).toMatch(/^401 (expired|invalid)_api_key$/);
    expect(await tryKey(gateway, last.key)).toBe('200');
  });

  it('gives back no key that was revoked before another registry was taken over', async () => {
    await control.flushall();
    const { one } = await openReplicas(1);
    await one.manage('POST', '/teams', { id: 'growth' });
    const leaked = await one.manage('POST', '/teams/growth/keys', {});
    const backup = await one.manage('GET', '/registry/export');
    await one.manage('DELETE', `/keys/${leaked.id}`);
    const names = await control.keys('*{registry}:*');
    const [records, meta] = [':records', ':meta'].map(
      (end) => names.find((name) => name.endsWith(end)) ?? '',
    );
    const keys = (await control.hkeys(records ?? '')).filter((id) => id.startsWith('key/'));
    await control
      .multi()
      .hdel(records ?? '', ...keys)
      .hset(meta ?? '', 'epoch', 'another')
      .exec();
    await expect.poll(() => one.services.registry.epoch).toBe('another');
    await restore(one, backup);
    expect(await tryKey(one, leaked.key)).toBe('401 revoked_api_key');
  });
});

it.each([
  ['the embedded store', async () => withGateway()],
  ['Redis', async () => (await openReplicas(1)).one],
])('a lowered limit holds for every kind of request once it is known, on %s', async (_store, open) => {
  const gateway = await open();
  const scopes = ['report:read', 'platform:write', 'mcp'];
  const key = await gateway.addTeam({ id: 'rate', scopes, limits: { requestsPerMinute: 20_000 } });
  const hit = `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-02`;
  let misses = 0;
  const CALLS = {
    hits: () => gateway.call(hit, { key }),
    misses: () => gateway.call(`${hit}&campaignIds[]=${++misses}`, { key }),
    writes: () => gateway.call('/api/v1/campaign/create', { method: 'POST', key, json: { userId: 1 } }),
    MCP: () =>
      gateway.call('/mcp', {
        method: 'POST',
        key,
        json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        headers: { accept: 'application/json, text/event-stream' },
      }),
  };
  for (const kind of ['hits', 'hits', 'misses', 'writes', 'MCP'] as const)
    expect([401, 403, 404, 429]).not.toContain((await CALLS[kind]()).status);
  await gateway.manage('PATCH', '/teams/rate', { limits: { requestsPerMinute: 1 } });
  const policy = async () => (await gateway.call(ME, { key })).headers['ratelimit-policy'];
  await expect.poll(policy).toContain('q=1;');
  let letIn = 0;
  for (let times = 0; times < 10; times++)
    for (const call of Object.values(CALLS)) if ((await call()).status !== 429) letIn += 1;
  expect(letIn).toBeLessThanOrEqual(1);
});

it.each([
  ['another account', '1', '2', '2026-11-02'],
  ['another period', '1', '1', '2026-11-01'],
])('an entry of %s is fetched anew, not given', async (_whose, advertiser, other, from) => {
  // The second has nothing in its own memory.
  const { replicas, one: writer, two: reader } = await openReplicas(2);
  const entryOf = async (id: string, dateFrom: string) => {
    const query = `advertiserId=${id}&dateFrom=${dateFrom}&dateTo=2026-11-03`;
    const { data } = reportIn(await writer.report(replicas.key, query));
    await replicas.settled();
    const { series } = await writer.services.reporting.explain('campaigns/get', query);
    const [key = ''] = await control.keys(`*:cache:${rowsKey(series, dateFrom, '2026-11-03').id}`);
    return { query, data, key };
  };
  const [first, second] = [await entryOf(advertiser, '2026-11-02'), await entryOf(other, from)];
  const untouched = await reader.report(replicas.key, second.query);
  expect(untouched.headers['cache-status']).toContain('detail=store');
  await control.rename(second.key, first.key);
  const reply = await reader.report(replicas.key, first.query);
  expect(reportIn(reply).data).toEqual(first.data);
  expect(reply.headers['cache-status']).toContain('fwd=miss');
  expect(reader.log.map(({ msg }) => msg)).toContain('ignored a damaged cache entry');
});

describe('changes that replicas of Redis confirm', () => {
  let replica: RedisServer;
  beforeAll(async () => {
    replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(redis.port)] });
  });
  afterAll(() => replica.close());

  async function openConfirmed(minReplicas: number) {
    const sharedStore = await createRedisStore({
      connection: { url: redis.url },
      prefix: `min-${minReplicas}`,
      minReplicas,
      timeoutMs: 300,
      registryTimeoutMs: 20_000,
      clock: createClock(),
      logger: createRecordedLog().logger,
    });
    const gateway = await withGateway({ sharedStore });
    onTestFinished(() => sharedStore.close());
    const teamOf = (id: string) => ask(gateway, 'POST', '/teams', { id });
    let tries = 0;
    // The replica may have synchronised just now.
    if (minReplicas > 0)
      await expect.poll(async () => (await teamOf(`try-${++tries}`)).body).not.toHaveProperty('unconfirmed');
    await teamOf('cut');
    const [{ body: first }, { body: second }] = [await issue(gateway, 'cut'), await issue(gateway, 'cut')];
    return {
      gateway,
      first,
      second,
      teamOf,
      revoke: ({ id }: { id: string }) => ask(gateway, 'DELETE', `/keys/${id}`),
    };
  }

  it('a change that too few replicas have confirmed is a 2xx that says so, with a body where there is none else', async () => {
    const { gateway, first, second, teamOf, revoke } = await openConfirmed(1);
    expect(first).not.toHaveProperty('unconfirmed');
    expect(await revoke(first)).toEqual({ status: 204, body: null });
    replica.pause();
    onTestFinished(() => replica.resume());
    const unconfirmed = { replicas: 0, wanted: 1 };
    expect(await revoke(second)).toEqual({ status: 200, body: { unconfirmed } });
    expect(await teamOf('more')).toMatchObject({ status: 201, body: { id: 'more', unconfirmed } });
    // It is made all the same.
    expect(await tryKey(gateway, second.key)).toBe('401 revoked_api_key');
  });

  it('without the setting answers are as they were', async () => {
    const { first, revoke } = await openConfirmed(0);
    replica.pause();
    onTestFinished(() => replica.resume());
    expect(await revoke(first)).toEqual({ status: 204, body: null });
  });
});
