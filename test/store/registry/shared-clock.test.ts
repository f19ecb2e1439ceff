import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { followSharedClock } from '../../../src/store/registry/schema.js';
import { openInMemory, openReplica, type ReplicaOptions, withoutBus } from '../../support/shared-registry.js';
import { createTestClock, DAY } from '../../support/test-clock.js';

const START = createTestClock().now();

async function follower(store: Store, options: ReplicaOptions = {}) {
  const { registry } = await openReplica(store, options);
  const clock = createTestClock();
  return { clock, registry, shared: followSharedClock(registry, clock) };
}

describe('the shared clock', () => {
  it('stands where the machine stands until it is moved', async () => {
    expect((await follower(await openInMemory())).clock.offsetMs).toBe(0);
  });

  it('moves here at once and on other replicas by a message, forward and back', async () => {
    const store = await openInMemory();
    const [here, there] = [await follower(store), await follower(store)];
    for (const offsetMs of [3 * DAY, -DAY, 0]) {
      await here.shared.moveTo(offsetMs, 'audit');
      expect(here.clock.now()).toBe(START + offsetMs);
      await expect.poll(() => there.clock.now()).toBe(START + offsetMs);
    }
  });

  it('keeps what a newer release wrote beside its offset', async () => {
    const { registry, shared, clock } = await follower(await openInMemory());
    const theirs = { offsetMs: DAY, newer: { of: 'a newer release' } };
    await registry.commit({ writes: new Map([['clock', JSON.stringify(theirs)]]) });
    expect(clock.offsetMs).toBe(DAY);
    await shared.moveTo(-DAY, 'audit');
    expect(JSON.parse(registry.get('clock')?.value ?? '')).toEqual({ ...theirs, offsetMs: -DAY });
  });

  it('takes the last word when two replicas move it, and is audited', async () => {
    const store = await openInMemory();
    const [here, there] = [await follower(withoutBus(store)), await follower(withoutBus(store))];
    await here.shared.moveTo(1000, 'first');
    await there.shared.moveTo(2000, 'second');
    await here.registry.refresh();
    expect([here.clock.offsetMs, there.clock.offsetMs]).toEqual([2000, 2000]);
    expect((await store.registry.readAudit(2)).map(({ text }) => text)).toEqual(['second', 'first']);
  });

  it('goes back to the machine when the record is gone', async () => {
    const { clock, registry, shared } = await follower(await openInMemory());
    await shared.moveTo(DAY, 'audit');
    await registry.commit({ writes: new Map([['clock', null]]) });
    expect(clock.offsetMs).toBe(0);
  });
});
