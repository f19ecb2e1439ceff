import { expect, it } from 'vitest';
import type { RemovedLayout } from '../../src/store/port.js';
import { withGateway } from '../support/start-gateway.js';

async function linesAfter(removed: RemovedLayout) {
  let calls = 0;
  const gateway = await withGateway({
    wrapStore: (store) => ({
      ...store,
      removeOldLayout: async () => {
        calls += 1;
        return removed;
      },
    }),
  });
  await expect.poll(() => calls, { timeout: 20_000 }).toBe(1);
  // Waits for the job.
  await gateway.services.close();
  expect(calls).toBe(1);
  return gateway.log.filter(({ msg }) => msg === 'removed history and cache entries of an earlier release');
}

it('the leader removes what earlier releases stored once, and says how much that was in one line', async () => {
  expect(await linesAfter({ months: 2, cacheEntries: 3 })).toMatchObject([{ months: 2, cacheEntries: 3 }]);
});

it('the leader says nothing where earlier releases have stored nothing', async () => {
  expect(await linesAfter({ months: 0, cacheEntries: 0 })).toEqual([]);
});
