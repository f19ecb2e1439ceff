/** Whole entries in the store, as they are written, read and looked up. */
import { describe, expect, it } from 'vitest';
import { encodeEntry } from '../../../src/reports/cache/entry.js';
import { createLookUp } from '../../../src/reports/cache/look-up.js';
import { createCacheTier } from '../../../src/reports/cache/tier.js';
import { type EntryRef, wholeRef } from '../../../src/reports/question.js';
import type { Entry } from '../../../src/reports/rows/entry.js';
import { type CacheEntry, type CacheStore, StoreUnavailable } from '../../../src/store/port.js';
import { countedPurges } from '../../support/counted-purges.js';
import { encodeHere } from '../../support/encode-here.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { MINUTE } from '../../support/test-clock.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from '../rows/entries.js';
import { laterForm } from './later-form.js';

async function openTier(wrap: (store: CacheStore) => CacheStore = (store) => store, nowMs = 0) {
  const log = createRecordedLog();
  const faults: string[] = [];
  const { cache } = await openInMemory();
  const tier = createCacheTier({
    store: wrap(cache),
    encode: encodeHere,
    versionClockMs: () => nowMs,
    logger: log.logger,
    count: (_, labels) => void faults.push(...Object.values<string>(labels)),
  });
  return { tier, cache, log, faults };
}

const keyOf = (id: string) => ({ id });
const ENTRY = { header: { form: 'rows' }, body: Buffer.from('{"a":1}'), version: 1, ttlMs: 60_000 };

describe('createCacheTier', () => {
  it('keeps entries and gives them back in the order asked for', async () => {
    const { tier, faults } = await openTier();
    expect(
      await tier.write([
        { key: keyOf('a'), ...ENTRY },
        { key: keyOf('b'), ...ENTRY, body: Buffer.alloc(0) },
      ]),
    ).toBe(true);
    const { entries, fault } = await tier.read(['b', 'x', 'a'].map(keyOf));
    expect(entries.map((entry) => entry?.body.toString() ?? null)).toEqual(['', null, '{"a":1}']);
    expect(entries[2]?.header).toEqual({ form: 'rows' });
    expect([fault, faults]).toEqual([null, []]);
  });

  it('gives what it is writing, unless the store has newer content', async () => {
    const held: (() => void)[] = [];
    const { tier, cache } = await openTier((store) => ({
      ...store,
      write: (writes) =>
        new Promise((resolve, reject) => {
          held.push(() => void store.write(writes).then(resolve, reject));
        }),
    }));
    const bodyOf = async () => (await tier.read([keyOf('a')])).entries[0]?.body.toString();
    const written = tier.write([{ key: keyOf('a'), ...ENTRY, version: 5 }]);
    await expect.poll(() => held.length).toBe(1);
    expect(await bodyOf()).toBe('{"a":1}');
    expect(tier.beingWritten(keyOf('a'))?.version).toBe(5);
    const other = encodeEntry({ id: 'a', ...ENTRY, version: 6, body: Buffer.from('newer') });
    await cache.write([{ id: 'a', version: 6, bytes: other, ttlMs: 60_000 }]);
    expect(await bodyOf()).toBe('newer');
    held[0]?.();
    expect([await written, await bodyOf(), tier.beingWritten(keyOf('a'))]).toEqual([true, 'newer', null]);
  });

  it('keeps newer content that was stored while a fetch took more than five minutes, but none of a clock that was wrong', async () => {
    const [began, nowMs] = [1_000_000, 1_000_000 + 10 * MINUTE];
    const { tier } = await openTier(undefined, nowMs);
    const storedAfter = async (id: string, version: number) => {
      await tier.write([{ key: keyOf(id), ...ENTRY, version, body: Buffer.from('newer') }]);
      await tier.write([{ key: keyOf(id), ...ENTRY, version: began, body: Buffer.from('slow') }]);
      return (await tier.read([keyOf(id)])).entries[0]?.body.toString();
    };
    expect(await storedAfter('a', nowMs - 1)).toBe('newer');
    expect(await storedAfter('b', nowMs + 5 * MINUTE + 1)).toBe('slow');
  });

  it('takes what is damaged or foreign for absent, says so, and counts it', async () => {
    const { tier, cache, log, faults } = await openTier();
    await tier.write([{ key: keyOf('whole'), ...ENTRY }]);
    await cache.write([{ id: 'foreign', bytes: Buffer.from('{"data":[]}'), version: 2, ttlMs: 1000 }]);
    const { entries, fault } = await tier.read(['foreign', 'whole'].map(keyOf));
    expect(entries.map((entry) => entry === null)).toEqual([true, false]);
    expect([fault, faults]).toEqual([null, ['damaged']]);
    expect(log.lines).toEqual([{ level: 'warn', key: 'foreign', msg: 'ignored a damaged cache entry' }]);
  });

  const AWAY = new StoreUnavailable('away');
  const DEFECT = new TypeError('a defect');
  it.each<[string, Error, () => Promise<never>]>([
    ['fails', AWAY, async () => Promise.reject(AWAY)],
    [
      'throws at once',
      DEFECT,
      () => {
        throw DEFECT;
      },
    ],
  ])('answers as if nothing were cached when the store %s', async (_how, error, fail) => {
    const { tier, log, faults } = await openTier((store) => ({ ...store, read: fail, write: fail }));
    expect(await tier.read(['a', 'b'].map(keyOf))).toEqual({ entries: [null, null], fault: error });
    expect(await tier.write([{ key: keyOf('a'), ...ENTRY }])).toBe(false);
    expect(faults).toEqual(['unavailable', 'unavailable']);
    expect(log.messages('warn')).toEqual(['the cache cannot be written: answers stay in memory']);
  });

  it('says nothing of what a later release has written, for it is no damage', async () => {
    const { tier, cache, faults } = await openTier();
    await tier.write([{ key: keyOf('a'), ...ENTRY }]);
    const [entry] = await cache.read(['a']);
    await cache.write([{ id: 'a', ...laterForm('a', entry as CacheEntry), ttlMs: 60_000 }]);
    expect(await tier.read([keyOf('a')])).toEqual({ entries: [null], fault: null });
    expect(faults).toEqual([]);
  });
});

