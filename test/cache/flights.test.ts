import { describe, expect, it } from 'vitest';
import { createFlights } from '../../src/cache/flights.js';
import { codeOf } from '../support/problems.js';

function deferred<T>() {
  let settle: { resolve: (value: T) => void; reject: (error: unknown) => void } | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...(settle as NonNullable<typeof settle>) };
}

describe('createFlights', () => {
  it('does one piece of work for all who ask for it meanwhile', async () => {
    const flights = createFlights(10);
    const work = deferred<string>();
    let started = 0;
    const start = () => {
      started += 1;
      return work.promise;
    };
    const joined = Array.from({ length: 5 }, () => flights.join('a', start));
    expect(joined.map(({ leads }) => leads)).toEqual([true, false, false, false, false]);
    expect(flights.waiting).toBe(4);
    work.resolve('done');
    expect(await Promise.all(joined.map(({ result }) => result))).toEqual(Array(5).fill('done'));
    expect([started, flights.waiting]).toEqual([1, 0]);
  });

  it('keeps different work apart, and does the same again once it is over', async () => {
    const flights = createFlights(10);
    const one = flights.join('a', async () => 1);
    const two = flights.join('b', async () => 2);
    expect([await one.result, await two.result]).toEqual([1, 2]);
    const again = flights.join('a', async () => 3);
    expect([again.leads, await again.result]).toEqual([true, 3]);
  });

  it('tells everybody when the work fails, and forgets it', async () => {
    const flights = createFlights(10);
    const work = deferred<never>();
    const results = [0, 1, 2].map(() => flights.join('a', () => work.promise).result);
    work.reject(new Error('failed'));
    for (const result of results) await expect(result).rejects.toThrow('failed');
    expect(flights.waiting).toBe(0);
    expect(flights.join('a', async () => 1).leads).toBe(true);
  });

  it('lets no more wait than it may', async () => {
    const flights = createFlights(2);
    const work = deferred<number>();
    const results = [0, 1, 2].map(() => flights.join('a', () => work.promise).result);
    expect(codeOf(() => flights.join('a', () => work.promise))).toBe('overloaded');
    expect(flights.join('b', async () => 1).leads).toBe(true);
    work.resolve(1);
    await Promise.all(results);
    expect(codeOf(() => flights.join('a', async () => 1))).toBeNull();
  });
});
