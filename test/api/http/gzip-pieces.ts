/** Pieces of a gzip body, deflated as the cache has them and plain. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import type { Segment } from '../../../src/reports/rows/entry.js';
import { deflateBody } from '../../../src/reports/rows/segments.js';

/** A piece, with what it is. */
interface Piece {
  readonly plain: Buffer;
  readonly piece: Buffer | Segment;
}

function deflated(plain: Buffer): Piece {
  const bytes = deflateBody(plain);
  if (bytes === plain) return { plain, piece: plain };
  return { plain, piece: { bytes, plainLength: plain.length, plainCrc: crc32(plain) } };
}

const anyRows = fc
  .array(fc.record({ date: fc.constant('2026-11-10'), name: fc.string(), clicks: fc.nat() }), {
    maxLength: 60,
  })
  .map((rows) => Buffer.from(rows.map((row) => JSON.stringify(row)).join(',\n')));
const anyPlain = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));

const known = new WeakMap<object, Buffer>();

export const anyPieces = fc
  .array(
    fc.oneof(
      anyRows.map(deflated),
      anyPlain.map((plain): Piece => ({ plain, piece: plain })),
    ),
    {
      maxLength: 12,
    },
  )
  .map((all) =>
    all.map(({ plain, piece }) => {
      known.set(piece, plain);
      return piece;
    }),
  );

/** What pieces of {@link anyPieces} are, all together. */
export function plainOf(pieces: readonly (Buffer | Segment)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => known.get(piece) as Buffer));
}
