import { describe, expect, it } from 'vitest';
import { type CacheStore, StoreUnavailable } from '../../src/store/port.js';
import { reportIn, withGateway } from '../support/start-gateway.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

/** A gateway whose cache writes are held until they are let go of, one way or the other. */
async function withHeldWrites() {
  const held: { take: () => void; refuse: () => void }[] = [];
  const gateway = await withGateway({
    wrapStore: (store) => ({ ...store, cache: { ...store.cache, write: hold(store.cache) } }),
  });
  const key = await gateway.addTeam();
  return { gateway, key, held };

  function hold(cache: CacheStore): CacheStore['write'] {
    return (entries) =>
      new Promise((resolve, reject) => {
        held.push({
          take: () => void cache.write(entries).then(resolve, reject),
          refuse: () => reject(new StoreUnavailable('away')),
        });
      });
  }
}

describe('a write to the store', () => {
  it('is not waited for, and what is under way is found all the same', async () => {
    const { gateway, key, held } = await withHeldWrites();
    const first = await gateway.report(key, FINAL);
    expect(cacheOf(first)).toBe('fwd=miss; stored');
    await expect.poll(() => held.length).toBe(1);
    // Another form, so that it is not the finished body that is found.
    const csv = await gateway.report(key, `${FINAL}&_format=csv`);
    expect(cacheOf(csv)).toMatch(/^hit; .*detail=store$/);
    expect(gateway.simulator.calls).toHaveLength(1);
    for (const { take } of held) take();
    await gateway.services.settled();
    const ndjson = await gateway.report(key, `${FINAL}&_format=ndjson`);
    expect(cacheOf(ndjson)).toMatch(/^hit; .*detail=store$/);
  });

  it('is waited for after one that failed, until one succeeds', async () => {
    const { gateway, key, held } = await withHeldWrites();
    await gateway.report(key, FINAL);
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.refuse();
    await gateway.services.settled();
    // What was not written is not there.
    const again = gateway.report(key, `${FINAL}&_format=csv`);
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.take();
    expect(cacheOf(await again)).toBe('fwd=miss; stored');
    const other = await gateway.report(key, RESTATING);
    expect(cacheOf(other)).toBe('fwd=miss; stored');
    await expect.poll(() => held.length).toBe(1);
    held.shift()?.take();
    await gateway.services.settled();
    expect(reportIn(other).data.length).toBeGreaterThan(0);
  });
});
