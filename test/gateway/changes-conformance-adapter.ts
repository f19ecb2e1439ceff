/**
 * Streams of the conformance suite of Durable Streams, played by one feed: each is a series of its own. What the suite writes is
 * answered here, and becomes entries of the feed; what it reads (GET, HEAD) is answered by the gateway.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type ChangeKind, encodeEntry } from '../../src/reports/feed/entry.js';
import type { LiveScene } from './changes-live-scene.js';
import { CHANGES } from './changes-scene.js';

const SERIES_CHARS = 43;
const SHOWN_CHARS = 22;
/** A long poll of which nobody changes the stream is not waited for: so much later its 30 seconds are over. */
const POLL_MS = 1500;

/** @returns the address for the suite. Ended with the test */
export async function startAdapter(scene: LiveScene): Promise<string> {
  const streams = new Map<string, { readonly series: string; revisions: number }>();
  let count = 0;

  async function append(name: string, body: string): Promise<void> {
    const stream = streams.get(name);
    if (stream === undefined || body === '') return;
    const { series } = stream;
    for (let left = messagesIn(body); left > 0; left -= 1) {
      const before = stream.revisions === 0 ? null : stream.revisions.toString(36);
      stream.revisions += 1;
      const flags = { isFinal: false, afterFinal: false, isMethod: false };
      const kind: ChangeKind = before === null ? 'first' : 'restated';
      const change = { day: 7, revision: stream.revisions.toString(36), before, kind, ...flags };
      const at = scene.gateway.clock.now();
      await scene.gateway.store.changes.append(
        encodeEntry({ type: 'days', series, month: '2026-11', at, txid: '1', changes: [change] }),
      );
    }
  }

  async function write(name: string, { method }: IncomingMessage, body: string): Promise<number> {
    const isThere = streams.has(name);
    if (method === 'DELETE') return streams.delete(name) ? 204 : 404;
    if (method === 'POST' && !isThere) return 404;
    if (!isThere) {
      count += 1;
      streams.set(name, {
        series: String(count).padStart(SHOWN_CHARS, '0').padEnd(SERIES_CHARS, '0'),
        revisions: 0,
      });
    }
    await append(name, body);
    return method === 'POST' ? 204 : isThere ? 200 : 201;
  }

  async function answerWrite(
    name: string,
    incoming: IncomingMessage,
    body: string,
    outgoing: ServerResponse,
  ) {
    const status = await write(name, incoming, body);
    outgoing.writeHead(status, { 'stream-next-offset': await scene.now() }).end();
  }

  function read(name: string, query: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const series = streams.get(name)?.series.slice(0, SHOWN_CHARS);
    if (series === undefined) {
      outgoing.writeHead(404).end();
      return;
    }
    const target = `${scene.url}${CHANGES}?series=${series}${query === '' ? '' : `&${query}`}`;
    const headers = { ...incoming.headers, host: new URL(scene.url).host, 'x-api-key': scene.key };
    const over = query.includes('live=long-poll')
      ? setTimeout(() => scene.gateway.clock.advanceMonotonic(30_000), POLL_MS)
      : undefined;
    const asked = request(target, { method: incoming.method ?? 'GET', headers }, (answer) => {
      clearTimeout(over);
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    asked.on('error', () => outgoing.destroy()).end();
    outgoing.on('close', () => {
      clearTimeout(over);
      asked.destroy();
    });
  }

  const server = createServer((incoming, outgoing) => {
    const [name = '', query = ''] = (incoming.url ?? '').split(/\?(.*)/s);
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    incoming.on('end', () => {
      if (incoming.method === 'GET' || incoming.method === 'HEAD') read(name, query, incoming, outgoing);
      else void answerWrite(name, incoming, body, outgoing);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** In JSON an array is so many messages; any other body is one. */
function messagesIn(body: string): number {
  try {
    const value: unknown = JSON.parse(body);
    return Array.isArray(value) ? value.length : 1;
  } catch {
    return 1;
  }
}
