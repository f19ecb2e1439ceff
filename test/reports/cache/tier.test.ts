/** Entries in the store, as they are written, read and looked up. */

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type EncodedEntry, encodeEntry } from '../../../src/reports/cache/entry.js';
import { createLookUp } from '../../../src/reports/cache/look-up.js';
import { createCacheTier } from '../../../src/reports/cache/tier.js';
import { daysBetween } from '../../../src/reports/query/days.js';
import { contentName, dayKey, rowsKey } from '../../../src/reports/query/keys.js';
import { dayRef, type EntryRef } from '../../../src/reports/question.js';
import type { Entry } from '../../../src/reports/rows/entry.js';
import {
  type CacheEntry,
  type CacheStore,
  type CacheWrite,
  StoreUnavailable,
} from '../../../src/store/port.js';
import { countedPurges } from '../../support/counted-purges.js';
import { encodeHere } from '../../support/encode-here.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from '../rows/entries.js';
import { laterFormat } from './later-format.js';

async function openTier(wrap: (store: CacheStore) => CacheStore = (store) => store) {
  const log = createRecordedLog();
  const faults: string[] = [];
  const { cache } = await openInMemory();
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

  it('points at what history has where the store allows it, and packs the other small days', async () => {
    const written: CacheWrite[] = [];
    const { tier } = await openTier((store) => ({
      ...store,
      packs: true,
      mayPoint: ({ field }) => field !== '05',
      async write(writes) {
        written.push(...writes);
      },
    }));
    const days = ['02', '03', '04', '05', '06', '07'].map((day) => dayKey('s', `2026-11-${day}`));
    const whole = rowsKey('s', '2026-11-02', '2026-11-07');
    const names = ['02', '03', '05'].map((day) => [`2026-11-${day}`, `n${day}`] as const);
    const when = { begin: Promise.resolve(), added: Promise.resolve(new Map(names)) };
    await tier.write(
      [...days, whole].map((key) => ({ key, ...ENTRY })),
      when,
    );
    expect(
      written.map(({ field, pointer, isPacked, body }) => [field, pointer, isPacked, body.length]),
    ).toEqual([
      ['02', 'n02', undefined, 0],
      ['03', 'n03', undefined, 0],
      ...['04', '05', '06', '07'].map((day) => [day, undefined, true, ENTRY.body.length]),
      ['rows', undefined, undefined, ENTRY.body.length],
    ]);
  });

  it('waits for history only where an entry may point at it', async () => {
    const never = { begin: Promise.resolve(), added: new Promise<never>(() => {}) };
    const day = { key: dayKey('s', '2026-03-07'), ...ENTRY };
    const { tier } = await openTier();
    expect(await tier.write([day], never)).toBe(true);
    const full = await openTier((store) => ({ ...store, mayPoint: () => false }));
    expect(await full.tier.write([day], never)).toBe(true);
  });

  it('reads what a pointer leads to under its name in history, and other entries under their own', async () => {
    const key = dayKey('s', '2026-11-02');
    const sealed = (id: string): CacheEntry => ({ version: 1, ...encodeEntry({ id, ...ENTRY }) });
    const found = { own: sealed(key.id), history: sealed(contentName('s', '2026-11-02')) };
    let entry: CacheEntry = found.own;
    const { tier, faults } = await openTier((store) => ({ ...store, read: async () => [entry] }));
    const bodies = async (one: CacheEntry) => {
      entry = one;
      return (await tier.read([key])).entries.map((read) => read?.body.toString() ?? null);
    };
    expect(await bodies(found.own)).toEqual(['{"a":1}']);
    expect(await bodies({ ...found.history, isHistory: true })).toEqual(['{"a":1}']);
    expect(faults).toEqual([]);
    expect(await bodies(found.history)).toEqual([null]);
    expect(faults).toEqual(['damaged']);
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
    expect(log.lines).toEqual([{ level: 'warn', key: 'foreign', msg: 'ignored a damaged cache entry' }]);
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
    const keys = Array.from({ length: 40 }, (_, at) => refOf(`day${at}`));
    const encoded = new Map(
      keys.map(({ id }) => [
        id,
        { version: 1, ...encodeEntry({ id, version: 1, header: ENTRY.header, body }) },
      ]),
    );
    const { tier } = await openTier((store) => ({
      ...store,
      async read(places) {
        asked.push(places.length);
        return places.map(({ field }) => encoded.get(field) ?? null);
      },
    }));
    for (let round = 0; round < 20; round += 1) {
      const { entries } = await tier.read(keys);
      expect(entries.map((entry) => entry?.body.length)).toEqual(keys.map(() => 100_000));
    }
    // What is known of them is that one has 100 kB: 20 are 2 MB.
    expect(asked[0]).toBe(40);
    expect(asked.slice(-2)).toEqual([20, 20]);
  });
});

