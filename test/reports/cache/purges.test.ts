import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createPurges,
  laterPurges,
  type PurgeScope,
  type PurgeSubject,
} from '../../../src/reports/cache/purges.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';

const AUDIT = '{"action":"cache.purge"}';
const subject = (changes: Partial<PurgeSubject> = {}): PurgeSubject => ({
  seq: 0,
  advertiserId: '1',
  named: [],
  held: [],
  endpoint: 'campaigns/get',
  from: '2026-11-10',
  to: '2026-11-12',
  ...changes,
});

const naming = (other: string) => ({ named: [{ values: ['1'] }, { values: [other] }] });

async function openPurges() {
  const { registry, store } = await openReplica(await openInMemory());
  const purges = createPurges(registry);
  // Numbers as they are within one registry, counted from before its first purge.
  const first = purges.seq;
  const isPurged = (changes: Partial<PurgeSubject>) =>
    purges.isPurged(subject({ ...changes, seq: first + (changes.seq ?? 0) }));
  return { purges, registry, store, first, isPurged };
}

describe('createPurges', () => {
  it.each<[string, PurgeScope, Partial<PurgeSubject>, boolean]>([
    ['all', {}, {}, true],
    ['all, of an entry that knows nothing of itself', {}, { advertiserId: null, from: null, to: null }, true],
    ['its advertiser', { advertiserId: '1' }, {}, true],
    ['another advertiser', { advertiserId: '2' }, {}, false],
    ['an advertiser, of an entry without one', { advertiserId: '2' }, { advertiserId: null }, true],
    ['an account named in another field', { advertiserId: '2' }, naming('2'), true],
    ['an account named in a list', { advertiserId: '2' }, naming('7,2'), true],
    ['part of the id that is named', { advertiserId: '2' }, naming('22,12'), false],
    ['an account that the answer holds', { advertiserId: '2' }, { held: ['1', '2'] }, true],
    ['its endpoint', { endpoint: 'campaigns/get' }, {}, true],
    ['another endpoint', { endpoint: 'creatives/get' }, {}, false],
    ['days before', { to: '2026-11-09' }, {}, false],
    ['days up to its first', { to: '2026-11-10' }, {}, true],
    ['days from its last', { from: '2026-11-12' }, {}, true],
    ['days after', { from: '2026-11-13' }, {}, false],
    ['days around', { from: '2026-01-01', to: '2026-12-31' }, {}, true],
    ['days, of an entry without a period', { to: '2020-01-02' }, { from: null, to: null }, true],
    ['days, of an entry without an end', { from: '2027-01-01' }, { to: null }, true],
  ])('a purge of %s', async (_what, scope, changes, expected) => {
    const { purges, store, isPurged } = await openPurges();
    expect(isPurged(changes)).toBe(false);
    await purges.append(scope, AUDIT);
    expect((await store.registry.readAudit(1)).map(({ text }) => text)).toEqual([AUDIT]);
    expect(isPurged(changes)).toBe(expected);
    expect(purges.isPurged(subject({ ...changes, seq: purges.seq }))).toBe(false);
  });

  it('agrees with a list that forgets nothing', async () => {
    const day = fc.constantFrom('2026-11-09', '2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13');
    const scope = fc.record(
      {
        advertiserId: fc.constantFrom('1', '2'),
        endpoint: fc.constantFrom('campaigns/get', 'x'),
        from: day,
        to: day,
      },
      { requiredKeys: [] },
    );
    const { purges, first } = await openPurges();
    const all: (PurgeScope & { seq: number })[] = [];
    await fc.assert(
      fc.asyncProperty(scope, fc.nat(), async (next, seed) => {
        const seq = purges.seq + 1;
        await purges.append(next, AUDIT);
        all.push({ ...next, seq });
        const asked = subject({
          seq: first + (seed % (seq - first + 1)),
          advertiserId: seed % 3 === 0 ? null : String(1 + (seed % 2)),
        });
        const expected = all.some(
          (record) =>
            record.seq > asked.seq &&
            (record.advertiserId ?? asked.advertiserId ?? '') ===
              (asked.advertiserId ?? record.advertiserId ?? '') &&
            (record.endpoint ?? asked.endpoint) === asked.endpoint &&
            (record.from ?? '') <= (asked.to as string) &&
            (record.to ?? '9') >= (asked.from as string),
        );
        expect(purges.isPurged(asked)).toBe(expected);
      }),
      { numRuns: 80 },
    );
  });

  it('stays short, and when it forgets a record purges rather too much than too little', async () => {
    const { purges, registry, first, isPurged } = await openPurges();
    for (let at = 1; at <= 201; at++) await purges.append({ advertiserId: String(1000 + at) }, AUDIT);
    expect(purges.seq - first).toBe(201);
    const records = JSON.parse(registry.get('purges')?.value ?? '') as { seq: number }[];
    expect(records.length).toBeLessThanOrEqual(200);
    const other = (seq: number) => isPurged({ seq, advertiserId: '5' });
    const oldest = { seq: (records[0]?.seq ?? 0) - first };
    expect([0, oldest.seq - 1, oldest.seq, 200].map(other)).toEqual([true, true, false, false]);
    // What is still listed one by one goes on matching alone.
    expect(isPurged({ seq: 200, advertiserId: '1201' })).toBe(true);
    await purges.append({ advertiserId: '7' }, AUDIT);
    expect(purges.seq - first).toBe(202);
  });

  it.each([
    ['soft', 101, [1_000, null]],
    ['hard', 100, [Number.NEGATIVE_INFINITY, null]],
  ] as const)(
    'merges soft records into one that is %s where no hard one is among them, else hard',
    async (_, soft, expected) => {
      const { purges, first } = await openPurges();
      for (let at = 1; at <= 201; at++)
        await purges.append(
          { advertiserId: '9', ...(at <= soft || at > 101 ? { softAtMs: 1000 } : {}) },
          AUDIT,
        );
      expect([0, 101].map((seq) => purges.expiredAt(subject({ seq: first + seq })))).toEqual(expected);
    },
  );
});

