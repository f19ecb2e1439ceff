import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type CacheStore, type Store, StoreUnavailable } from '../../src/store/port.js';
import { outcomeOf, reportIn, withGateway } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

/** A store whose cache can be broken and mended; the registry goes on. */
function breakable() {
  const state: { fault: (() => Promise<never>) | null } = { fault: null };
  const through =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      state.fault === null ? call(...args) : state.fault();
  const wrapStore = ({ cache, ...store }: Store): Store => {
    const broken: CacheStore = {
      read: through((places) => cache.read(places)),
      write: through((entries) => cache.write(entries)),
      remove: through((places) => cache.remove(places)),
    };
    return { ...store, cache: broken };
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
    const gateway = await withGateway({ wrapStore });
    const key = await gateway.addTeam();
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
            (await cache.read(places)).map((entry) => entry && { ...entry, body: flip(entry.body) }),
        },
      }),
    });
    const key = await gateway.addTeam();
    await gateway.report(key, FINAL);
    await gateway.services.settled();
    expect(cacheOf(await gateway.report(key, `${FINAL}&_format=csv`))).toBe('fwd=miss; stored');
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toMatch(/dsp_gateway_store_faults_total\{kind="damaged"\} [1-9]/);
    expect(gateway.log.some(({ msg }) => msg === 'a damaged cache entry was ignored')).toBe(true);
  });
});

function flip(value: Buffer): Buffer {
  const damaged = Buffer.from(value);
  damaged[value.length - 1] = (damaged[value.length - 1] as number) ^ 1;
  return damaged;
}

describe('a store that loses everything', () => {
  it('costs a platform call, and nothing else', async () => {
    const gateway = await withGateway({
      wrapStore: ({ cache, ...store }) => ({
        ...store,
        cache: { ...cache, read: async (places) => places.map(() => null) },
      }),
    });
    const key = await gateway.addTeam();
    const first = reportIn(await gateway.report(key, RESTATING));
    await gateway.services.settled();
    gateway.clock.advance(DAY);
    const second = await gateway.report(key, RESTATING);
    expect(cacheOf(second)).toBe('fwd=miss; stored');
    expect(reportIn(second).meta.rowCount).toBe(first.meta.rowCount);
  });
});

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
    const gateway = await withGateway({ wrapStore });
    const key = await gateway.addTeam();
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
