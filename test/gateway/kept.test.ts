import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type CacheStore, type Store, StoreUnavailable } from '../../src/store/port.js';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { sends, startHeldPlatform, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn, withGateway, withTeam } from '../support/start-gateway.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

const BY_DAY = byDay('2026-11-01', '2026-11-03');
const WHOLE = BY_DAY.replace('&byDate=1', '');
const ROWS_A_DAY = 40;

async function open(config: object = {}) {
  const fields: string[] = [];
  const platform = await startRawPlatform(rowsPerDay(() => ROWS_A_DAY));
  const gateway = await gatewayAt(platform, {
    config: { ...config },
    wrapStore: (store: Store) => ({
      ...store,
      cache: {
        ...store.cache,
        async write(entries) {
          fields.push(...entries.map(({ id }) => (id.includes(':b:') ? 'bytes' : 'rows')));
          await store.cache.write(entries);
        },
      },
      days: {
        ...store.days,
        write(months) {
          const days = months.flatMap(({ named }) => [...named.keys()]);
          fields.push(...days.map((day) => `day ${day}`));
          return store.days.write(months);
        },
      },
    }),
  });
  return { gateway, platform, fields, key: await gateway.addTeam() };
}

describe('of an answer', () => {
  const days = ['day 1', 'day 2', 'day 3'];
  it.each<[string, string, object, readonly string[]]>([
    ['of a kind that is split, its days', BY_DAY, ALWAYS, days],
    ['of a kind that is not proven, its days and its rows', `${BY_DAY}&x=1`, {}, [...days, 'rows']],
    [
      'whose bytes are asked for, of a kind that is split, those and its days',
      `${BY_DAY}&_format=raw`,
      ALWAYS,
      ['bytes', ...days],
    ],
    [
      'whose bytes are asked for, of a kind that is not proven, those, its days and its rows',
      `${BY_DAY}&x=1&_format=raw`,
      {},
      ['bytes', ...days, 'rows'],
    ],
    ['that is not split, its rows and its bytes', WHOLE, {}, ['bytes', 'rows']],
  ])('%s are kept', async (_what, query, config, kept) => {
    const { gateway, fields, key } = await open(config);
    expect((await gateway.report(key, query)).status).toBe(200);
    await expect.poll(() => fields.toSorted()).toEqual(kept);
  });
});

it('a report that is split is cached as a whole while the store has no room for days, and by day again after', async () => {
  const platform = await startRawPlatform(rowsPerDay(() => ROWS_A_DAY));
  const whole: string[] = [];
  let isFull = false;
  const gateway = await gatewayAt(platform, {
    config: ALWAYS,
    wrapStore: (store: Store) => ({
      ...store,
      cache: {
        ...store.cache,
        async write(entries) {
          whole.push(...entries.map(({ id }) => id));
          await store.cache.write(entries);
        },
      },
      days: {
        ...store.days,
        async write(months) {
          // What changes only the index needs no room.
          if (isFull && months.some(({ parts }) => parts.size > 0))
            throw new StoreUnavailable('no room for days of reports', 'no-room');
          return await store.days.write(months);
        },
      },
    }),
  });
  const key = await gateway.addTeam();
  const ask = async (query: string, headers = {}) => {
    const cache = cacheOf(await gateway.report(key, query, { headers }));
    await gateway.services.settled();
    return cache;
  };
  const known = byDay('2026-07-01', '2026-07-03');
  expect(await ask(known)).toMatch(/^fwd=miss; stored/);
  isFull = true;
  // The first one finds out.
  expect(await ask(byDay('2026-10-01', '2026-10-03'))).toMatch(/^fwd=miss/);
  expect(whole).toEqual([]);
  expect(await ask(known, { 'cache-control': 'no-cache' })).toMatch(/^fwd=/);
  expect(whole).toHaveLength(1);
  expect(await ask(BY_DAY)).toMatch(/^fwd=miss; stored/);
  expect(whole).toHaveLength(2);
  expect(await ask(`${BY_DAY}&_format=csv`)).toMatch(/^hit/);
  isFull = false;
  expect(await ask(byDay('2026-09-01', '2026-09-03'))).toMatch(/^fwd=miss; stored/);
  expect(await ask(byDay('2026-08-01', '2026-08-03'))).toMatch(/^fwd=miss; stored/);
  expect(whole).toHaveLength(3);
  expect(await ask(byDay('2026-09-02', '2026-09-03'))).toMatch(/^hit/);
});

