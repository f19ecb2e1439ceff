/** Entries as they are stored: headers, bodies, checksums. */

import { constants, crc32, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  crcsInTurns,
  deflateBody,
  encodeEntry,
  inflateBodies,
  type RawEntry,
  type StoredBody,
} from '../../../src/reports/cache/entry.js';
import { PACKED_MAX_BYTES } from '../../../src/reports/cache/header.js';
import { isoDay } from '../../../src/reports/query/days.js';
import { bodyHash } from '../../../src/reports/rows/entry.js';
import { STAMP_BYTES } from '../../../src/store/entry-stamp.js';
import { type CacheEntry, HEADER_MAX_BYTES } from '../../../src/store/port.js';
import { turnsOf } from '../../support/turns.js';
import { decodeOne } from './decode-one.js';
import { inFormat, laterFormat } from './later-format.js';

const VERSION = Date.parse('2026-11-21T12:00:00Z');
const HASH = 'n4bQgYhMfWWaL-qgxVrQFA';
const SORTED = 'ungWv48Bz-pBQUDeXa4iIA';
const DAY = {
  form: 'rows',
  fetchStartedAt: VERSION,
  fetchedAt: VERSION + 700,
  lastDay: '2026-11-10',
  fetchedOn: 20_778,
  kind: 'bounded',
  emptyTail: 'no',
  originMs: null,
  seq: 1_234_567 * 2 ** 22 + 5,
  accounts: ['1', '東'],
  columns: ['date', 'clicks'],
  types: ['s', 'n'],
  rowCount: 2,
  paging: null,
  hash: HASH,
  splitFrom: { from: '2026-11-01', to: '2026-11-14', sortedHash: SORTED, generation: 'first' },
};
const ID = 'c5:{series}:d:2026-11-10';
const BODY = Buffer.from(' {"a":1},\n{"a":2}');

function entryOf(header: object, body = BODY, version = VERSION): CacheEntry {
  return { version, ...encodeEntry({ id: ID, version, header, body }) };
}

/** As JSON has it: what is undefined is not there. */
const asJson = (header: object): unknown => JSON.parse(JSON.stringify(header));

const anyNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.maxSafeNat(),
  fc.constantFrom(
    0,
    2 ** 16 - 1,
    2 ** 16,
    2 ** 24 - 1,
    2 ** 24,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 48 - 1,
    2 ** 48,
    2 ** 53,
  ),
);
const anyDay = fc.oneof(
  fc.integer({ min: -800_000, max: 100_000 }).map((day) => (day > -700_000 ? isoDay(day) : '2026-02-30')),
  fc.string(),
  fc.constant(null),
);
const anyDigest = fc.oneof(
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => {
    return Buffer.from(bytes).toString('base64url').slice(0, 22);
  }),
  fc.string({ maxLength: 23 }),
  fc.base64String({ minLength: 24, maxLength: 24 }).map((text) => text.slice(0, 22)),
);
const jsonNumber = anyNumber.map((value) => (Object.is(value, -0) ? 0 : value));
/** Headers as ours are, with values that fit and values that do not, and members nobody knows. */
const anyHeader = fc.record(
  {
    form: fc.constantFrom('rows', 'bytes', 'refusal', 'segment'),
    kind: fc.constantFrom('bounded', 'open', 'undeclared', 'other', ''),
    emptyTail: fc.constantFrom('no', 'unconfirmed', 'confirmed', 7),
    fetchStartedAt: fc.oneof(fc.constant(VERSION), jsonNumber),
    fetchedAt: jsonNumber,
    fetchedOn: jsonNumber,
    originMs: fc.option(jsonNumber),
    seq: jsonNumber,
    rowCount: jsonNumber,
    answerRows: jsonNumber,
    lastDay: anyDay,
    emptySince: fc.array(fc.tuple(anyDay, jsonNumber), { maxLength: 2 }),
    hash: anyDigest,
    splitFrom: fc.option(
      fc.record(
        { from: anyDay, to: anyDay, sortedHash: anyDigest, generation: fc.string(), later: fc.json() },
        { requiredKeys: [] },
      ),
    ),
    accounts: fc.array(fc.string()),
    later: fc.json(),
  },
  { requiredKeys: [] },
);
/** Of rows, which deflate makes smaller, and of anything. */
const anyBody = fc.oneof(
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.json(), { maxLength: 40 })
    .map((rows) => Buffer.from(rows.map((row) => `{"date":"2026-11-10","clicks":${row}}`).join(',\n'))),
);
/** A day that was seen empty: its one run begins with itself. */
const emptyDay = fc.tuple(anyHeader, anyDay, jsonNumber).map(([header, day, sinceMs]) => {
  return { ...header, lastDay: day, emptySince: [[day, sinceMs]] };
});

