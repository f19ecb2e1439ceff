import { randomBytes } from 'node:crypto';
import { crc32, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineCrc32, joinGzip } from '../../../src/reports/rows/join-gzip.js';
import { anyPieces, plainOf } from '../../api/http/gzip-pieces.js';

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
