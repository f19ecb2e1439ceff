/** Deflated bodies that are joined, and checksums of large ones. */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  crcsInTurns,
  deflateBody,
  inflateBodies,
  type StoredBody,
} from '../../../src/reports/rows/segments.js';
import { turnsOf } from '../../support/turns.js';

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