describe('encodeEntry and decodeEntries', () => {
  it("are each other's inverse, for any header, body and version", () => {
    return fc.assert(
      fc.asyncProperty(
        fc.oneof(anyHeader, emptyDay, fc.object()),
        anyBody,
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        async (header, body, at) => {
          for (const version of [at, VERSION]) {
            const entry = entryOf(header, body, version);
            const decoded = (await decodeOne(ID, entry)) as RawEntry;
            expect(decoded.header).toEqual(asJson(header));
            expect(decoded.body.equals(body)).toBe(true);
            expect(entry.header.length).toBeLessThanOrEqual(PACKED_MAX_BYTES);
          }
        },
      ),
    );
  });

  it('deflate an entry once for two names, and read it under each name alone', async () => {
    const header = { ...DAY };
    const body = Buffer.from(' {"a":1},\n'.repeat(50));
    const other = Buffer.from(' {"a":2},\n'.repeat(50));
    const encode = (id: string, of = body, version = VERSION) => {
      return { version, ...encodeEntry({ id, version, header, body: of }) };
    };
    const [first, second] = [encode('a'), encode('b')];
    expect(second.body).toBe(first.body);
    expect(await decodeOne('a', first)).toMatchObject({ header, body });
    expect(await decodeOne('b', second)).toMatchObject({ header, body });
    expect(await decodeOne('a', second)).toBe('damaged');
    expect(await decodeOne('b', first)).toBe('damaged');
    // Of another body, or another time, nothing is taken over.
    encode('a');
    expect(await decodeOne('b', encode('b', other))).toMatchObject({ body: other });
    expect(await decodeOne('b', encode('b', other, VERSION + 1))).toMatchObject({ version: VERSION + 1 });
  });

  it('need no more than 128 bytes in front of a body, the stamp of the store included', () => {
    expect(PACKED_MAX_BYTES).toBeLessThanOrEqual(HEADER_MAX_BYTES);
    expect(STAMP_BYTES + HEADER_MAX_BYTES).toBeLessThanOrEqual(128);
    // What most days do not have takes no bytes in them.
    expect(entryOf(DAY).header.length).toBe(79);
    expect(entryOf({ ...DAY, originMs: 1 }).header.length).toBe(85);
    expect(entryOf({ ...DAY, emptySince: [[DAY.lastDay, VERSION]] }).header.length).toBe(91);
  });

  it("give the same facts to days that differ in what is a day's own alone", () => {
    const other = {
      ...DAY,
      fetchedAt: VERSION + 9000,
      fetchStartedAt: VERSION + 8000,
      lastDay: '2026-11-11',
      rowCount: 7,
      seq: 3,
      emptyTail: 'confirmed',
      emptySince: [['2026-11-11', VERSION]],
      hash: `${HASH.slice(0, -1)}w`,
      splitFrom: { ...DAY.splitFrom, to: '2026-11-12' },
    };
    const { facts } = entryOf(other, BODY, VERSION + 8000);
    expect(facts.equals(entryOf(DAY).facts)).toBe(true);
    expect(JSON.parse(facts.toString())).toEqual({
      originMs: null,
      accounts: DAY.accounts,
      columns: DAY.columns,
      types: DAY.types,
      paging: null,
      splitFrom: { generation: 'first' },
    });
  });

  it('find every flipped bit: the entry is damaged, or of another release, and never another', async () => {
    const entry = entryOf({ ...DAY, emptyTail: 'unconfirmed', emptySince: [['2026-11-10', VERSION]] });
    for (const part of ['header', 'body', 'facts'] as const) {
      for (let bit = 0; bit < entry[part].length * 8; bit += 1) {
        const flipped = Buffer.from(entry[part]);
        flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
        expect(await decodeOne(ID, { ...entry, [part]: flipped }), `${part}, bit ${bit}`).toBe('damaged');
      }
    }
    for (let bit = 0; bit < 48; bit += 1) {
      const version = Number(BigInt(VERSION) ^ (1n << BigInt(bit)));
      expect(await decodeOne(ID, { ...entry, version }), `version, bit ${bit}`).toBe('damaged');
    }
  });

  it('take parts that are splitFrom off, or of another entry, for damaged', async () => {
    const [entry, other] = [entryOf(DAY), entryOf({ ...DAY, accounts: ['2'] }, Buffer.from('{"a":3}'))];
    for (let length = 0; length < entry.header.length; length++)
      expect(await decodeOne(ID, { ...entry, header: entry.header.subarray(0, length) })).toBe('damaged');
    expect(await decodeOne(ID, { ...entry, body: other.body })).toBe('damaged');
    expect(await decodeOne(ID, { ...entry, facts: other.facts })).toBe('damaged');
    expect(await decodeOne(ID, { ...entry, header: Buffer.concat([entry.header, Buffer.from([0])]) })).toBe(
      'damaged',
    );
  });

  it('tell what a later release has written from what is damaged', async () => {
    expect(await decodeOne(ID, laterFormat(ID, entryOf(DAY)))).toBe('unknown');
  });

  it('use nothing of a release that found other accounts in an answer', async () => {
    expect(await decodeOne(ID, inFormat(ID, entryOf(DAY), 1))).toBe('unknown');
  });

  it("read no bytes that are nobody's", () => {
    return fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.uint8Array(), async (header, rest) => {
        const body = Buffer.from(rest);
        expect(await decodeOne(ID, { version: 1, header: Buffer.from(header), body, facts: body })).toBe(
          'damaged',
        );
      }),
    );
  });
});

