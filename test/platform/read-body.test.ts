import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { readBody as readPieces } from '../../src/platform/read-body.js';
import { startHttpPlatform, startTcpPlatform } from '../support/broken-platform.js';

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

function inPieces(body: Buffer, size: number): Readable {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
  return Readable.from(pieces, { objectMode: false });
}

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
      { numRuns: 60 },
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
      { numRuns: 40 },
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
      { numRuns: 150 },
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

  it('that unpacks to far more is cut off at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024));
    const { url } = await startHttpPlatform((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    const { body } = await request(url);
    const before = process.memoryUsage().arrayBuffers;
    await expect(readBody(body, 'gzip', 1_000_000)).rejects.toMatchObject({ code: 'upstream_too_large' });
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
