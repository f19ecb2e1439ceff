/** A platform of a test's own making, on real sockets, for answers that the simulator would not give. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait-for.js';

export interface RawPlatform {
  readonly url: string;
  /** The token the gateway is to use; looks like the ones of the platform's framework. */
  readonly token: string;
  /** Every request so far, as it came. */
  readonly requests: readonly IncomingMessage[];
  /** Connections open now. */
  readonly connections: ReadonlySet<Socket>;
  /** Replaces what answers: requests that come from now on, at once. */
  answer(handler: Handler): void;
  /** Answers nothing from now on. */
  hold(): void;
  /** Answers what is held, and from now on at once. */
  release(): void;
  /** Resolves when so many requests have come, and what the gateway does meanwhile has settled. */
  arrived(count: number): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Ended with the test. */
export async function startRawPlatform(handler: Handler): Promise<RawPlatform> {
  const { close, ...platform } = await openRawPlatform(handler);
  onTestFinished(close);
  return platform;
}

/** One that holds its answers from the beginning. Ended with the test. */
export async function startHeldPlatform(handler: Handler): Promise<RawPlatform> {
  const platform = await startRawPlatform(handler);
  platform.hold();
  return platform;
}

export async function openRawPlatform(handler: Handler): Promise<RawPlatform & { close(): Promise<void> }> {
  const requests: IncomingMessage[] = [];
  const held: (() => void)[] = [];
  let [answer, holding] = [handler, false];
  const server = createServer((request, response) => {
    requests.push(request);
    const now = answer;
    if (holding) held.push(() => now(request, response));
    else now(request, response);
  });
  server.keepAliveTimeout = 60_000;
  return {
    ...(await listen(server)),
    token: '42|platform/token"of_this-test',
    requests,
    answer(next) {
      answer = next;
      holding = false;
    },
    hold() {
      holding = true;
    },
    release() {
      holding = false;
      for (const late of held.splice(0)) late();
    },
    async arrived(count) {
      await waitFor(`${count} requests`, () => requests.length >= count);
      for (let turn = 0; turn < 20; turn++) await turnOfTheLoop();
    },
  };
}

interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  body: string;
}

export interface HttpPlatform extends Pick<RawPlatform, 'connections'> {
  readonly url: URL;
  readonly seen: readonly SeenRequest[];
}

/** The same for a client without a gateway: bodies are read. Ended with the test. */
export async function startHttpPlatform(answer: Handler): Promise<HttpPlatform> {
  const seen: SeenRequest[] = [];
  const { url, connections } = await startRawPlatform((request, response) => {
    const { method = '', url: target = '', headers, rawHeaders } = request;
    const noted: SeenRequest = { method, url: target, headers, rawHeaders, body: '' };
    seen.push(noted);
    request.setEncoding('utf8').on('data', (text: string) => {
      noted.body += text;
    });
    answer(request, response);
  });
  return { url: new URL(url), seen, connections };
}

/** Speaks TCP alone: `serve` gets each connection. Ended with the test. */
export async function startTcpPlatform(serve: (socket: Socket) => void) {
  const { url, connections, close } = await listen(
    createTcpServer((socket) => serve(socket.on('error', () => {}))),
  );
  onTestFinished(close);
  return { url: new URL(url), connections };
}

/** An address on which nobody listens. */
export async function deadUrl(): Promise<URL> {
  const { url, close } = await listen(createTcpServer());
  await close();
  return new URL(url);
}

async function listen(server: Server) {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: connections as ReadonlySet<Socket>,
    async close() {
      const closed = once(server.close(), 'close');
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

/** Answers with these bytes. */
export function sends(
  body: string | Buffer,
  headers: Readonly<Record<string, string | string[]>> = {},
  status = 200,
): Handler {
  return (request, response) => {
    request.resume();
    const bodiless = status === 204 || status === 304;
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(bodiless ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      ...headers,
    });
    response.end(body);
  };
}
