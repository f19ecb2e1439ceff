import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bounded, TimedOut } from '../../../src/store/redis/failure.js';

const LIMIT_MS = 150;

describe('bounded', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const later = <T>(ms: number, settle: () => T) =>
    new Promise<T>((resolve, reject) => {
      setTimeout(() => {
        try {
          resolve(settle());
        } catch (error) {
          reject(error);
        }
      }, ms);
    });
  const fail = () => {
    throw new Error('broken');
  };

  it('settles as the work does, when in time', async () => {
    const results = Promise.allSettled([
      bounded(
        later(LIMIT_MS - 1, () => 7),
        LIMIT_MS,
      ),
      bounded(later(1, fail), LIMIT_MS),
    ]);
    await vi.runAllTimersAsync();
    expect(await results).toEqual([
      { status: 'fulfilled', value: 7 },
      { status: 'rejected', reason: new Error('broken') },
    ]);
  });

  it('rejects when the time is up, and tells how the work ended later', async () => {
    const late: unknown[] = [];
    const results = Promise.allSettled([
      bounded(
        later(1_000, () => 7),
        LIMIT_MS,
        (error) => late.push(error),
      ),
      bounded(later(2_000, fail), LIMIT_MS, (error) => late.push(error)),
      bounded(new Promise(() => {}), LIMIT_MS, (error) => late.push(error)),
    ]);
    await vi.advanceTimersByTimeAsync(LIMIT_MS - 1);
    expect(vi.getTimerCount()).toBe(5);
    await vi.advanceTimersByTimeAsync(2);
    for (const result of await results) {
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(TimedOut) });
    }
    expect(late).toEqual([]);
    await vi.runAllTimersAsync();
    expect(late).toEqual([undefined, new Error('broken')]);
  });
});
