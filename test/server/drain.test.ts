import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createDrain } from '../../src/server/drain.js';

const IDLE_MS = 1000;

/** Asks on a connection of its own, which the answer closes. */
function askOnce(port: number): Promise<string> {
  return new Promise((resolve) => {
    get({ port, host: '127.0.0.1', agent: new Agent({ keepAlive: false }) }, (incoming) => {
      incoming.resume().on('end', () => resolve(String(incoming.statusCode)));
    }).on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  });
}

it('answers whoever comes back on a new connection, until nobody has come for a while', async () => {
  const server = createServer((_request, response) => response.end('ok'));
  let nowMs = 0;
  const drain = createDrain([server], () => nowMs);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await askOnce(port)).toBe('200');
  const stopped = drain.start(60_000);
  for (let times = 0; times < 5; times++) {
    // No connection is open now.
    for (let turns = 0; turns < 100; turns++) await turnOfTheLoop();
    nowMs += IDLE_MS / 2;
    expect(await askOnce(port)).toBe('200');
  }
  nowMs += IDLE_MS;
  await stopped;
  expect(await askOnce(port)).toBe('ECONNREFUSED');
});

it('stops at once where nobody has ever asked', async () => {
  const server = createServer();
  const drain = createDrain([server], () => 0);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await drain.start(60_000);
  expect(server.listening).toBe(false);
});
