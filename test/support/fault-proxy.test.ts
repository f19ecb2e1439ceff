import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type FaultProxy, startFaultProxy } from './fault-proxy.js';

let proxy: FaultProxy;
/** Answers with what it is sent. */
beforeEach(async () => {
  const server = createServer((socket) => void socket.on('error', () => {}).pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await startFaultProxy((server.address() as AddressInfo).port, 1);
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
});

interface Client {
  readonly socket: Socket;
  readonly text: () => string;
  /** `end`, or the code of an error. */
  readonly over: Promise<string>;
}

async function open(): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (more) => (text += String(more)));
  const over = new Promise<string>((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    socket.once('end', () => resolve('end'));
  });
  await Promise.race([once(socket, 'connect').catch(() => {}), over]);
  return { socket, text: () => text, over };
}

it('passes on what comes, both ways, and the end', async () => {
  const { socket, text, over } = await open();
  socket.end('hello');
  expect([await over, text()]).toEqual(['end', 'hello']);
});

it('lets everything come late, and in its order, also when it is late no more', async () => {
  await proxy.set({ kind: 'latency', ms: 40 });
  const { socket, text } = await open();
  const startedMs = performance.now();
  socket.write('a');
  await expect.poll(text).toBe('a');
  expect(performance.now() - startedMs).toBeGreaterThan(75);
  socket.write('b');
  await proxy.set({ kind: 'none' });
  socket.write('c');
  await expect.poll(text).toBe('abc');
});

it('resets what is open, and new connections after some bytes', async () => {
  const before = await open();
  before.socket.write('a');
  await expect.poll(before.text).toBe('a');
  await proxy.set({ kind: 'reset', afterBytes: 3 });
  expect(await before.over).toBe('ECONNRESET');
  // With bytes before it the system may tell of an end: what counts is that they are not all.
  const { socket, over, text } = await open();
  socket.write('hello');
  await over;
  expect('hel').toContain(text());
});

it('ends an answer in good order where it is cut off', async () => {
  await proxy.set({ kind: 'truncate', afterBytes: 3 });
  const { socket, text, over } = await open();
  socket.write('hello');
  expect([await over, text()]).toEqual(['end', 'hel']);
});

it('takes what it is sent and keeps it, half-open, and resets that when it is over', async () => {
  const { socket, text, over } = await open();
  socket.write('a');
  await expect.poll(text).toBe('a');
  await proxy.set({ kind: 'half-open' });
  socket.write('b');
  const other = await open();
  other.socket.write('c');
  await expect.poll(() => proxy.connections).toBe(2);
  expect([text(), other.text()]).toEqual(['a', '']);
  await proxy.set({ kind: 'none' });
  expect(await over).toBe('ECONNRESET');
});

it('lets answers drip', async () => {
  await proxy.set({ kind: 'drip', bytesPerSecond: 20 });
  const { socket, text } = await open();
  const startedMs = performance.now();
  socket.write('hello!');
  await expect.poll(text).toBe('hello!');
  expect(performance.now() - startedMs).toBeGreaterThan(200);
});

it('listens no more, and again on its port', async () => {
  await proxy.set({ kind: 'stop' });
  expect(await (await open()).over).toBe('ECONNREFUSED');
  await proxy.set({ kind: 'none' });
  const { socket, text } = await open();
  socket.write('back');
  await expect.poll(text).toBe('back');
});

it('breaks a share of the pieces, which follows from the seed', async () => {
  await proxy.set({ kind: 'some', share: 0.5 });
  const whole: boolean[] = [];
  for (let at = 0; at < 12; at += 1) {
    const { socket, over, text } = await open();
    socket.end('hello');
    await over;
    whole.push(text() === 'hello');
  }
  expect(new Set(whole)).toEqual(new Set([true, false]));
  expect(proxy.broken).toBe(whole.filter((one) => !one).length);
});
