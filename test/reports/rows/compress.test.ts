import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Coding } from '../../../src/reports/query/output-options.js';
import { compress } from '../../../src/reports/rows/compress.js';

type Decode = (body: Buffer) => Promise<Buffer>;
const zstd = (zlib as unknown as { zstdDecompress?: (body: Buffer, done: never) => void }).zstdDecompress;
const DECODERS: Readonly<Partial<Record<Coding, Decode>>> = {
  identity: async (body) => body,
  gzip: promisify(zlib.gunzip),
  br: promisify(zlib.brotliDecompress),
  ...(zstd === undefined ? {} : { zstd: promisify(zstd) as unknown as Decode }),
};
const codings = Object.entries(DECODERS) as [Coding, Decode][];

describe.each(codings)('%s', (coding, decode) => {
  it('gives the body again, in however many pieces it came', async () => {
    const body = fc.uint8Array({ maxLength: 3000 }).map((array) => Buffer.from(array));
    await fc.assert(
      fc.asyncProperty(body, fc.array(fc.nat(3000), { maxLength: 5 }), async (whole, cuts) => {
        const ends = [...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const pieces = ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end));
        expect(await decode(Buffer.concat(await compress(pieces, coding)))).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it('gives the body again when it is large and lies in shared memory', async () => {
    const pieces = Array.from({ length: 3 }, (_, at) => {
      const piece = Buffer.from(new SharedArrayBuffer(1_100_000));
      return piece.fill(`{"campaignId":${at},"spent":1.5},\n`);
    });
    const compressed = Buffer.concat(await compress(pieces, coding));
    expect((await decode(compressed)).equals(Buffer.concat(pieces))).toBe(true);
    if (coding !== 'identity') expect(compressed.length).toBeLessThan(100_000);
  });

  it('makes a body of no pieces an empty one', async () => {
    expect(await decode(Buffer.concat(await compress([], coding)))).toEqual(Buffer.alloc(0));
  });
});

describe('compress', () => {
  it('hands the pieces on as they are without a coding', async () => {
    const pieces = [Buffer.from('a'), Buffer.from('b')];
    expect(await compress(pieces, 'identity')).toBe(pieces);
  });

  it('makes of pieces about as little as of the whole', async () => {
    const pieces = Array.from({ length: 200 }, () => Buffer.from('{"campaignId":7,"spent":1.5},\n'));
    for (const coding of ['gzip', 'br'] as const) {
      const [inPieces, atOnce] = await Promise.all([
        compress(pieces, coding),
        compress([Buffer.concat(pieces)], coding),
      ]);
      const size = (list: readonly Buffer[]) => Buffer.concat(list).length;
      expect(size(inPieces)).toBeLessThan(size(atOnce) + 64);
    }
  });
});