/** A gateway whose cache writes are held until they are let go of, one way or the other. */
async function withHeldWrites() {
  const held: { take: () => void; refuse: () => void }[] = [];
  const { gateway, key } = await withTeam({
    wrapStore: (store) => ({ ...store, cache: { ...store.cache, write: hold(store.cache) } }),
  });
  return { gateway, key, held };

  function hold(cache: CacheStore): CacheStore['write'] {
    return (entries) =>
      new Promise((resolve, reject) => {
        held.push({
          take: () => void cache.write(entries).then(resolve, reject),
          refuse: () => reject(new StoreUnavailable('away')),
        });
      });
  }
}

describe('a write to the store', () => {
  it('is waited for after one that failed, until one succeeds', async () => {
    const { gateway, key, held } = await withHeldWrites();
    await gateway.report(key, FINAL);
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.refuse();
    await gateway.services.settled();
    // What was not written is not there.
    const again = gateway.report(key, `${FINAL}&_format=csv`);
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.take();
    expect(cacheOf(await again)).toBe('fwd=miss; stored');
    const other = await gateway.report(key, RESTATING);
    expect(cacheOf(other)).toBe('fwd=miss; stored');
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.take();
    await gateway.services.settled();
    expect(reportIn(other).data.length).toBeGreaterThan(0);
  });
});

/** A store whose cache and days can be broken and mended; the registry goes on. */
function breakable() {
  const state: { fault: (() => Promise<never>) | null } = { fault: null };
  const through =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      state.fault === null ? call(...args) : state.fault();
  const wrapStore = ({ cache, days, ...store }: Store): Store => {
    const broken: CacheStore = {
      read: through((places) => cache.read(places)),
      write: through((entries) => cache.write(entries)),
    };
    const { read, parts, earlier, write } = days;
    return {
      ...store,
      cache: broken,
      days: {
        ...days,
        read: through(read),
        parts: through(parts),
        earlier: through(earlier),
        write: through(write),
      },
    };
  };
  return { state, wrapStore };
}

const FAULTS: readonly [string, () => Promise<never>][] = [
  ['is away', () => Promise.reject(new StoreUnavailable('away'))],
  [
    'throws at once',
    () => {
      throw new TypeError('a defect of the adapter');
    },
  ],
  // As long as the adapters let a command take, and a little more.
  [
    'hangs until its time is up',
    () => pause(200).then(() => Promise.reject(new StoreUnavailable('timeout'))),
  ],
];

describe.each(FAULTS)('a store that %s', (_how, fault) => {
  it('fails no request: answers come from the platform, say so, and from memory', async () => {
    const { state, wrapStore } = breakable();
    const { gateway, key } = await withTeam({ wrapStore });
    state.fault = fault;
    const first = await gateway.report(key, FINAL);
    expect([first.status, cacheOf(first)]).toEqual([200, 'fwd=miss; detail=degraded']);
    await gateway.services.settled();
    expect(cacheOf(await gateway.report(key, FINAL))).toBe('hit; ttl=2592000; detail=l1');
    const csv = await gateway.report(key, `${FINAL}&_format=csv`);
    expect([csv.status, cacheOf(csv)]).toEqual([200, 'fwd=miss; detail=degraded']);
    await gateway.services.settled();
    state.fault = null;
    // Nothing was kept in the store, and now it is again.
    expect(cacheOf(await gateway.report(key, `${FINAL}&_format=ndjson`))).toBe('fwd=miss; stored');
    expect(cacheOf(await gateway.report(key, `${FINAL}&_format=raw`))).toBe('hit; ttl=2592000; detail=store');
  });

  it('fails no request for a report that is kept by day, and its days are stored when it is mended', async () => {
    const { state, wrapStore } = breakable();
    const platform = await startRawPlatform(rowsPerDay(() => 1));
    const gateway = await gatewayAt(platform, { config: ALWAYS, wrapStore });
    const key = await gateway.addTeam();
    const ask = async (form: string) => {
      const reply = await gateway.report(key, `${BY_DAY}${form}`);
      await gateway.services.settled();
      return [reply.status, cacheOf(reply)];
    };
    state.fault = fault;
    expect(await ask('')).toEqual([200, 'fwd=miss; detail=degraded']);
    expect(await ask('')).toEqual([200, expect.stringContaining('detail=l1')]);
    expect(await ask('&_format=csv')).toEqual([200, 'fwd=miss; detail=degraded']);
    state.fault = null;
    expect(await ask('&_format=ndjson')).toEqual([200, 'fwd=miss; stored; detail="days=3/3"']);
    expect(await ask('&_fields=date')).toEqual([200, expect.stringContaining('detail=store')]);
    expect(platform.requests).toHaveLength(3);
  });

  it('changes nothing of what is refused or of what the platform says', async () => {
    const { state, wrapStore } = breakable();
    const gateway = await withGateway({ wrapStore });
    const [key, limited] = [await gateway.addTeam(), await gateway.addTeam({ advertisers: [2] })];
    state.fault = fault;
    expect(outcomeOf(await gateway.report(limited, FINAL))).toBe('403 advertiser_forbidden');
    gateway.simulator.fault({ kind: 'status', status: 404 });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('404 upstream_rejected');
    await gateway.services.settled();
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_error');
    expect(
      outcomeOf(await gateway.report(key, FINAL, { headers: { 'cache-control': 'only-if-cached' } })),
    ).toBe('504 not_cached');
  });
});