describe('segment', () => {
  const rowsOf = (day: number, rows = 20) =>
    Buffer.from(
      Array.from(
        { length: rows },
        (_, row) =>
          `{"date":"2026-11-${day}","campaignId":${1000 + row},"clicks":${(row * day * 977) % 700}}`,
      ).join(',\n'),
    );

  function storedAs(plain: Buffer, bytes: Buffer, isDeflated = true): StoredBody {
    return { bytes, isDeflated, plainLength: plain.length, plainCrc: crc32(plain) };
  }

  function store(plain: Buffer): StoredBody {
    const bytes = deflateBody(plain);
    return storedAs(plain, bytes, bytes !== plain);
  }

  const anyBody = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.tuple(fc.integer({ min: 1, max: 30 }), fc.nat(50)).map(([day, rows]) => rowsOf(day, rows)),
  );

  describe('deflateBody and inflateBodies', () => {
    it("are each other's inverse, whatever lies together", () =>
      fc.assert(
        fc.asyncProperty(fc.array(anyBody, { maxLength: 8 }), async (plain) => {
          expect(plain.every((body) => deflateBody(body).length <= body.length)).toBe(true);
          expect(await inflateBodies(plain.map(store))).toEqual(plain);
        }),
      ));

    it('take bodies that are inflated on another thread', async () => {
      const plain = [rowsOf(10, 5000), rowsOf(11), rowsOf(12, 20_000)];
      const found = await inflateBodies(plain.map(store));
      expect(found.map((body, at) => body?.equals(plain[at] as Buffer))).toEqual([true, true, true]);
    });
  });

  describe('bytes that do not become what they were', () => {
    const plain = rowsOf(10);
    const segment = deflateBody(plain);
    const cases: readonly [string, StoredBody][] = [
      ['no deflate at all', storedAs(plain, Buffer.alloc(200, 0xff))],
      ['cut off', storedAs(plain, segment.subarray(0, -20))],
      ['with bytes behind it', storedAs(plain, Buffer.concat([segment, Buffer.from('{}')]))],
      ['with a last block, behind which nothing could be joined', storedAs(plain, deflateRawSync(plain))],
      ['shorter than said', { ...store(plain), plainLength: plain.length + 1 }],
      ['longer than said', { ...store(plain), plainLength: plain.length - 1 }],
      ['longer than could be', { ...store(plain), plainLength: 2 ** 32 - 1 }],
      ['of other content', { ...store(plain), plainCrc: 1 }],
      ['plain, and of other content', { ...storedAs(plain, plain, false), plainCrc: 1 }],
      ['more than a thousand times as large as said', bomb()],
      ['that goes on from what was before it', goesOn()],
    ];

    function bomb(): StoredBody {
      const huge = deflateBody(Buffer.alloc(3_000_000));
      return { bytes: huge, isDeflated: true, plainLength: 100, plainCrc: 0 };
    }

    function goesOn(): StoredBody {
      const finishFlush = constants.Z_FULL_FLUSH;
      return storedAs(plain, deflateRawSync(plain, { finishFlush, dictionary: rowsOf(10) }));
    }

    it.each(cases)('%s: it is damaged, and those beside it are not', async (_what, damaged) => {
      const others = [rowsOf(11), Buffer.alloc(0), rowsOf(12)];
      expect(await inflateBodies([damaged])).toEqual([null]);
      for (const at of [0, 1, 2, 3]) {
        const all = others.map(store).toSpliced(at, 0, damaged);
        expect(await inflateBodies(all)).toEqual((others as (Buffer | null)[]).toSpliced(at, 0, null));
      }
    });
  });
});

