import { describe, expect, it } from 'vitest';
import { type EncodedEntry, encodeEntry } from '../../../src/reports/cache/entry.js';
import { createLookUp } from '../../../src/reports/cache/look-up.js';
import { createCacheTier } from '../../../src/reports/cache/tier.js';
import { daysBetween } from '../../../src/reports/query/days.js';
import { dayRef, type EntryRef } from '../../../src/reports/question.js';
import type { Entry } from '../../../src/reports/rows/entry.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { countedPurges } from '../../support/counted-purges.js';
import { encodeHere } from '../../support/encode-here.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openEmbedded, openReplica } from '../../support/shared-registry.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from '../rows/entries.js';

const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-12');
const REFS = daysBetween('2026-11-10', '2026-11-12').map((date) => dayRef('series', date));
const [FIRST, SECOND, THIRD] = REFS as [(typeof REFS)[0], (typeof REFS)[0], (typeof REFS)[0]];

async function opened(away = false) {
  const store = await openEmbedded();
  const { registry } = await openReplica(store);
  const purges = countedPurges(registry);
  const faults: string[] = [];
  const tier = createCacheTier({
    store: away ? { ...store.cache, read: () => Promise.reject(new StoreUnavailable('away')) } : store.cache,
    encode: encodeHere,
    logger: createRecordedLog().logger,
    onFault: (fault) => faults.push(fault),
  });
  const lookUp = createLookUp(tier, purges);
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

  it('finds what there is, by key', async () => {
    const { lookUp, put } = await opened();
    await put(FIRST, day('2026-11-10'));
    await put(THIRD, day('2026-11-12'));
    const { found, degraded } = await lookUp.read(report, REFS);
    expect(degraded).toBe(false);
    expect([...found.keys()]).toEqual([FIRST.id, THIRD.id]);
    expect(found.get(THIRD.id)).toMatchObject(day('2026-11-12'));
  });

  it('finds all days of a range longer than one command', async () => {
    const { lookUp, put } = await opened();
    const refs = daysBetween('2024-01-01', '2026-11-20').map((date) => dayRef('long', date));
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
    ['no entry', { header: Buffer.from('garbage'), body: Buffer.alloc(0), facts: Buffer.from('{}') }],
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

  it('says that the store is away, and finds nothing', async () => {
    const { lookUp, faults } = await opened(true);
    expect(await lookUp.read(report, REFS)).toEqual({ found: new Map(), degraded: true });
    expect(faults).toEqual(['unavailable']);
  });
});