describe('entries that are no entries', () => {
  it('are misses, counted and logged, and replaced', async () => {
    const gateway = await withGateway({
      wrapStore: ({ cache, ...store }) => ({
        ...store,
        cache: {
          ...cache,
          read: async (places) =>
            (await cache.read(places)).map((entry) => entry && { ...entry, bytes: flip(entry.bytes) }),
        },
      }),
    });
    const key = await gateway.addTeam();
    await gateway.report(key, FINAL);
    await gateway.services.settled();
    expect(cacheOf(await gateway.report(key, `${FINAL}&_format=csv`))).toBe('fwd=miss; stored');
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toMatch(/dsp_gateway_store_faults_total\{kind="damaged"\} [1-9]/);
    expect(gateway.log.some(({ msg }) => msg === 'ignored a damaged cache entry')).toBe(true);
  });
});

function flip(value: Buffer): Buffer {
  const damaged = Buffer.from(value);
  damaged[value.length - 1] = (damaged[value.length - 1] as number) ^ 1;
  return damaged;
}

describe('a store that has no memory left', () => {
  it('is told as what it is, while answers go on', async () => {
    const memory = { usedBytes: 8, maxBytes: 8, cacheMaxBytes: 4, full: false };
    const noRoom = () => Promise.reject(new StoreUnavailable('Redis has no memory left', 'no-room'));
    const wrapStore = (store: Store): Store => ({
      ...store,
      cache: { ...store.cache, write: noRoom },
      registry: {
        ...store.registry,
        commit: (change) => (memory.full ? noRoom() : store.registry.commit(change)),
      },
      memory: () => memory,
    });
    const { gateway, key } = await withTeam({ wrapStore });
    memory.full = true;
    // Told before the store has answered; from then on answers wait for it.
    expect(cacheOf(await gateway.report(key, FINAL))).toBe('fwd=miss; stored');
    await gateway.services.settled();
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe('fwd=miss');
    expect((await gateway.call('/readyz')).json()).toMatchObject({ ready: true, store: 'out of memory' });
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toContain('dsp_gateway_store_out_of_memory 1');
    expect(metrics).toContain('dsp_gateway_store_faults_total{kind="full"} 2');
  });
});

const OTHER = FINAL.replace('advertiserId=1', 'advertiserId=2');
const NAMELESS = 'dateFrom=2026-11-01&dateTo=2026-11-15';