const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-12');
const REFS = daysBetween('2026-11-10', '2026-11-12').map((date) => dayRef('series', date));
const [FIRST, SECOND, THIRD] = REFS as [(typeof REFS)[0], (typeof REFS)[0], (typeof REFS)[0]];

async function opened() {
  const store = await openInMemory();
  const { registry } = await openReplica(store);
  const purges = countedPurges(registry);
  const faults: string[] = [];
  const tier = createCacheTier({
    store: store.cache,
    encode: encodeHere,
    logger: createRecordedLog().logger,
    onFault: (fault) => faults.push(fault),
  });
  const lookUp = createLookUp(tier, purges, () => 0);
  return {
    lookUp,
    purges,
    faults,
    put: (key: EntryRef, { header, body }: Entry) =>
      tier.write([{ key, header, body, version: 1, ttlMs: 1e9 }]),
    putBytes: (key: EntryRef, bytes: EncodedEntry) =>
      store.cache.write([{ ...key, ...bytes, version: 1, ttlMs: 1e9 }]),
  };
}

describe('reading', () => {
  const day = (date: string) => rowsEntry([{ date }], { lastDay: date });

  it('finds all days of a range longer than one command', async () => {
    const { lookUp, put } = await opened();
    const refs = daysBetween('2024-01-01', '2026-10-20').map((date) => dayRef('long', date));
    for (const ref of refs) await put(ref, day(ref.from as string));
    const { found } = await lookUp.read(report, refs);
    expect(refs.length).toBeGreaterThan(1000);
    expect([...found.keys()]).toEqual(refs.map(({ id }) => id));
    expect([...found.values()].map(({ header }) => header.lastDay)).toEqual(refs.map(({ from }) => from));
  });

  const damaged = encodeEntry({
    id: FIRST.id,
    version: 1,
    header: day('2026-11-10').header,
    body: Buffer.from('x'),
  });
  damaged.header.fill(0, 54, 55);
  it.each<[string, EncodedEntry]>([
    [
      'an entry of something else',
      encodeEntry({ id: FIRST.id, version: 1, header: { form: 'segment' }, body: Buffer.alloc(0) }),
    ],
    ['a damaged entry', damaged],
  ])('takes %s for absent, and the others as they are', async (_what, bytes) => {
    const { lookUp, put, putBytes } = await opened();
    await putBytes(FIRST, bytes);
    await put(SECOND, day('2026-11-11'));
    const { found, degraded } = await lookUp.read(report, REFS);
    expect([[...found.keys()], degraded]).toEqual([[SECOND.id], false]);
  });

  it('finds nothing of what was purged, day by day', async () => {
    const { lookUp, put, purges } = await opened();
    for (const ref of REFS) await put(ref, day(ref.from as string));
    await purges.append({ from: '2026-11-11', to: '2026-11-11' }, 'audit');
    expect([...(await lookUp.read(report, REFS)).found.keys()]).toEqual([FIRST.id, THIRD.id]);
    await purges.append({ advertiserId: '2' }, 'audit');
    expect([...(await lookUp.read(report, REFS)).found.keys()]).toEqual([FIRST.id, THIRD.id]);
    await put(SECOND, rowsEntry([{}], { lastDay: '2026-11-11', seq: 1 }));
    expect([...(await lookUp.read(report, REFS)).found.keys()]).toEqual(REFS.map(({ id }) => id));
    await purges.append({ advertiserId: '1' }, 'audit');
    expect([...(await lookUp.read(report, REFS)).found.keys()]).toEqual([]);
  });
});
