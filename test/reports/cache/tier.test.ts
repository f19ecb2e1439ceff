import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encodeEntry } from '../../../src/reports/cache/entry.js';
import { createCacheTier } from '../../../src/reports/cache/tier.js';
import {
  type CacheEntry,
  type CacheStore,
  type CacheWrite,
  StoreUnavailable,
} from '../../../src/store/port.js';
import { encodeHere } from '../../support/encode-here.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openEmbedded } from '../../support/shared-registry.js';
import { laterFormat } from './later-format.js';

async function openTier(wrap: (store: CacheStore) => CacheStore = (store) => store) {
  const log = createRecordedLog();
  const faults: string[] = [];
  const { cache } = await openEmbedded();
  const tier = createCacheTier({
    store: wrap(cache),
    encode: encodeHere,
    logger: log.logger,
    onFault: (fault) => void faults.push(fault),
  });
  return { tier, cache, log, faults };
}

const refOf = (id: string) => ({ id, series: 's', group: 'g', field: id });
const ENTRY = { header: { form: 'rows' }, body: Buffer.from('{"a":1}'), version: 1, ttlMs: 60_000 };

describe('createCacheTier', () => {
  it('keeps entries and gives them back in the order asked for', async () => {
    const { tier, faults } = await openTier();
    expect(
      await tier.write([
        { key: refOf('a'), ...ENTRY },
        { key: refOf('b'), ...ENTRY, body: Buffer.alloc(0) },
      ]),
    ).toBe(true);
    const { entries, degraded } = await tier.read(['b', 'x', 'a'].map(refOf));
    expect(entries.map((entry) => entry?.body.toString() ?? null)).toEqual(['', null, '{"a":1}']);
    expect(entries[2]?.header).toEqual({ form: 'rows' });
    expect([degraded, faults]).toEqual([false, []]);
  });

  it('writes a large answer in entries, so that reads come in between, and leaves none of it out', async () => {
    const sizes: number[] = [];
    const written: string[] = [];
    const { tier } = await openTier((store) => ({
      ...store,
      async write(writes) {
        const bytesOf = ({ header, body, facts }: CacheWrite) => header.length + body.length + facts.length;
        sizes.push(writes.reduce((sum, write) => sum + bytesOf(write), 0));
        written.push(...writes.map(({ field }) => field));
        await store.write(writes);
      },
    }));
    // No smaller when it is deflated.
    const body = randomBytes(400_000);
    const keys = Array.from({ length: 8 }, (_, index) => `day${index}`);
    expect(await tier.write(keys.map((key) => ({ key: refOf(key), ...ENTRY, body })))).toBe(true);
    expect(sizes.length).toBe(4);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(1_048_576);
    expect(written).toEqual(keys);
    // One that is larger than a entry is a entry of its own.
    sizes.length = 0;
    await tier.write([
      { key: refOf('big'), ...ENTRY, body: randomBytes(3_000_000) },
      { key: refOf('small'), ...ENTRY },
    ]);
    expect(sizes.length).toBe(2);
  });

  it('takes what is damaged or foreign for absent, says so, and counts it', async () => {
    const { tier, cache, log, faults } = await openTier();
    await tier.write([{ key: refOf('whole'), ...ENTRY }]);
    const foreign = Buffer.from('{"data":[]}');
    await cache.write([
      { ...refOf('foreign'), header: foreign, body: foreign, facts: foreign, version: 2, ttlMs: 1000 },
    ]);
    const { entries, degraded } = await tier.read(['foreign', 'whole'].map(refOf));
    expect(entries.map((entry) => entry === null)).toEqual([true, false]);
    expect([degraded, faults]).toEqual([false, ['damaged']]);
    expect(log.lines).toEqual([{ level: 'warn', key: 'foreign', msg: 'a damaged cache entry was ignored' }]);
  });

  it.each<[string, () => Promise<never>]>([
    ['fails', async () => Promise.reject(new StoreUnavailable('away'))],
    [
      'throws at once',
      () => {
        throw new TypeError('a defect');
      },
    ],
  ])('answers as if nothing were cached when the store %s', async (_how, fail) => {
    const { tier, log, faults } = await openTier((store) => ({ ...store, read: fail, write: fail }));
    expect(await tier.read(['a', 'b'].map(refOf))).toEqual({ entries: [null, null], degraded: true });
    expect(await tier.write([{ key: refOf('a'), ...ENTRY }])).toBe(false);
    expect(faults).toEqual(['unavailable', 'unavailable']);
    expect(log.messages('warn')).toEqual([
      'the cache store failed while reading',
      'the cache store failed while writing',
    ]);
  });

  it('says nothing of what a later release has written, for it is no damage', async () => {
    const { tier, cache, faults } = await openTier();
    await tier.write([{ key: refOf('a'), ...ENTRY }]);
    const [entry] = await cache.read([refOf('a')]);
    const later = laterFormat('a', entry as CacheEntry);
    await cache.write([{ ...refOf('a'), ...later, ttlMs: 60_000 }]);
    expect(await tier.read([refOf('a')])).toEqual({ entries: [null], degraded: false });
    expect(faults).toEqual([]);
  });

  it('reads days that are large a few at a time, and all of them', async () => {
    const asked: number[] = [];
    const body = randomBytes(100_000);
    const { tier } = await openTier((store) => ({
      ...store,
      async read(places) {
        asked.push(places.length);
        return places.map(({ field }) => ({
          version: 1,
          ...encodeEntry({ id: field, version: 1, header: ENTRY.header, body }),
        }));
      },
    }));
    const keys = Array.from({ length: 40 }, (_, at) => refOf(`day${at}`));
    for (let round = 0; round < 20; round += 1) {
      const { entries } = await tier.read(keys);
      expect(entries.map((entry) => entry?.body.length)).toEqual(keys.map(() => 100_000));
    }
    // What is known of them is that one has 100 kB: 20 are 2 MB.
    expect(asked[0]).toBe(40);
    expect(asked.slice(-2)).toEqual([20, 20]);
  });
});
