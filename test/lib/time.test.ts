/** Where time and chance come from, and that another source can be put in the place of the machine's. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ChanceSource,
  randomBuffer,
  randomId,
  randomShare,
  randomWhole,
  useChance,
} from '../../src/lib/chance.js';
import { createClock } from '../../src/lib/clock.js';
import {
  sleep,
  startTimer,
  stopTimer,
  type TimeSource,
  uptimeMs,
  useTime,
  wallMs,
} from '../../src/lib/time.js';

afterEach(() => {
  useTime(null);
  useChance(null);
});

describe('time', () => {
  it('is that of the machine', async () => {
    const before = uptimeMs();
    await sleep(5);
    expect(uptimeMs()).toBeGreaterThan(before);
    expect(wallMs()).toBeGreaterThan(Date.parse('2026-01-01'));
  });

  it('lets a sleep be ended by its signal', async () => {
    const asleep = sleep(60_000, { signal: AbortSignal.abort() });
    await expect(asleep).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('stops what it started, and nothing where there is nothing', async () => {
    let rang = false;
    stopTimer(startTimer(() => (rang = true), 0));
    stopTimer(undefined);
    await sleep(5);
    expect(rang).toBe(false);
  });

  it('comes from elsewhere once it is told to, for clocks that were made before too', () => {
    const clock = createClock();
    useTime({ uptimeMs: () => 7, wallMs: () => 9 } as TimeSource);
    expect([uptimeMs(), wallMs(), clock.now()]).toEqual([7, 9, 9]);
  });
});

describe('chance', () => {
  it('is that of the machine', () => {
    expect(randomId()).not.toBe(randomId());
    expect(randomBuffer(9)).toHaveLength(9);
    expect([3, 4]).toContain(randomWhole(3, 5));
    expect(randomShare()).toBeLessThan(1);
  });

  it('comes from elsewhere once it is told to', () => {
    useChance({ randomShare: () => 0.25, randomId: () => 'one' } as ChanceSource);
    expect([randomShare(), randomId()]).toEqual([0.25, 'one']);
  });
});
