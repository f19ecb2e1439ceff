import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBody } from '../../src/platform/read-body.js';

const MIB = 1_048_576;
const LIMIT = 16 * MIB;

/** Bytes in which a piece that is lost, doubled or moved shows. */
function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}

function inPieces(body: Buffer, sizes: readonly number[]): Readable {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    pieces.push(body.subarray(at, at + size));
    at += size;
  }
  return Readable.from(pieces, { objectMode: false });
}
const isShared = (piece: Buffer) => piece.buffer instanceof SharedArrayBuffer;

describe('a large body', () => {
  const whole = patterned(5 * MIB);
  const length = fc.oneof(
    fc.integer({ min: MIB - 2, max: MIB + 2 }),
    fc.integer({ min: 2 * MIB - 2, max: 2 * MIB + 2 }),
    fc.integer({ min: 1, max: whole.length }),
  );
  const sizes = fc.array(
    fc.oneof(fc.integer({ min: 1000, max: 70_000 }), fc.constantFrom(16_384, 65_536, MIB - 1, MIB, MIB + 1)),
    { minLength: 1, maxLength: 4 },
  );

  it('is whole and in order, in whatever pieces it comes; shared from above 1 MiB on', async () => {
    await fc.assert(
      fc.asyncProperty(length, sizes, async (size, chunks) => {
        const body = whole.subarray(0, size);
        const pieces = await readBody(inPieces(body, chunks), undefined, LIMIT);
        expect(Buffer.concat(pieces).equals(body)).toBe(true);
        const shared = size > MIB;
        expect(pieces.every((piece) => isShared(piece) === shared)).toBe(true);
        expect(pieces).toHaveLength(shared ? Math.ceil(size / MIB) : 1);
        expect(pieces.every((piece) => piece.length > 0 && piece.length <= MIB)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('is judged by its decoded size', async () => {
    const body = Buffer.alloc(3 * MIB, 'x');
    const pieces = await readBody(inPieces(gzipSync(body), [1000]), 'gzip', LIMIT);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
    expect(pieces.map(isShared)).toEqual([true, true, true]);
  });

  it('may be as long as the limit, to the byte, across the pieces', async () => {
    const limit = 2 * MIB + 5;
    const read = (size: number) => readBody(inPieces(whole.subarray(0, size), [50_000]), undefined, limit);
    expect(Buffer.concat(await read(limit))).toHaveLength(limit);
    await expect(read(limit + 1)).rejects.toMatchObject({ code: 'upstream_too_large' });
  });

  it('shares no memory with another body', async () => {
    const [one, two] = await Promise.all(
      ['a', 'b'].map((letter) =>
        readBody(inPieces(Buffer.alloc(MIB + 10, letter), [64_000]), undefined, LIMIT),
      ),
    );
    const memories = [...(one ?? []), ...(two ?? [])].map(({ buffer }) => buffer);
    expect(new Set(memories).size).toBe(memories.length);
    expect(new Set(Buffer.concat(one ?? []).toString())).toEqual(new Set('a'));
  });
});

describe('a body of nothing', () => {
  it('is one empty piece', async () => {
    expect(await readBody(Readable.from([]), undefined, LIMIT)).toEqual([Buffer.alloc(0)]);
  });
});
