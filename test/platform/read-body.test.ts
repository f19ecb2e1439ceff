import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { readBody as readPieces } from '../../src/platform/read-body.js';
import { startHttpPlatform, startTcpPlatform } from '../support/raw-platform.js';
import { runs } from '../support/runs.js';

const ENCODERS = {
  identity: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gzipSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
  br: (bytes: Buffer) => brotliCompressSync(bytes),
} as const;
type Encoding = keyof typeof ENCODERS;
const encoding = fc.constantFrom(...(Object.keys(ENCODERS) as Encoding[]));
const bytes = fc.uint8Array({ maxLength: 5000 }).map((array) => Buffer.from(array));

const readBody = async (...args: Parameters<typeof readPieces>) => Buffer.concat(await readPieces(...args));

const inPieces = (body: Buffer, size: number): Readable => inTurns(body, [size]);

const MIB = 1_048_576;
const LIMIT = 16 * MIB;

/** Bytes in which a piece that is lost, doubled or moved shows. */
function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}

function inTurns(body: Buffer, sizes: readonly number[]): Readable {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    pieces.push(body.subarray(at, at + size));
    at += size;
  }
  return Readable.from(pieces, { objectMode: false });
}
const isShared = (piece: Buffer) => piece.buffer instanceof SharedArrayBuffer;
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'read',
    (error: unknown) => (error instanceof GatewayError ? error.code : String(error)),
  );

describe('a body', () => {
  it('is read whole in every coding and in any pieces', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, encoding, fc.integer({ min: 1, max: 700 }), async (body, coding, size) => {
        const stream = inPieces(ENCODERS[coding](body), size);
        expect(await readBody(stream, coding, 5000)).toEqual(body);
      }),
      runs(30, 60),
    );
  });

  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    [' GZIP ', 'gzip'],
    ['x-gzip', 'gzip'],
    ['Identity', 'identity'],
  ] as const)('with content-encoding %j is read as %s', async (header, coding) => {
    const body = Buffer.from('{"data":[]}');
    expect(await readBody(inPieces(ENCODERS[coding](body), 3), header, 100)).toEqual(body);
  });

  it('may be exactly as long as the limit, and no byte longer, by its decoded length', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3000 }), encoding, async (length, coding) => {
        const encoded = ENCODERS[coding](Buffer.alloc(length, 'x'));
        expect(await codeOf(readBody(inPieces(encoded, 100), coding, length))).toBe('read');
        expect(await codeOf(readBody(inPieces(encoded, 100), coding, length - 1))).toBe('upstream_too_large');
      }),
      runs(20, 40),
    );
  });

  it('that was damaged or cut anywhere is invalid or, by luck, still a body; never another error', async () => {
    const text = Buffer.from(JSON.stringify(Array.from({ length: 50 }, (_, index) => ({ id: index }))));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('gzip' as const, 'deflate' as const, 'br' as const),
        fc.nat(10_000),
        fc.integer({ min: 0, max: 255 }),
        async (coding, at, value) => {
          const encoded = ENCODERS[coding](text);
          const damaged = Buffer.from(encoded);
          damaged[at % damaged.length] = value;
          expect(['read', 'upstream_invalid_response']).toContain(
            await codeOf(readBody(inPieces(damaged, 50), coding, 100_000)),
          );
          const cut = encoded.subarray(0, at % encoded.length);
          const outcome = await codeOf(readBody(inPieces(cut, 50), coding, 100_000));
          // Of nothing at all, some decoders make an empty body.
          if (cut.length > 0) expect(outcome, `cut to ${cut.length}`).toBe('upstream_invalid_response');
        },
      ),
      runs(50, 150),
    );
  });

  it.each(['gzip, gzip', 'gzip,gzip,gzip,gzip,gzip,gzip', 'zstd', 'compress', 'identity, gzip', 'nonsense'])(
    'in the coding %j is not read, and its source is let go of',
    async (header) => {
      const source = inPieces(Buffer.alloc(10), 1);
      await expect(readBody(source, header, 100)).rejects.toMatchObject({
        code: 'upstream_invalid_response',
        message: `content-encoding ${header}`,
      });
      expect(source.destroyed).toBe(true);
    },
  );
});

