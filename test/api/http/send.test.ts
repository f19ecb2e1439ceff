import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { endEmpty, headText, KEEP_ALIVE_MS, sendAtOnce } from '../../../src/api/http/send.js';
import { listenGateway } from '../../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { rule } from '../../support/scene.js';
import { REPORT, withTeam } from '../../support/start-gateway.js';

const LENGTH = 40_000;

/** Its answer: forty thousand times the last character of its target. */
const bodyOf = ({ url = '' }: IncomingMessage) => Buffer.alloc(LENGTH, url.at(-1));

const answer = (request: IncomingMessage, response: ServerResponse) =>
  sendAtOnce(
    response,
    200,
    '',
    Buffer.from(`${headText(['content-length', String(LENGTH)])}\r\n`),
    bodyOf(request),
  );

async function serve(listener: RequestListener) {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://127.0.0.1:${port}` };
}

const get = (target: string, ...headers: string[]) =>
  head(`GET ${target} HTTP/1.1`, ['host: a.test', ...headers]);

it('keeps an answer that waits for its reader apart from later answers', async () => {
  const { server, port } = await serve((request, response) => {
    endEmpty(request);
    if (answer(request, response)) return;
    response.writeHead(200, ['content-length', String(LENGTH)]).end(bodyOf(request));
  });
  const answered = () => once(server, 'request').then(([, response]) => response as ServerResponse);
  const slow = connect(port, '127.0.0.1').pause();
  let sent = 0;
  for (let last: ServerResponse | null = null; (last?.writableLength ?? 0) === 0; sent++) {
    const next = answered();
    slow.write(get('/a'));
    last = await next;
  }
  const after = connect(port, '127.0.0.1');
  after.write(get('/b'));
  await once(after, 'data');
  after.destroy();
  slow.write(get('/c', 'connection: close'));
  let text = '';
  slow.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  slow.resume();
  await once(slow, 'close');
  const bodies = readAnswers(text).map(({ body }) => body);
  expect(bodies).toHaveLength(sent + 1);
  expect(new Set(bodies)).toEqual(new Set(['a'.repeat(LENGTH), 'c'.repeat(LENGTH)]));
});

it('sends nothing where the answer must wait or ends the connection', async () => {
  const sent: boolean[] = [];
  const { url } = await serve((request, response) => {
    if (request.url === '/x') response.setHeader('connection', 'close');
    sent.push(answer(request, response));
    if (sent.at(-1) === false) response.writeHead(200, { 'content-length': 1 }).end('1');
  });
  const text = await exchange(url, get('/a') + get('/b') + get('/c', 'connection: close'));
  expect(readAnswers(text).map(({ body }) => body.length)).toEqual([LENGTH, 1, 1]);
  expect(sent).toEqual([true, false, false]);
  expect(readAnswers(await exchange(url, get('/x')))).toMatchObject([{ status: 200, body: '1' }]);
});

it('a hit is one write, checks no header, and does not read its request', async () => {
  const { gateway, key } = await withTeam({ logLevel: 'info', config: rule({ divisible: 'never' }) });
  const dataUrl = await listenGateway(gateway);
  const target = `${REPORT}?advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07`;
  const hit = get(target, `x-api-key: ${key}`);
  for (let n = 0; n < 2; n++) await exchange(dataUrl, get(target, `x-api-key: ${key}`, 'connection: close'));
  let writes = 0;
  gateway.data.server.once('connection', (socket) => {
    const [one, several] = [vi.spyOn(socket, 'write'), vi.spyOn(socket, '_writev')];
    socket.once('close', () => {
      writes = one.mock.calls.length + several.mock.calls.length;
    });
  });
  const [checked, read] = [
    vi.spyOn(ServerResponse.prototype, 'writeHead'),
    vi.spyOn(Readable.prototype, 'read'),
  ];
  onTestFinished(() => void vi.restoreAllMocks());
  const caller = connect(Number(new URL(dataUrl).port), '127.0.0.1');
  for (let n = 0; n < 5; n++) {
    caller.write(hit);
    expect(String(await once(caller, 'data'))).toMatch(/^HTTP\/1\.1 200 OK\r\n.*; hit;/s);
  }
  expect(checked).not.toHaveBeenCalled();
  expect(read.mock.contexts.filter((stream) => stream instanceof IncomingMessage)).toEqual([]);
  caller.destroy();
  await vi.waitFor(() => expect(writes).toBe(5));
});
