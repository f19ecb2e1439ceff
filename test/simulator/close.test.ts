import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';

// A file of its own: other tests’ keep-alive connections would blur the count of handles.
describe('closing', () => {
  const openHandles = () =>
    process
      .getActiveResourcesInfo()
      .filter((name) => name.startsWith('TCP') || name === 'Timeout')
      .toSorted();

  it('ends idle, hanging, dripping and waiting connections, and leaves no handle', async () => {
    const before = openHandles();
    const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
    for (const kind of ['hang', 'slow', 'hang-headers'] as const) {
      simulator.fault({ kind, path: `/${kind}`, latencyMs: 3_600_000 });
    }
    simulator.fault({ kind: 'oversize', path: '/oversize', bytes: 10_000_000_000 });
    const ends = await Promise.all(
      ['/idle', '/hang', '/slow', '/hang-headers', '/oversize'].map((path) => open(simulator, path)),
    );
    await arrived(simulator, 5);
    simulator.set({ latencyMs: 600_000 });
    ends.push(await open(simulator, '/late'));
    await arrived(simulator, 6);
    expect(openHandles().length).toBeGreaterThan(before.length + 6);
    await simulator.close();
    await Promise.all(ends.map((ended) => ended()));
    // Handles go in the turns that follow; one that was forgotten stays for minutes.
    const patience = performance.now() + 5_000;
    while (openHandles().length > before.length && performance.now() < patience) await nextTurn();
    expect(added(before, openHandles())).toEqual([]);
    await expect(open(simulator, '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

/** What is there now and was not before; the test runner's own timers come and go. */
function added(before: readonly string[], now: readonly string[]): string[] {
  const known = [...before];
  return now.filter((name) => {
    const at = known.indexOf(name);
    if (at !== -1) known.splice(at, 1);
    return at === -1;
  });
}

/** Sends a call and reads nothing of the answer. @returns a wait for the end of the connection */
async function open(simulator: Simulator, path: string): Promise<() => Promise<void>> {
  const { hostname, port } = new URL(simulator.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => socket.destroy());
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return () => {
    socket.resume();
    return closed;
  };
}

async function arrived(simulator: Simulator, calls: number): Promise<void> {
  while (simulator.callCount < calls) await nextTurn();
}