const { report } = get('advertiserId=1&dateFrom=2026-11-10&dateTo=2026-11-12');
const REF = wholeRef({ report, series: 'series', form: 'rows' } as Parameters<typeof wholeRef>[0]);

async function opened() {
  const store = await openInMemory();
  const { registry } = await openReplica(store);
  const purges = countedPurges(registry);
  const tier = createCacheTier({
    store: store.cache,
    encode: encodeHere,
    versionClockMs: () => 0,
    logger: createRecordedLog().logger,
    count: () => {},
  });
  const days = { read: async () => new Map(), beingWritten: () => new Map() };
  const { logger } = createRecordedLog();
  const lookUp = createLookUp({ tier, days, purges, now: () => 0, count: () => {}, logger });
  return {
    lookUp,
    purges,
    put: ({ key }: EntryRef, { header, body }: Entry) =>
      tier.write([{ key: key as NonNullable<typeof key>, header, body, version: 1, ttlMs: 1e9 }]),
    putBytes: ({ id }: EntryRef, bytes: Buffer) => store.cache.write([{ id, bytes, version: 1, ttlMs: 1e9 }]),
  };
}

describe('a look-up of a whole period', () => {
  const whole = (seq = 0) => rowsEntry([{ clicks: 1 }], { lastDay: '2026-11-12', seq });

  it('finds its entry, being written or stored', async () => {
    const { lookUp, put } = await opened();
    const writing = put(REF, whole());
    expect([...lookUp.beingWritten(report, [REF]).keys()]).toEqual([REF.id]);
    await writing;
    expect([...lookUp.beingWritten(report, [REF]).keys()]).toEqual([]);
    const { found, degraded } = await lookUp.read(report, [REF]);
    expect([found.get(REF.id)?.header.lastDay, degraded]).toEqual(['2026-11-12', false]);
  });

  const damaged = encodeEntry({ id: REF.id, version: 1, header: whole().header, body: Buffer.from('x') });
  damaged.fill(0, 54, 55);
  it.each<[string, Buffer]>([
    [
      'an entry of something else',
      encodeEntry({ id: REF.id, version: 1, header: { form: 'segment' }, body: Buffer.alloc(0) }),
    ],
    ['a damaged entry', damaged],
  ])('takes %s for absent', async (_what, bytes) => {
    const { lookUp, putBytes } = await opened();
    await putBytes(REF, bytes);
    expect(await lookUp.read(report, [REF])).toEqual({ found: new Map(), degraded: false });
  });

  it('finds nothing of what was purged', async () => {
    const { lookUp, put, purges } = await opened();
    const isFound = async () => (await lookUp.read(report, [REF])).found.size === 1;
    await put(REF, whole());
    await purges.append({ advertiserId: '2' }, 'audit');
    expect(await isFound()).toBe(true);
    await purges.append({ from: '2026-11-11', to: '2026-11-11' }, 'audit');
    expect(await isFound()).toBe(false);
    await put(REF, whole(2));
    expect(await isFound()).toBe(true);
    await purges.append({ advertiserId: '1' }, 'audit');
    expect(await isFound()).toBe(false);
  });
});
