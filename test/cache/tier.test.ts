import { describe, expect, it } from 'vitest';
import { encodeEntry } from '../../src/cache/entry.js';
import { createCacheTier } from '../../src/cache/tier.js';
import { type CacheStore, StoreUnavailable } from '../../src/store/port.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { openEmbedded } from '../support/shared-registry.js';

async function openTier(wrap: (store: CacheStore) => CacheStore = (store) => store) {
  const log = createRecordedLog();
  const faults: string[] = [];
  const { cache } = await openEmbedded();
  const tier = createCacheTier({
    store: wrap(cache),
    encode: async (entries) => entries.map(({ header, body }) => encodeEntry(header, body)),
    logger: log.logger,
    onFault: (fault) => void faults.push(fault),
  });
  return { tier, cache, log, faults };
}

const ENTRY = { header: { form: 'rows' }, body: Buffer.from('{"a":1}'), version: 1, ttlMs: 60_000 };

describe('createCacheTier', () => {
  it('keeps entries and gives them back in the order asked for', async () => {
    const { tier, faults } = await openTier();
    expect(
      await tier.write([
        { key: 'a', ...ENTRY },
        { key: 'b', ...ENTRY, body: Buffer.alloc(0) },
      ]),
    ).toBe(true);
    const { entries, degraded } = await tier.read(['b', 'x', 'a']);
    expect(entries.map((entry) => entry?.body.toString() ?? null)).toEqual(['', null, '{"a":1}']);
    expect(entries[2]?.header).toEqual({ form: 'rows' });
    expect([degraded, faults]).toEqual([false, []]);
  });

  it('writes a large answer in pieces, so that reads come in between, and leaves none of it out', async () => {
    const sizes: number[] = [];
    const written: string[] = [];
    const { tier } = await openTier((store) => ({
      ...store,
      async setMany(writes) {
        sizes.push(writes.reduce((sum, { value }) => sum + value.length, 0));
        written.push(...writes.map(({ key }) => key));
        await store.setMany(writes);
      },
    }));
    const body = Buffer.alloc(400_000, 'x');
    const keys = Array.from({ length: 8 }, (_, index) => `day${index}`);
    expect(await tier.write(keys.map((key) => ({ key, ...ENTRY, body })))).toBe(true);
    expect(sizes.length).toBe(4);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(1_048_576);
    expect(written).toEqual(keys);
    // One that is larger than a piece is a piece of its own.
    sizes.length = 0;
    await tier.write([
      { key: 'big', ...ENTRY, body: Buffer.alloc(3_000_000) },
      { key: 'small', ...ENTRY },
    ]);
    expect(sizes.length).toBe(2);
  });

  it('R8 takes what is damaged or foreign for absent, says so, and counts it', async () => {
    const { tier, cache, log, faults } = await openTier();
    await tier.write([{ key: 'whole', ...ENTRY }]);
    await cache.setMany([{ key: 'foreign', value: Buffer.from('{"data":[]}'), version: 2, ttlMs: 1000 }]);
    const { entries, degraded } = await tier.read(['foreign', 'whole']);
    expect(entries.map((entry) => entry === null)).toEqual([true, false]);
    expect([degraded, faults]).toEqual([false, ['damaged']]);
    expect(log.lines).toEqual([{ level: 'warn', key: 'foreign', msg: 'a damaged cache entry was ignored' }]);
  });

  it.each<[string, CacheStore['getMany'] & CacheStore['setMany']]>([
    ['fails', async () => Promise.reject(new StoreUnavailable('away'))],
    [
      'throws at once',
      () => {
        throw new TypeError('a defect');
      },
    ],
  ])('answers as if nothing were cached when the store %s', async (_how, fail) => {
    const { tier, log, faults } = await openTier((store) => ({ ...store, getMany: fail, setMany: fail }));
    expect(await tier.read(['a', 'b'])).toEqual({ entries: [null, null], degraded: true });
    expect(await tier.write([{ key: 'a', ...ENTRY }])).toBe(false);
    expect(faults).toEqual(['unavailable', 'unavailable']);
    expect(log.messages('warn')).toEqual([
      'the cache store failed while reading',
      'the cache store failed while writing',
    ]);
  });
});
