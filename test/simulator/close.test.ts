import { AsyncResource, createHook, executionAsyncId } from 'node:async_hooks';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { waitFor } from '../support/wait-for.js';

/**
 * Watches the connections and timers that a piece of work opens, itself or by what it started: not those of the
 * runner, nor those that other tests of this process left behind.
 */
function watchHandles() {
  const work = new AsyncResource('watched');
  const own = new Set([work.asyncId()]);
  const open = new Map<number, string>();
  const hook = createHook({
    init(id, kind, cause) {
      // What comes in at a server is caused by it, in no context. An `await` of the outcome is not of the work.
      if (!own.has(executionAsyncId()) && (kind === 'PROMISE' || !own.has(cause))) return;
      own.add(id);
      if (kind.startsWith('TCP') || kind === 'Timeout') open.set(id, kind);
    },
    destroy: (id) => void open.delete(id),
  }).enable();
  onTestFinished(() => void hook.disable());
  return {
    within: <T>(run: () => T): T => work.runInAsyncScope(run),
    open: () => [...open.values()].toSorted(),
  };
}

describe('closing', () => {
  it('ends idle, hanging, dripping and waiting connections, and leaves no handle', async () => {
    const handles = watchHandles();
    const simulator = await handles.within(async () => {
      const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
      for (const kind of ['hang', 'slow', 'hang-headers'] as const) {
        simulator.fault({ kind, path: `/${kind}`, latencyMs: 3_600_000 });
      }
      simulator.fault({ kind: 'oversize', path: '/oversize', bytes: 10_000_000_000 });
      const ends = await Promise.all(
        ['/idle', '/hang', '/slow', '/hang-headers', '/oversize'].map((path) => open(simulator, path)),
      );
      await waitFor('five calls', () => simulator.callCount === 5);
      simulator.set({ latencyMs: 600_000 });
      ends.push(await open(simulator, '/late'));
      await waitFor('the sixth', () => simulator.callCount === 6);
      // The server, both ends of six connections, and what drips and waits.
      expect(handles.open().filter((kind) => kind.startsWith('TCP')).length).toBeGreaterThanOrEqual(13);
      expect(handles.open()).toContain('Timeout');
      await simulator.close();
      await Promise.all(ends.map((ended) => ended()));
      return simulator;
    });
    // Handles go in the turns that follow; one that was forgotten stays for minutes.
    await expect.poll(handles.open).toEqual([]);
    await expect(open(simulator, '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

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
