/** Stored bytes of months: what was written is read back, and nothing else is taken for it. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Check,
  type Day,
  decodeEarlier,
  decodeMonth,
  encodeEarlier,
  encodeMonth,
  type Month,
} from '../../../src/reports/days/month.js';
import { emptyMonth } from '../../../src/reports/days/open-months.js';
import type { Revision } from '../../../src/reports/history/revision.js';

const time = fc.nat(2 ** 45);
const text = fc.string({ maxLength: 12 });
/** Optional members are absent, not undefined. */
const some = <T extends object>(required: (keyof T)[], model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { requiredKeys: required as never, noNullPrototype: true }) as unknown as fc.Arbitrary<T>;

const check = some<Check>(
  ['order', 'startedAt', 'endedAt', 'fetchedOn', 'from', 'to', 'answerRows', 'seq', 'generation'],
  {
    order: time,
    startedAt: time,
    endedAt: time,
    fetchedOn: fc.nat(40_000),
    from: text,
    to: text,
    answerRows: fc.nat(),
    complete: fc.constant(true as const),
    seq: time,
    generation: text,
  } as never,
);
const revision = some<Revision>(
  [
    ...(['id', 'knownFrom', 'confirmedUntil', 'fetchedFrom', 'ageDays', 'part', 'digest', 'hash'] as const),
    ...(['schema', 'generation', 'credential', 'rowCount', 'answerRows', 'seq'] as const),
  ],
  {
    id: text,
    knownFrom: time,
    confirmedUntil: time,
    fetchedFrom: time,
    ageDays: fc.integer({ min: -1 }),
    part: fc.option(text),
    digest: text,
    hash: text,
    schema: text,
    generation: text,
    credential: fc.option(text),
    rowCount: fc.nat(),
    answerRows: fc.nat(),
    seq: time,
    complete: fc.constant(true as const),
    void: fc.constant('cut' as const),
    unconfirmed: fc.constant(true as const),
    thinnedFrom: time,
    closedFrom: time,
    finalFrom: time,
    missedFrom: time,
    removedBefore: fc.constant(true as const),
    unrecorded: fc.constant(true as const),
    lost: fc.record({ fromMs: time, endpoint: text }, { noNullPrototype: true }),
  } as never,
);
const passing = some<NonNullable<Day['passing']>>(['part', 'digest', 'hash', 'rowCount', 'check'], {
  part: fc.option(text),
  digest: text,
  hash: text,
  rowCount: fc.nat(),
  check,
  flaws: fc.constant([{ code: 'rows_capped', rows: 7 }]),
  forgotten: fc.constant({
    code: 'beyond_retention',
    days: ['2026-11-01'],
    sinceMs: 1,
    seenMs: 2,
    final: true,
    againMs: 3,
  }),
} as never);
const empty = some<NonNullable<Day['empty']>>(['tail'], {
  tail: fc.constantFrom('unconfirmed', 'confirmed'),
  sinceMs: time,
} as never);
const day = some<Day>(['latest', 'check', 'earlier'], {
  latest: fc.option(revision),
  check: fc.option(check),
  earlier: fc.nat(64),
  empty,
  passing,
  final: fc.constant(true as const),
} as never);
const report = fc.record(
  {
    kind: text,
    endpoint: text,
    query: fc.option(text),
    account: fc.option(text),
    split: fc.array(text, { maxLength: 3 }),
  },
  { noNullPrototype: true },
);
const month: fc.Arbitrary<Month> = fc.record(
  {
    asked: fc.array(text, { maxLength: 3 }),
    kind: fc.constantFrom('bounded', 'open', 'undeclared'),
    sizes: fc
      .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z0-9-]{1,12}$/), fc.nat()), {
        selector: ([name]) => name,
        maxLength: 4,
      })
      .map((all) => new Map(all)),
    days: fc
      .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 31 }), day), { selector: ([at]) => at, maxLength: 5 })
      .map((all) => new Map(all)),
    report: fc.option(report),
    told: fc.option(text),
  },
  { noNullPrototype: true },
);

/** The bytes of its JSON, changed. */
function rewritten(bytes: Buffer, change: (text: string) => string): Buffer {
  const json = inflateRawSync(bytes.subarray(1)).toString();
  return Buffer.concat([bytes.subarray(0, 1), deflateRawSync(change(json))]);
}

describe('a month', () => {
  it('is read back as it was written, whatever is known of its days', () => {
    fc.assert(
      fc.property(month, (one) => {
        expect(decodeMonth(encodeMonth(one))).toEqual(one);
      }),
    );
  });

  it('has a check of several days once', () => {
    const [one] = fc.sample(check, { numRuns: 1, seed: 7 }) as [Check];
    const days = new Map([1, 2, 3].map((at) => [at, { latest: null, check: { ...one }, earlier: 0 }]));
    const bytes = encodeMonth({ ...emptyMonth('bounded'), days });
    const { checks } = JSON.parse(inflateRawSync(bytes.subarray(1)).toString()) as { checks: Check[] };
    expect(checks).toEqual([one]);
  });

  it('of which a part is missing or another release wrote it is null, and a changed byte is no error', () => {
    fc.assert(
      fc.property(
        month,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 255 }),
        (one, at, flip) => {
          const bytes = encodeMonth(one);
          const place = Math.floor(at * (bytes.length - 1));
          expect(decodeMonth(bytes.subarray(0, place))).toBeNull();
          expect(decodeMonth(Buffer.concat([Buffer.of(3), bytes.subarray(1)]))).toBeNull();
          expect(decodeMonth(Buffer.concat([Buffer.of(1), bytes.subarray(1)]))).toEqual(decodeMonth(bytes));
          const changed = Buffer.from(bytes);
          changed[place] = (changed[place] as number) ^ flip;
          // The stores compare a checksum; whatever comes through is no error here.
          expect(() => decodeMonth(changed)).not.toThrow();
        },
      ),
    );
  });

  it.each<[string, (json: string) => string]>([
    ['that is no JSON', (json) => json.slice(1)],
    ['without a member', (json) => json.replace('"asked"', '"asks"')],
    ['whose days name a check that is not there', (json) => json.replace('"check":0', '"check":9')],
    [
      'whose rows for a while name a check that is not there',
      (json) => json.replace('"check":1', '"check":9'),
    ],
    ['with a revision of another form', (json) => json.replace('"knownFrom":', '"knownFrom":"x","k":')],
  ])('%s is null', (_what, change) => {
    const [one, other] = fc.sample(check, { numRuns: 2, seed: 7 }) as [Check, Check];
    const [latest] = fc.sample(revision, { numRuns: 1, seed: 7 }) as [Revision];
    const while_ = { part: null, digest: '', hash: '', rowCount: 0, check: other };
    const days = new Map([[1, { latest, check: one, earlier: 0, passing: while_ }]]);
    const bytes = encodeMonth({ ...emptyMonth('bounded'), days });
    expect(decodeMonth(rewritten(bytes, (json) => json))).not.toBeNull();
    expect(decodeMonth(rewritten(bytes, change))).toBeNull();
  });
});

describe('earlier revisions', () => {
  it('are read back as they were written; cut off or of another release they are null', () => {
    fc.assert(
      fc.property(fc.array(revision, { maxLength: 5 }), fc.nat(), (all, at) => {
        const bytes = encodeEarlier(all);
        expect(decodeEarlier(bytes)).toEqual(all);
        expect(decodeEarlier(bytes.subarray(0, at % bytes.length))).toBeNull();
        expect(decodeEarlier(Buffer.concat([Buffer.of(3), bytes.subarray(1)]))).toBeNull();
      }),
    );
  });
});
