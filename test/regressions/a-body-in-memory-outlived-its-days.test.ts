/** A finished body in memory was served for up to 30 days after its days had been fetched anew with other numbers. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Replicas, withReplicas } from '../engine/replicas.js';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { stateOf } from '../support/prove.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { spentIn, startSpending } from '../support/spending.js';
import { type Call, gatewayAt, type Reply, reportIn } from '../support/start-gateway.js';
import { DAY, MINUTE, SECOND } from '../support/test-clock.js';

const CONFIG = { ...ALWAYS, cache: { compressMinBytes: 0 } };
const NARROW = byDay('2026-11-07', '2026-11-08');
const WIDE = byDay('2026-11-05', '2026-11-10');
const UNSPLIT = 'advertiserId=1&dateFrom=2026-11-07&dateTo=2026-11-08';
const FORCED: Call = { headers: { 'cache-control': 'no-cache' } };

function textOf({ headers, body }: Reply): string {
  if (headers['content-encoding'] === 'gzip') return gunzipSync(body).toString();
  return (headers['content-encoding'] === 'br' ? brotliDecompressSync(body) : body).toString();
}

const FORMS: [what: string, query: string, headers: NonNullable<Call['headers']>][] = [
  ['JSON', NARROW, {}],
  ['CSV', `${NARROW}&_format=csv`, {}],
  ['NDJSON', `${NARROW}&_format=ndjson`, {}],
  ['gzip', NARROW, { 'accept-encoding': 'gzip' }],
  ['brotli', NARROW, { 'accept-encoding': 'br' }],
  ['_days', `${NARROW}&_days=1`, {}],
  ['_fields', `${NARROW}&_fields=spent`, {}],
  ['_final', `${NARROW}&_final=only`, {}],
  ['a part of the range', byDay('2026-11-08', '2026-11-08'), {}],
];

describe('after a wider range brought its days anew', () => {
  it.each(FORMS)('%s is given as it is now', async (_what, query, headers) => {
    const { platform, said } = await startSpending();
    const gateway = await gatewayAt(platform, { config: CONFIG });
    const key = await gateway.addTeam();
    const ask = (asked: string) => gateway.report(key, asked, { headers });
    expect(new Set(spentIn({ text: textOf(await ask(query)) }))).toEqual(new Set([10]));
    said.spent = 20;
    gateway.clock.advance(MINUTE);
    await ask(WIDE);
    gateway.clock.advance(10 * DAY);
    const reply = await ask(query);
    expect(new Set(spentIn({ text: textOf(reply) }))).toEqual(new Set([20]));
    expect(reply.headers['cache-status']).toMatch(/hit/);
    expect(platform.requests).toHaveLength(2);
    // And stays in memory, until the next fetch.
    expect((await ask(query)).headers['cache-status']).toMatch(/detail=l1/);
  });

  it('its revision can be pinned, and is the latest of the history', async () => {
    const { platform, said } = await startSpending();
    const gateway = await gatewayAt(platform, { config: CONFIG });
    const key = await gateway.addTeam({ scopes: ['report:read', 'report:pin'] });
    await gateway.report(key, NARROW);
    said.spent = 20;
    gateway.clock.advance(MINUTE);
    await gateway.report(key, WIDE);
    await gateway.services.settled();
    const { data, meta } = reportIn(await gateway.report(key, NARROW));
    expect(reportIn(await gateway.report(key, `${NARROW}&_vintage=latest`)).data).toEqual(data);
    const json = { endpoint: 'campaigns/get', query: NARROW, revision: meta.revision };
    expect((await gateway.call('/gateway/v1/pins', { method: 'POST', key, json })).status).toBe(201);
  });
});

it('after no-cache every format of an unsplit report is given as it is now', async () => {
  const { platform, said } = await startSpending();
  const gateway = await gatewayAt(platform, { config: CONFIG });
  const key = await gateway.addTeam();
  const csv = `${UNSPLIT}&_format=csv`;
  expect((await gateway.report(key, csv)).text).toContain('20');
  said.spent = 20;
  gateway.clock.advance(MINUTE);
  expect(spentIn(await gateway.report(key, UNSPLIT, FORCED))).toEqual([40]);
  expect((await gateway.report(key, csv)).text).toContain('40');
  expect(platform.requests).toHaveLength(2);
});

describe('of two replicas on one Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  async function twoReplicas() {
    const { platform, said } = await startSpending();
    const replicas = await withReplicas({ platform, config: CONFIG, redis, count: 2 });
    return { platform, said, replicas, ask: asksOf(replicas) };
  }
  const asksOf =
    ({ all, key }: Replicas) =>
    (replica: number, query: string) =>
      all[replica]?.report(key, query) as Promise<Reply>;

  it('both give the newest days', async () => {
    const { platform, said, replicas, ask } = await twoReplicas();
    for (const replica of [0, 1]) expect(spentIn(await ask(replica, NARROW))).toEqual([10, 10]);
    await replicas.settled();
    said.spent = 20;
    replicas.clock.advance(MINUTE);
    await ask(0, WIDE);
    await replicas.settled();
    await expect.poll(async () => spentIn(await ask(1, NARROW))).toEqual([20, 20]);
    expect(spentIn(await ask(0, NARROW))).toEqual([20, 20]);
    expect(platform.requests).toHaveLength(2);
  });

  it('a body of other days stays in memory', async () => {
    const { replicas, ask } = await twoReplicas();
    const other = byDay('2026-10-01', '2026-10-03');
    for (const query of [other, NARROW, other]) await ask(1, query);
    await replicas.settled();
    replicas.clock.advance(SECOND);
    await ask(0, WIDE);
    await replicas.settled();
    await expect.poll(async () => (await ask(1, NARROW)).headers['cache-status']).not.toMatch(/detail=l1/);
    expect((await ask(1, other)).headers['cache-status']).toMatch(/detail=l1/);
  });
});

it('what was finished before its kind was proven is made anew from its days', async () => {
  const { platform } = await startSpending();
  const gateway = await gatewayAt(platform, { config: { cache: { compressMinBytes: 0 } } });
  const key = await gateway.addTeam({ scopes: ['report:read', 'report:pin'] });
  const asked = byDay('2026-11-01', '2026-11-08');
  const first = reportIn(await gateway.report(key, asked));
  expect(first.meta).not.toHaveProperty('revision');
  for (let step = 0; (await stateOf(gateway)).because !== 'proven to be divisible'; step++) {
    expect(step).toBeLessThan(24);
    const from = `2026-10-${String(25 - step).padStart(2, '0')}`;
    await gateway.report(key, byDay(from, `2026-11-${String(10 - (step % 10)).padStart(2, '0')}`));
    await gateway.services.settled();
  }
  const calls = platform.requests.length;
  const { data, meta } = reportIn(await gateway.report(key, asked));
  expect(meta).toMatchObject({ revision: expect.any(String), knownAt: expect.any(String) });
  expect(data).toEqual(first.data);
  await gateway.services.settled();
  expect(platform.requests.length - calls).toBeLessThanOrEqual(1);
});
