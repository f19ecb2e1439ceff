/**
 * Limits and fetch locks go on without the store when it does not answer. With the embedded store they waited as long as
 * for a durable change, once a second for each team, while another process held the lock of writers.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { firstLine, startScript } from '../store/embedded/child.js';
import { inFolder, openIn } from '../store/embedded/in-folder.js';

it('permits and leases are given up sooner than durable changes', () =>
  inFolder(async (folder) => {
    const store = await openIn(folder, { role: 'first' });
    const holder = await startScript('hold-writers.mjs', join(folder, 'volatile'));
    try {
      expect(await firstLine(holder)).toBe('held');
      const take = { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: 1000 };
      const late = { name: 'StoreUnavailable', message: expect.stringContaining('not done within 2000 ms') };
      await Promise.all([
        expect(store.quotas.take('bucket', take)).rejects.toMatchObject(late),
        expect(store.leases.claim(['lease'], 'owner', 1000)).rejects.toMatchObject(late),
      ]);
    } finally {
      const gone = once(holder, 'exit');
      holder.kill('SIGKILL');
      await gone;
      await store.close();
    }
  }));
