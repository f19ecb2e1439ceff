import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMemoryLeases } from '../../../src/store/embedded/embedded-store.js';
import { createLocalBus } from '../../../src/store/listeners.js';
import type { Store } from '../../../src/store/port.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createTestClock, type TestClock } from '../../support/test-clock.js';
import { EPOCH, LONG, never, ONE, processOn, settled, state, TWO } from './locking.js';

/** Leases and messages that take no time of the machine's. */
const openShared = (clock: TestClock) => ({
  leases: createMemoryLeases(clock),
  bus: createLocalBus(createRecordedLog().logger),
});

/** Grants leases as the store does, but tells of it only when the gate opens. */
function withGate(store: Pick<Store, 'leases' | 'bus'>) {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const leases: Store['leases'] = {
    renew: store.leases.renew.bind(store.leases),
    release: store.leases.release.bind(store.leases),
    async claim(...args) {
      const held = await store.leases.claim(...args);
      await gate;
      return held;
    },
  };
  return { store: { ...store, leases }, open: () => open() };
}

describe('a lock whose asker has given up before it was granted', () => {
  it('is let go, in this process and between processes, and the asker is told why', async () => {
    const store = openShared(createTestClock());
    const gated = withGate(store);
    const [late, elsewhere] = [processOn(gated.store), processOn(store)];
    const asker = new AbortController();
    const taking = state(late.tryTake([ONE, TWO], EPOCH, { ...LONG, signal: asker.signal }));
    await settled();
    const follower = state(late.wait({ others: [ONE], epoch: EPOCH }, never()));
    asker.abort(new Error('time is up'));
    await settled();
    expect([taking.is, follower.is]).toEqual(['waiting', 'waiting']);
    gated.open();
    await settled();
    expect([taking.is, follower.is]).toEqual(['failed: time is up', 'got null']);
    expect((await elsewhere.tryTake([ONE, TWO], EPOCH, LONG)).mine).toEqual([ONE, TWO]);
  });
});

describe('a lock that nobody ends', () => {
  const SHORT = { signal: never(), leftMs: () => 2000 };

  async function passing(clock: TestClock, ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      clock.advanceMonotonic(500);
      await vi.advanceTimersByTimeAsync(500);
    }
  }

  function pair(clock: TestClock) {
    const store = openShared(clock);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    return [processOn(store), processOn(store)] as const;
  }

  it('ends by itself five seconds after the time of its call', async () => {
    const clock = createTestClock();
    const [here, there] = pair(clock);
    const lost = await here.tryTake([ONE], EPOCH, SHORT);
    await passing(clock, 6500);
    expect((await there.tryTake([ONE], EPOCH, LONG)).others).toEqual([ONE]);
    expect(here.areUnderWay([ONE], EPOCH)).toBe(true);
    await passing(clock, 500);
    expect(here.areUnderWay([ONE], EPOCH)).toBe(false);
    const next = await there.tryTake([ONE], EPOCH, LONG);
    expect(next.mine).toEqual([ONE]);
    // What comes of the lost one after all is nothing to whoever holds the key now.
    await next.drop([ONE]);
    const again = await here.tryTake([ONE], EPOCH, LONG);
    await lost.succeed('too late');
    expect([again.mine, here.areUnderWay([ONE], EPOCH)]).toEqual([[ONE], true]);
    expect((await there.tryTake([ONE], EPOCH, LONG)).others).toEqual([ONE]);
    await again.drop([ONE]);
  });

  it('lives on for as long as the next call under it may take', async () => {
    const clock = createTestClock();
    const [here, there] = pair(clock);
    const holder = await here.tryTake([ONE], EPOCH, SHORT);
    await passing(clock, 6500);
    holder.prolong(2000);
    await passing(clock, 6500);
    expect((await there.tryTake([ONE], EPOCH, LONG)).others).toEqual([ONE]);
    await passing(clock, 500);
    expect((await there.tryTake([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });
});
