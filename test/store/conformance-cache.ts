import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../support/test-clock.js';
import { bodiesOf, forget, keep } from './entries.js';
import { type OpenHarness, withStore } from './harness.js';

const bytes = (text: string) => Buffer.from(text);

export function describeCache(open: OpenHarness): void {
  describe('cache', () => {
    it('takes empty lists', () =>
      withStore(open, async ({ store: { cache } }) => {
        await keep(cache, []);
        await forget(cache, []);
        expect(await bodiesOf(cache, [])).toEqual([]);
      }));

    it('keeps nothing whose time to live is over at once, not even what was there before', () =>
      withStore(open, async ({ store: { cache } }) => {
        await keep(cache, [{ key: '{s}a', value: bytes('A'), ttlMs: MINUTE, version: 1 }]);
        await keep(cache, [
          { key: '{s}a', value: bytes('B'), ttlMs: 0, version: 1 },
          { key: '{s}b', value: bytes('B'), ttlMs: -5, version: 1 },
          { key: '{s}c', value: bytes('C'), ttlMs: 0.5, version: 1 },
        ]);
        expect(await bodiesOf(cache, ['{s}a', '{s}b', '{s}c'])).toEqual([null, null, null]);
      }));

    it.each([Number.POSITIVE_INFINITY, Number.NaN])('refuses a time to live of %d', (ttlMs) =>
      withStore(open, async ({ store: { cache } }) => {
        const good = { key: '{s}good', value: bytes('A'), ttlMs: MINUTE, version: 1 };
        await expect(
          keep(cache, [good, { key: '{s}a', value: bytes('A'), ttlMs, version: 1 }]),
        ).rejects.toThrow(RangeError);
        expect(await bodiesOf(cache, ['{s}a', '{s}good'])).toEqual([null, null]);
      }),
    );

    it('keeps every byte of any value, also of none', () =>
      withStore(open, async ({ store: { cache } }) => {
        await fc.assert(
          fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), async (all) => {
            const entries = all.map((value, at) => ({
              key: `{s}${at}`,
              value: Buffer.from(value),
              ttlMs: MINUTE,
              version: 1,
            }));
            await keep(cache, entries);
            expect(
              await bodiesOf(
                cache,
                entries.map(({ key }) => key),
              ),
            ).toEqual(entries.map(({ value }) => value));
          }),
          { numRuns: 25 },
        );
      }));

    it('behaves like a map whose entries expire', () =>
      withStore(open, (harness) => fc.assert(mapProperty(harness), { numRuns: 25 })));
  });
}

type Step =
  | { readonly do: 'set'; readonly key: string; readonly value: string; readonly ttl: number }
  | { readonly do: 'remove'; readonly key: string }
  | { readonly do: 'elapse'; readonly times: number };

/** Lifetimes end half-way between the moments looked at, so that the time the test takes changes nothing. */
const TICK = 10 * MINUTE;

function mapProperty({ store: { cache }, elapse }: Parameters<Parameters<typeof withStore>[1]>[0]) {
  const keys = ['{m}a', '{m}b', '{m}c'];
  const key = fc.constantFrom(...keys);
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      do: fc.constant('set' as const),
      key,
      value: fc.string(),
      ttl: fc.integer({ min: 0, max: 3 }),
    }),
    fc.record({ do: fc.constant('remove' as const), key }),
    fc.record({ do: fc.constant('elapse' as const), times: fc.integer({ min: 1, max: 3 }) }),
  );
  return fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
    await forget(cache, keys);
    const model = new Map<string, { value: string; ends: number }>();
    let now = 0;
    for (const one of steps) {
      if (one.do === 'set') {
        const { key: name, value, ttl } = one;
        await keep(cache, [{ key: name, value: bytes(value), ttlMs: ttl * TICK + TICK / 2, version: 1 }]);
        model.set(name, { value, ends: now + ttl });
      } else if (one.do === 'remove') {
        await forget(cache, [one.key]);
        model.delete(one.key);
      } else {
        await elapse(one.times * TICK);
        now += one.times;
      }
      const expected = keys.map((name) => {
        const entry = model.get(name);
        return entry === undefined || now > entry.ends ? null : bytes(entry.value);
      });
      expect(await bodiesOf(cache, keys)).toEqual(expected);
    }
  });
}
