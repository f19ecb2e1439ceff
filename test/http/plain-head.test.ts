/** Whatever the strict reader takes, Node's parser reads as the very same requests; what it leaves is Node's to judge. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { type PlainHead, readPlainHead } from '../../src/http/plain-head.js';
import { exchange, head } from '../support/raw-socket.js';

const MAX = 4096;

/** Requests of a text as the strict reader has them, and where it stopped. */
function readAll(text: string): { heads: PlainHead[]; end: number } {
  const heads: PlainHead[] = [];
  let end = 0;
  for (;;) {
    const one = readPlainHead(text, end, MAX);
    if (one === null) return { heads, end };
    heads.push(one);
    end = one.end;
  }
}

/** A server that tells what Node's parser read. */
async function nodeReader(): Promise<(text: string) => Promise<Pick<IncomingMessage, Read>[]>> {
  let seen: Pick<IncomingMessage, Read>[] = [];
  const server = createServer({ maxHeaderSize: MAX, requireHostHeader: false }, (request, response) => {
    const { method, url, httpVersion, rawHeaders } = request;
    seen.push({ method, url, httpVersion, rawHeaders });
    response.end();
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const last = head('GET /the-last HTTP/1.1', ['host: a', 'connection: close']);
  return async (text) => {
    seen = [];
    await exchange(`http://127.0.0.1:${port}`, text + last);
    return seen.slice(0, -1);
  };
}
type Read = 'method' | 'url' | 'httpVersion' | 'rawHeaders';

const HOST = 'Host: gateway.test:8080';
const PLAIN = [
  'x-api-key: dgw_0',
  'Authorization: Bearer dgw_0',
  'accept: text/csv, */*;q=0.1',
  'accept-encoding: gzip,  br',
  'if-none-match: "a", W/"b"',
  'Connection: keep-alive',
  'x-forwarded-for: 10.0.0.1, 10.0.0.2',
  'cookie: a=b; c="d"',
];
const LINES = [
  'host: a',
  'x-empty:',
  'x-tight:1',
  'x-wide:   1',
  'x-after: 1  ',
  'content-length: 3',
  'transfer-encoding: chunked',
  'connection: upgrade',
  'upgrade: h2c',
  'te: trailers',
  'x note: 1',
  'x-note : 1',
  ' folded: 1',
];
const TARGETS = [
  '/api/v1/report/a/get?b=1&c=%20',
  '/',
  '*',
  'http://h/',
  '/a b',
  '/a#b',
  '/"',
  '/é',
  '/a?[0]=|',
];
const STARTS = ['GET ', 'GET  ', 'get ', 'HEAD ', 'POST ', '\r\nGET ', 'GET\t'];
const ENDS = [' HTTP/1.1\r\n', ' HTTP/1.0\r\n', ' HTTP/1.1\n', ' http/1.1\r\n', '  HTTP/1.1\r\n', '\r\n'];
const STRANGE = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  '\t',
  ' ',
  ':',
  '\x0b',
  '\x7f',
  '\x80',
  'é',
  ',',
  'x',
  '\r\n\r\n',
  '\r\n ',
];

/** The first of them is what is plain, and the likeliest. */
const oneOf = (all: readonly string[]) =>
  fc.oneof(
    { weight: 15, arbitrary: fc.constant(all[0] as string) },
    { weight: 1, arbitrary: fc.constantFrom(...all) },
  );
const request = fc
  .tuple(
    oneOf(STARTS),
    oneOf(TARGETS),
    oneOf(ENDS),
    fc.array(fc.constantFrom(...PLAIN, ...PLAIN, ...PLAIN, ...LINES), { maxLength: 5 }),
    fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  )
  .map(([start, target, end, lines, hasHost]) =>
    [
      start + target + end + (hasHost ? `${HOST}\r\n` : ''),
      ...lines.map((line) => `${line}\r\n`),
      '\r\n',
    ].join(''),
  );
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.integer({ min: 0, max: 2 }),
  insert: fc.constantFrom('', ...STRANGE),
});
const text = fc
  .tuple(fc.array(request, { minLength: 1, maxLength: 3 }), fc.array(mutation, { maxLength: 2 }))
  .map(([requests, mutations]) =>
    mutations.reduce((all, { at, remove, insert }) => {
      const place = Math.floor(at * all.length);
      return all.slice(0, place) + insert + all.slice(place + remove);
    }, requests.join('')),
  );

it('takes no request that Node would read in another way', async () => {
  const readByNode = await nodeReader();
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(text, async (sent) => {
      const { heads, end } = readAll(sent);
      // Behind a request to close Node reads no further, and neither does who uses the reader.
      if (heads.length === 0 || heads.some(({ close }) => close)) return;
      taken += 1;
      const plain = heads.map(({ method, url, httpVersion, rawHeaders }) => ({
        method,
        url,
        httpVersion,
        rawHeaders,
      }));
      expect(await readByNode(sent.slice(0, end))).toEqual(plain);
    }),
    { numRuns: 3000 },
  );
  expect(taken).toBeGreaterThan(200);
});