describe('a body from a real socket', () => {
  async function request(url: URL) {
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    return agent.request({ origin: url.origin, path: '/', method: 'GET' });
  }

  it.each([
    [1, 10_000],
    [1, 100_000],
    [32, 8 * MIB],
  ])('%i times %i bytes, packed small, are too large', async (times, size) => {
    const packed = Buffer.concat(Array<Buffer>(times).fill(gzipSync(Buffer.alloc(size))));
    const { url } = await startHttpPlatform((_request, response) => {
      const headers = { 'content-encoding': 'gzip', 'content-length': packed.length };
      response.writeHead(200, headers).end(packed);
    });
    const { body } = await request(url);
    const before = process.memoryUsage().arrayBuffers;
    await expect(readBody(body, 'gzip', 2048)).rejects.toMatchObject({ code: 'upstream_too_large' });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
    expect(body.destroyed).toBe(true);
  });

  it('that never ends is cut off at the limit, and its connection closed', async () => {
    const { url, connections } = await startHttpPlatform((_request, response) => {
      const pour = () => {
        while (response.write(Buffer.alloc(65_536, 'x')));
      };
      response.on('drain', pour);
      pour();
    });
    const { body } = await request(url);
    await expect(readBody(body, undefined, 1_000_000)).rejects.toMatchObject({ code: 'upstream_too_large' });
    await expect.poll(() => connections.size).toBe(0);
  });

  it.each([
    ['shorter than its content-length', 'content-length: 100\r\n\r\n{"data":['],
    ['without its last chunk', 'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'],
  ])('%s is an error of the connection, for the client to judge', async (_what, rest) => {
    const { url } = await startTcpPlatform((socket) => {
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    });
    const { body } = await request(url);
    const outcome = await codeOf(readBody(body, undefined, 1000));
    expect(outcome).toMatch(/Error/);
    expect(outcome).not.toMatch(/GatewayError/);
  });
});

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
        const pieces = await readPieces(inTurns(body, chunks), undefined, LIMIT);
        expect(Buffer.concat(pieces).equals(body)).toBe(true);
        const shared = size > MIB;
        expect(pieces.every((piece) => isShared(piece) === shared)).toBe(true);
        expect(pieces).toHaveLength(shared ? Math.ceil(size / MIB) : 1);
        expect(pieces.every((piece) => piece.length > 0 && piece.length <= MIB)).toBe(true);
      }),
      runs(15, 40),
    );
  });

  it('is judged by its decoded size', async () => {
    const body = Buffer.alloc(3 * MIB, 'x');
    const pieces = await readPieces(inTurns(gzipSync(body), [1000]), 'gzip', LIMIT);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
    expect(pieces.map(isShared)).toEqual([true, true, true]);
  });

  it('may be as long as the limit, to the byte, across the pieces', async () => {
    const limit = 2 * MIB + 5;
    const read = (size: number) => readPieces(inTurns(whole.subarray(0, size), [50_000]), undefined, limit);
    expect(Buffer.concat(await read(limit))).toHaveLength(limit);
    await expect(read(limit + 1)).rejects.toMatchObject({ code: 'upstream_too_large' });
  });

  it('shares no memory with another body', async () => {
    const [one, two] = await Promise.all(
      ['a', 'b'].map((letter) =>
        readPieces(inTurns(Buffer.alloc(MIB + 10, letter), [64_000]), undefined, LIMIT),
      ),
    );
    const memories = [...(one ?? []), ...(two ?? [])].map(({ buffer }) => buffer);
    expect(new Set(memories).size).toBe(memories.length);
    expect(new Set(Buffer.concat(one ?? []).toString())).toEqual(new Set('a'));
  });
});

describe('a body of nothing', () => {
  it('is one empty piece', async () => {
    expect(await readPieces(Readable.from([]), undefined, LIMIT)).toEqual([Buffer.alloc(0)]);
  });
});
