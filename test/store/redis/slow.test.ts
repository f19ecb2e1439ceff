import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { waitFor } from '../../support/wait-for.js';
import { bodiesOf } from '../entries.js';
import { expectUnavailable, HASTY, openStore, startServer, TIMEOUT_MS, untilItWorks } from './open-store.js';

describe('a Redis that is slow', () => {
  it('is not asked any more when every answer comes too late, says so, and is used again once it is in time', async () => {
    const server = await startServer();
    const slow = await startDelay(server.port);
    const { store: far, log } = await openStore(`redis://127.0.0.1:${slow.port}`, HASTY);
    slow.delayMs = 2 * TIMEOUT_MS;
    // An answer that comes while this process is busy counts as in time.
    while (far.health().ok)
      await bodiesOf(far.cache, ['{k}1']).catch((error) => expect(error).toBeInstanceOf(StoreUnavailable));
    expect(far.health()).toMatchObject({ ok: false, slow: true });
    expect(far.health().reason).toContain('Redis answers too late');
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('redis.timeoutMs') }),
    );
    // Nobody calls: the probes find out.
    slow.delayMs = 0;
    await waitFor('a healthy store', () => far.health().ok);
    expect(await untilItWorks(() => bodiesOf(far.cache, ['{k}1']))).toEqual([null]);
    await far.close();
    slow.close();
  });

  it('grants leases to whoever is about to change the registry, for they may wait as long as its changes do', async () => {
    const server = await startServer();
    const slow = await startDelay(server.port);
    const registryTimeoutMs = 100 * TIMEOUT_MS;
    const { store } = await openStore(`redis://127.0.0.1:${slow.port}`, { ...HASTY, registryTimeoutMs });
    slow.delayMs = 10 * TIMEOUT_MS;
    await expectUnavailable([store.leases.claim(['a'], 'me', 60_000)]);
    expect(await store.registryLeases.claim(['b'], 'me', 60_000)).toEqual([true]);
    expect(await store.registryLeases.claim(['b'], 'another', 60_000)).toEqual([false]);
    await store.close();
    slow.close();
  });

  it('is not blamed for what this process was busy with', async () => {
    const server = await startServer();
    const slow = await startDelay(server.port);
    const timeoutMs = 300;
    const { store } = await openStore(`redis://127.0.0.1:${slow.port}`, { timeoutMs });
    slow.delayMs = 20;
    const reading = bodiesOf(store.cache, ['{k}1']);
    const busyUntil = performance.now() + 2 * timeoutMs;
    while (performance.now() < busyUntil); // nobody has sent the question yet
    expect(await reading).toEqual([null]);
    await store.close();
    slow.close();
  });
});

/** A way to a server on which everything takes its time, there and back together: none at first. */
async function startDelay(to: number) {
  const delay = { port: 0, delayMs: 0, close: () => void listener.close() };
  const listener = createServer((caller) => {
    const target = connect(to, '127.0.0.1');
    const drop = () => {
      caller.destroy();
      target.destroy();
    };
    for (const socket of [caller, target]) socket.on('error', drop).on('close', drop);
    caller.on('data', (bytes) => void target.write(bytes));
    let written = Promise.resolve();
    target.on('data', (bytes) => {
      const dueMs = performance.now() + delay.delayMs;
      written = written.then(async () => {
        await pause(Math.max(0, dueMs - performance.now()));
        caller.write(bytes);
      });
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  delay.port = (listener.address() as AddressInfo).port;
  return delay;
}
