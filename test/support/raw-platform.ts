/** A platform of a test's own making, for answers that the simulator would not give. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait-for.js';

export interface RawPlatform {
  readonly url: string;
  /** The token the gateway is to use; looks like the ones of the platform's framework. */
  readonly token: string;
  /** Every request so far, as it came. */
  readonly requests: readonly IncomingMessage[];
  /** Replaces what answers. */
  answer(handler: Handler): void;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Ended with the test. */
export async function startRawPlatform(handler: Handler): Promise<RawPlatform> {
  const { close, ...platform } = await openRawPlatform(handler);
  onTestFinished(close);
  return platform;
}

export async function openRawPlatform(handler: Handler): Promise<RawPlatform & { close(): void }> {
  const requests: IncomingMessage[] = [];
  let answer = handler;
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    token: '42|platform/token"of_this-test',
    requests,
    answer(next) {
      answer = next;
    },
    close() {
      server.closeAllConnections();
      server.close();
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

export interface HeldPlatform extends RawPlatform {
  /** Resolves when so many requests have come, and whatever came to the gateway with them has settled down. */
  arrived(count: number): Promise<void>;
  /** Answers what is held, and from now on at once. */
  release(): void;
  /** Holds what comes from now on. */
  hold(): void;
}

/** A platform that answers only when it is told to. Ended with the test. */
export async function startHeldPlatform(handler: Handler): Promise<HeldPlatform> {
  const held: (() => void)[] = [];
  let holding = true;
  const platform = await startRawPlatform((request, response) => {
    if (holding) held.push(() => handler(request, response));
    else handler(request, response);
  });
  return {
    url: platform.url,
    token: platform.token,
    requests: platform.requests,
    answer: platform.answer,
    async arrived(count) {
      await waitFor(`${count} requests`, () => platform.requests.length >= count);
      for (let turn = 0; turn < 20; turn++) await turnOfTheLoop();
    },
    release() {
      holding = false;
      for (const answer of held.splice(0)) answer();
    },
    hold() {
      holding = true;
    },
  };
}
