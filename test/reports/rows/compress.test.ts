/** Bodies in a coding, and deflated pieces joined. */

import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { crc32, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Coding } from '../../../src/reports/query/output-options.js';
import { compress } from '../../../src/reports/rows/compress.js';
import { combineCrc32, joinGzip } from '../../../src/reports/rows/join-gzip.js';
import { anyPieces, plainOf } from '../../api/http/gzip-pieces.js';

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
      { numRuns: 40 },
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
});

describe('compress', () => {
  it('hands the pieces on as they are without a coding', async () => {
    const pieces = [Buffer.from('a'), Buffer.from('b')];
    expect(await compress(pieces, 'identity')).toBe(pieces);
  });
});

describe('joinGzip', () => {
  it('is read by zlib to what its pieces are, whichever of them are deflated', () => {
    fc.assert(
      fc.property(anyPieces, (pieces) => {
        expect(gunzipSync(Buffer.concat(joinGzip(pieces)))).toEqual(plainOf(pieces));
      }),
    );
  });

  it('puts what is longer than a stored block into several', () => {
    for (const bytes of [65_534, 65_535, 65_536, 200_000]) {
      const plain = Buffer.alloc(bytes, 'meta');
      expect(gunzipSync(Buffer.concat(joinGzip([plain]))).equals(plain)).toBe(true);
    }
  });

  it('takes an empty piece for nothing, wherever it lies in memory', () => {
    const rows = Buffer.from('rows');
    // Node gives this one no memory at all.
    for (const empty of [randomBytes(0), Buffer.alloc(0), rows.subarray(4)])
      expect(gunzipSync(Buffer.concat(joinGzip([rows, empty, rows])))).toEqual(Buffer.from('rowsrows'));
  });

  it('copies no deflated piece', () => {
    const bytes = Buffer.from([0, 0, 0, 0xff, 0xff]);
    expect(joinGzip([{ bytes, plainLength: 0, plainCrc: 0 }])).toContain(bytes);
  });
});

describe('combineCrc32', () => {
  it('is the checksum of both together', () => {
    const bytes = fc.uint8Array({ maxLength: 5000 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(bytes, bytes, (first, last) => {
        const both = crc32(Buffer.concat([first, last]));
        expect(combineCrc32(crc32(first), crc32(last), last.length)).toBe(both);
      }),
    );
    const large = Buffer.alloc(20_000_001, 'rows');
    const [start, end] = [large.subarray(0, 77), large.subarray(77)];
    expect(combineCrc32(crc32(start), crc32(end), end.length)).toBe(crc32(large));
  });
});
