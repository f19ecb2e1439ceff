import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deflateBody } from '../../../src/reports/cache/entry.js';
import { type Finished, pack, unpack } from '../../../src/reports/cache/finished.js';
import { anyPieces, plainOf } from '../../api/http/gzip-pieces.js';

function finishedWith(body: readonly Buffer[], coding: Finished['coding'] = 'identity'): Finished {
  return {
    ...{ status: 200, contentType: 'application/json', tag: 'tag', accounts: ['1'], seq: 3, weight: 1 },
    ...{
      asOfMs: 1,
      newestMs: 2,
      freshUntilMs: 3,
      stale: false,
      rowCount: 4,
      revision: null,
      warnings: [],
      coding,
      checkFromMs: null,
      madeOf: [],
      isPieced: false,
      inflatesTo: null,
      replies: null,
    },
    ...{ body, bytes: body.reduce((sum, piece) => sum + piece.length, 0) },
  };
}

const rows = (count: number) => Buffer.from('{"spent":1.25,"clicks":17},\n'.repeat(count));

describe('a finished answer in memory', () => {
  it('is the same again, whatever its body is', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
      fc.integer({ min: 0, max: 3000 }).map(rows),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 3 }),
        fc.constantFrom<Finished['coding']>('identity', 'gzip', 'br'),
        (body, coding) => {
          const finished = finishedWith(body, coding);
          const held = pack(finished, null);
          expect(unpack(held)).toEqual(finished);
          if (held.inflatesTo !== null) expect(held.body[0]?.buffer.byteLength).toBe(held.bytes);
        },
      ),
    );
  });

  it('is the same again when it was joined of what the store has deflated', () => {
    fc.assert(
      fc.property(anyPieces, (pieces) => {
        const finished = finishedWith([plainOf(pieces)]);
        const held = pack(finished, pieces);
        expect(unpack(held)).toEqual(finished);
        if (held.inflatesTo !== null) expect(held.body[0]?.buffer.byteLength).toBe(held.bytes);
      }),
    );
    const many = rows(300);
    const segment = { bytes: deflateBody(many), plainLength: many.length, plainCrc: crc32(many) };
    expect(pack(finishedWith([many]), [segment]).inflatesTo).toBe(many.length);
  });

  it.each([
    ['a report', [rows(300)], 'identity', 'packed'],
    ['one of a few rows', [rows(3)], 'identity', 'ready'],
    ['one that is coded', [rows(300)], 'gzip', 'ready'],
    ['one in pieces', [rows(300), rows(300)], 'identity', 'ready'],
    ['one that is inflated too long at once', [rows(3000)], 'identity', 'ready'],
    ['what does not become smaller', [randomBytes(8000)], 'identity', 'ready'],
  ] as const)('%s lies there as it should', (_what, body, coding, kind) => {
    expect(pack(finishedWith(body, coding), null).inflatesTo === null).toBe(kind === 'ready');
  });

  it('takes a quarter of the room when it is packed', () => {
    const held = finishedWith([rows(300)]);
    expect(pack(held, null).bytes).toBeLessThan(held.bytes / 4);
  });
});