describe('a purge', () => {
  it.each<[string, object, boolean, boolean, boolean]>([
    ['all', { all: true }, true, true, true],
    ['advertiser 1', { advertiserId: 1 }, true, false, true],
    ['days inside', { from: '2026-11-15', to: '2026-11-15' }, true, true, true],
    ['days before', { to: '2026-10-31' }, false, false, false],
    [
      'advertiser 1 on its days',
      { advertiserId: 1, from: '2026-11-10', to: '2026-11-30' },
      true,
      false,
      true,
    ],
  ])('of %s', async (_what, scope, first, second, nameless) => {
    const { gateway, key } = await withTeam();
    const queries = [FINAL, OTHER, NAMELESS];
    for (const query of queries) {
      await gateway.report(key, query);
      await gateway.report(key, `${query}&_format=csv`);
    }
    expect(await gateway.manage('POST', '/cache/purge', scope)).toEqual({ purged: expect.any(String) });
    const isGone = async (query: string) => cacheOf(await gateway.report(key, query)).startsWith('fwd=');
    expect([await isGone(FINAL), await isGone(OTHER), await isGone(NAMELESS)]).toEqual([
      first,
      second,
      nameless,
    ]);
    // In memory and in the store alike: what was fetched anew serves every format.
    expect(await isGone(`${FINAL}&_format=csv`)).toBe(false);
    expect(await isGone(`${FINAL}&_format=raw`)).toBe(false);
  });

  it('holds for the store and for every replica', async () => {
    const { gateway, key } = await withTeam();
    const replica = await gatewayAt(gateway.simulator, { sharedStore: gateway.store, clock: gateway.clock });
    await gateway.report(key, FINAL);
    await replica.report(key, FINAL);
    await gateway.manage('POST', '/cache/purge', { all: true });
    await expect.poll(() => replica.services.purges.seq).toBe(gateway.services.purges.seq);
    expect(cacheOf(await replica.report(key, FINAL))).toMatch(/^fwd=/);
    await replica.services.settled();
    expect(cacheOf(await gateway.report(key, FINAL))).toBe('hit; ttl=2592000; detail=store');
  });

  it.each([
    ['names it in its second account field', 'advertiserId=1&userId=2', []],
    ['holds it inside of a row', 'advertiserId=1', [{ campaignId: 5, owner: { userId: 2 }, cost: 1 }]],
  ])('of an advertiser reaches a report of another that %s', async (_what, query, rows) => {
    const platform = await startRawPlatform(sends(JSON.stringify(rows)));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const asked = `${query}&dateFrom=2026-11-01&dateTo=2026-11-02`;
    const cache = async (more = '') => cacheOf(await gateway.report(key, asked + more));
    // In memory, and in the store alone.
    expect([await cache(), await cache(), await cache('&_format=csv')]).toEqual([
      'fwd=miss; stored',
      expect.stringMatching(/detail=l1$/),
      expect.stringMatching(/detail=store$/),
    ]);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 9 });
    expect(await cache()).toMatch(/detail=l1$/);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    expect(await cache('&_format=ndjson')).toMatch(/^fwd=/);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    expect(await cache()).toMatch(/^fwd=/);
  });

  it('of an advertiser reaches a remembered refusal that names it in another field', async () => {
    const platform = await startRawPlatform(sends('{"message":"no"}', {}, 404));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const ask = () => gateway.report(key, 'advertiserId=1&userId=2&dateFrom=2026-11-01&dateTo=2026-11-02');
    await ask();
    await ask();
    expect(platform.requests).toHaveLength(1);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    await ask();
    expect(platform.requests).toHaveLength(2);
  });

  it('reaches totals, too', async () => {
    const { gateway, key } = await withTeam();
    const query = `${FINAL}&_totals=1`;
    const reach = async () => reportIn(await gateway.report(key, query)).meta.totals?.reach;
    const before = await reach();
    gateway.simulator.restate({ advertiserId: 1 });
    expect(await reach()).toBe(before);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    expect(await reach()).not.toBe(before);
  });
});

describe('a purge while the platform is being asked', () => {
  const rows = (spent: number) => sends(`{"data":[{"campaign_id":7,"advertiser_id":1,"spent":${spent}}]}`);

  it('leaves nothing of the answer behind, and lets nobody join who comes after it', async () => {
    const platform = await startHeldPlatform(rows(1));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const before = gateway.report(key, FINAL);
    await platform.arrived(1);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    platform.answer(rows(2));
    const after = await gateway.report(key, FINAL);
    expect(reportIn(after).data).toEqual([{ campaignId: 7, advertiserId: 1, spent: 2 }]);
    platform.release();
    // What was asked for before the purge is worth nothing to anybody, not even to who was waiting for it.
    expect(reportIn(await before).data[0]?.spent).toBe(2);
    // Whichever of the two was written last: what was asked for before the purge is never given again.
    const later = await gateway.report(key, FINAL);
    expect(reportIn(later).data[0]?.spent).toBe(2);
    expect(reportIn(await gateway.report(key, `${FINAL}&_days=1`)).data[0]?.spent).toBe(2);
  });
});