it('takes a request of the usual clients, and says where the next begins', () => {
  const sent = head('GET /api/v1/report/a/get?b=1 HTTP/1.1', [
    'Host: gateway.test:8080',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64)',
    'X-Api-Key: dgw_0',
    'x-forwarded-for: 10.0.0.1',
    'Connection: Keep-Alive',
  ]);
  expect(readPlainHead(`${sent}GET`, 0, MAX)).toMatchObject({
    url: '/api/v1/report/a/get?b=1',
    rawHeaders: expect.arrayContaining(['X-Api-Key', 'dgw_0']),
    forwardedFor: '10.0.0.1',
    close: false,
    end: sent.length,
  });
  expect(readPlainHead(sent + sent, sent.length, MAX)?.end).toBe(2 * sent.length);
  expect(readPlainHead(sent.replace('Keep-Alive', 'close'), 0, MAX)?.close).toBe(true);
});

it.each([
  ['a bare line feed', (sent: string) => sent.replace('\r\nx', '\nx')],
  ['a bare carriage return', (sent: string) => sent.replace('1\r\n', '1\r')],
  ['a folded line', (sent: string) => sent.replace('x-note: 1', 'x-note: 1\r\n 2')],
  ['a NUL', (sent: string) => sent.replace('x-note: 1', 'x-note: 1\0')],
  ['a tab', (sent: string) => sent.replace('x-note: 1', 'x-note:\t1')],
  ['a byte that is no ASCII', (sent: string) => sent.replace('x-note: 1', 'x-note: \xe9')],
  ['a space before the colon', (sent: string) => sent.replace('x-note:', 'x-note :')],
  ['no value', (sent: string) => sent.replace('x-note: 1', 'x-note: ')],
  ['no host', (sent: string) => sent.replace('host: a\r\n', '')],
  ['two hosts', (sent: string) => sent.replace('host: a', 'host: a\r\nhost: a')],
  ['a list of hosts', (sent: string) => sent.replace('host: a', 'host: a,b')],
  ['a user in the host', (sent: string) => sent.replace('host: a', 'host: b@a')],
  ['a length', (sent: string) => sent.replace('x-note: 1', 'Content-Length: 0')],
  ['a coding', (sent: string) => sent.replace('x-note: 1', 'transfer-encoding: chunked')],
  ['an expectation', (sent: string) => sent.replace('x-note: 1', 'Expect: 100-continue')],
  ['an upgrade', (sent: string) => sent.replace('x-note: 1', 'upgrade: h2c')],
  [
    'a list of connection options',
    (sent: string) => sent.replace('x-note: 1', 'connection: keep-alive, x-note'),
  ],
  ['two connections', (sent: string) => sent.replace('x-note: 1', 'connection: close\r\nconnection: close')],
  [
    'two lists of proxies',
    (sent: string) => sent.replace('x-note: 1', 'x-forwarded-for: b\r\nx-forwarded-for: c'),
  ],
  ['another method', (sent: string) => sent.replace('GET', 'HEAD')],
  ['another version', (sent: string) => sent.replace('1.1', '1.0')],
  ['an absolute target', (sent: string) => sent.replace('/api', 'http://a/api')],
  ['a fragment', (sent: string) => sent.replace('/api', '/api#')],
  ['an empty line before it', (sent: string) => `\r\n${sent}`],
  ['no end', (sent: string) => sent.slice(0, -1)],
  ['no header', (sent: string) => sent.slice(0, sent.indexOf('\r\n') + 2)],
  ['a head that is too long', (sent: string) => sent.replace('x-note: 1', `x-note: ${'1'.repeat(MAX)}`)],
])('leaves %s to Node', (_what, change) => {
  const plain = head('GET /api HTTP/1.1', ['host: a', 'x-note: 1', 'x-last: 1']);
  expect(readPlainHead(plain, 0, MAX)).not.toBeNull();
  const changed = change(plain);
  expect(changed).not.toBe(plain);
  expect(readPlainHead(changed, 0, MAX)).toBeNull();
});

it('takes no longer for a text that is nearly a request than for one that is', () => {
  // Looked at once for each way to read it, this would not end in the time of a test.
  const long = `GET /${'a'.repeat(30_000)}?${'a: a '.repeat(200)} HTTP/1.1\r\n${'a: a a a a\r\n'.repeat(2000)}a: ${'a '.repeat(10_000)}\x00`;
  expect(readPlainHead(long, 0, 65_536)).toBeNull();
});