const MIB = 2 ** 20;

describe('checksums in turns', () => {
  it('are those of the bodies, however these are cut', async () => {
    const bodies = [0, 10, MIB - 10, 1, 3 * MIB + 7, 0, 5].map((bytes, at) => Buffer.alloc(bytes, `a${at}`));
    expect(await crcsInTurns(bodies)).toEqual(bodies.map((body) => crc32(body)));
  });

  it('give others a turn after each MiB, of one body or of many', async () => {
    expect(await turnsOf(() => crcsInTurns([Buffer.alloc(8 * MIB)]))).toBeGreaterThanOrEqual(7);
    const days = Array.from({ length: 80 }, () => Buffer.alloc(MIB / 10));
    expect(await turnsOf(() => crcsInTurns(days))).toBeGreaterThanOrEqual(7);
  });
});

it('an entry that is left plain for the store reads as the deflated one, whichever was made first', async () => {
  const header = { ...DAY };
  const body = Buffer.from('{"a":1},\n'.repeat(40));
  const write = { id: ID, version: VERSION, header, body };
  for (const order of [
    [true, false, true],
    [false, true, false],
  ])
    for (const isPlain of order) {
      const entry = { version: VERSION, ...encodeEntry({ ...write, isPlain }) };
      expect(entry.body.equals(body)).toBe(isPlain);
      const decoded = (await decodeOne(ID, entry)) as RawEntry;
      expect([decoded.header, decoded.body.equals(body)]).toEqual([header, true]);
      const changed = Buffer.from(entry.body);
      changed[3] = 0;
      expect(await decodeOne(ID, { ...entry, body: changed })).toBe('damaged');
    }
});

it('an entry that is left plain holds no digest that follows from its body', async () => {
  const anyBody = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(anyBody, fc.boolean(), async (body, isOwn) => {
      const header = { ...DAY, hash: isOwn ? bodyHash(body) : HASH };
      const entry = {
        version: VERSION,
        ...encodeEntry({ id: ID, version: VERSION, header, body, isPlain: true }),
      };
      expect(entry.header.includes(Buffer.from(header.hash, 'base64url').subarray(0, 16))).toBe(!isOwn);
      const decoded = (await decodeOne(ID, entry)) as RawEntry;
      expect([decoded.header, decoded.body.equals(body)]).toEqual([header, true]);
      const longer = Buffer.concat([body, Buffer.of(1)]);
      expect(await decodeOne(ID, { ...entry, body: longer })).toBe('damaged');
    }),
  );
});