describe('createPurges on two replicas', () => {
  it('tells the other replica by a message', async () => {
    const store = await openInMemory();
    const [one, two] = await Promise.all([openReplica(store), openReplica(store)]);
    const [here, there] = [createPurges(one.registry), createPurges(two.registry)];
    await here.append({ advertiserId: '1' }, AUDIT);
    await expect.poll(() => there.isPurged(subject({ seq: here.seq - 1 }))).toBe(true);
    expect(there.seq).toBe(here.seq);
  });
});

describe('a purge number of another registry', () => {
  it('is of an entry that counts as absent, whatever was purged since', async () => {
    const [one, two] = [await openPurges(), await openPurges()];
    for (const { purges } of [one, two]) await purges.append({ advertiserId: '2' }, AUDIT);
    expect(one.purges.isPurged(subject({ seq: one.purges.seq }))).toBe(false);
    expect(one.purges.isPurged(subject({ seq: two.purges.seq }))).toBe(true);
    // As releases before this one wrote them.
    expect(one.purges.isPurged(subject({ seq: 0 }))).toBe(true);
    expect(one.purges.isPurged(subject({ seq: 1 }))).toBe(true);
  });

  it('is not met by entries of this one when its list came with a backup, and is not given again', async () => {
    const { purges, registry, first } = await openPurges();
    const foreign = await openPurges();
    for (const _ of [1, 2, 3]) await foreign.purges.append({}, AUDIT);
    const list = foreign.registry.get('purges')?.value as string;
    const before = purges.seq;
    await registry.commit({ writes: new Map([['purges', list]]) });
    expect(purges.isPurged(subject({ seq: before }))).toBe(false);
    expect(purges.seq - first).toBe(3);
    await purges.append({}, AUDIT);
    expect(purges.seq - first).toBe(4);
    expect(purges.isPurged(subject({ seq: before }))).toBe(true);
  });
});

describe('laterPurges', () => {
  it('is the list that has counted further', async () => {
    const [short, long] = [await openPurges(), await openPurges()];
    await short.purges.append({}, AUDIT);
    for (const _ of [1, 2]) await long.purges.append({}, AUDIT);
    const [a, b] = [short, long].map(({ registry }) => registry.get('purges')?.value as string) as [
      string,
      string,
    ];
    expect([laterPurges(a, b), laterPurges(b, a), laterPurges(undefined, a)]).toEqual([b, b, a]);
  });
});
