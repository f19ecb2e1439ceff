/** A joined gzip body, as other programs read it. */
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinGzip } from '../../src/reports/rows/join-gzip.js';
import { anyPieces, plainOf } from '../api/http/gzip-pieces.js';

/** `gzip -t` says nothing of what is right, and `gzip -dc` gives it. */
function gunzipBy(program: string, args: readonly string[], input: Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync(program, args, { input });
  if (error !== undefined) throw error;
  expect([program, status, stderr.toString()]).toEqual([program, 0, '']);
  return stdout;
}

describe('a joined gzip body', () => {
  it('is whole for gzip, and is what its pieces are', () => {
    fc.assert(
      fc.property(anyPieces, (pieces) => {
        const body = Buffer.concat(joinGzip(pieces));
        gunzipBy('gzip', ['-t'], body);
        expect(gunzipBy('gzip', ['-dc'], body)).toEqual(plainOf(pieces));
      }),
      { numRuns: 25 },
    );
  });

  it('is read by browsers, as DecompressionStream does', async () => {
    await fc.assert(
      fc.asyncProperty(anyPieces, async (pieces) => {
        const stream = new Blob(joinGzip(pieces).map((one) => new Uint8Array(one))).stream();
        const read = new Response(stream.pipeThrough(new DecompressionStream('gzip')));
        expect(Buffer.from(await read.arrayBuffer())).toEqual(plainOf(pieces));
      }),
      { numRuns: 25 },
    );
  });
});
