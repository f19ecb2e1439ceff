import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CacheStore, VERSION_LEAD_MAX_MS } from '../../src/store/port.js';
import { MINUTE, NOON } from '../support/test-clock.js';
import { bodiesOf, forget, keep } from './entries.js';
import { type OpenHarness, withStore } from './harness.js';

const entry = (key: string, text: string, version: number, ttlMs = MINUTE) => ({
  key,
  value: Buffer.from(text),
  ttlMs,
  version,
});

export function describeVersions(open: OpenHarness): void {
  describe('cache versions', () => {
    it('do not let a clock that was wrong block a key: five minutes ahead is the most', () =>
      withStore(open, async ({ store: { cache } }) => {
        await keep(cache, [
          entry('{s}a', 'ahead', NOON + VERSION_LEAD_MAX_MS),
          entry('{s}b', 'too far ahead', NOON + VERSION_LEAD_MAX_MS + 1),
        ]);
        await keep(cache, [entry('{s}a', 'now', NOON), entry('{s}b', 'now', NOON)]);
        expect(await bodiesOf(cache, ['{s}a', '{s}b'])).toEqual([Buffer.from('ahead'), Buffer.from('now')]);
      }));

    it('stay where a slow fetch is written: five minutes ahead of the time of its write, not of its begin', () =>
      withStore(open, async ({ store: { cache } }) => {
        const newer = NOON + 2 * VERSION_LEAD_MAX_MS;
        await keep(cache, [entry('{s}a', 'newer', newer), entry('{s}b', 'too far ahead', newer + 1)]);
        const slow = { version: NOON, atMs: NOON + VERSION_LEAD_MAX_MS };
        await keep(cache, [
          { ...entry('{s}a', 'slow', NOON), ...slow },
          { ...entry('{s}b', 'slow', NOON), ...slow },
        ]);
        expect(await bodiesOf(cache, ['{s}a', '{s}b'])).toEqual([Buffer.from('newer'), Buffer.from('slow')]);
      }));

    it('let an older write change nothing of a newer entry, neither its lifetime nor that it is there', () =>
      withStore(open, async ({ store: { cache }, elapse }) => {
        await keep(cache, [entry('{s}a', 'new', NOON, 2 * MINUTE), entry('{s}b', 'new', NOON, 9 * MINUTE)]);
        await keep(cache, [entry('{s}a', 'old', NOON - 1, 9 * MINUTE), entry('{s}b', 'old', NOON - 1, 0)]);
        await elapse(MINUTE);
        expect(await bodiesOf(cache, ['{s}a', '{s}b'])).toEqual([Buffer.from('new'), Buffer.from('new')]);
        await elapse(2 * MINUTE);
        expect(await bodiesOf(cache, ['{s}a', '{s}b'])).toEqual([null, Buffer.from('new')]);
      }));

    it('are gone with their entry', () =>
      withStore(open, async ({ store: { cache }, elapse }) => {
        await keep(cache, [entry('{s}a', 'new', NOON), entry('{s}b', 'new', NOON)]);
        await forget(cache, ['{s}a']);
        await keep(cache, [entry('{s}a', 'old', 0)]);
        expect(await bodiesOf(cache, ['{s}a'])).toEqual([Buffer.from('old')]);
        await elapse(2 * MINUTE);
        await keep(cache, [entry('{s}b', 'old', 0)]);
        expect(await bodiesOf(cache, ['{s}b'])).toEqual([Buffer.from('old')]);
      }));

    it('are whole milliseconds, rounded down, up to 2^48 - 1', () =>
      withStore(open, async ({ store: { cache } }) => {
        const most = 2 ** 48 - 1;
        await keep(cache, [entry('{s}a', 'one', NOON + 0.9), entry('{s}b', 'one', most)]);
        await keep(cache, [entry('{s}a', 'two', NOON + 0.1), entry('{s}b', 'two', most - 1)]);
        expect(await bodiesOf(cache, ['{s}a', '{s}b'])).toEqual([Buffer.from('two'), Buffer.from('one')]);
      }));

    it.each([-1, Number.NaN, 2 ** 48, Number.POSITIVE_INFINITY])('are refused when they are %d', (version) =>
      withStore(open, async ({ store: { cache } }) => {
        const writes = [entry('{s}good', 'A', NOON), entry('{s}a', 'A', version)];
        await expect(keep(cache, writes)).rejects.toThrow(RangeError);
        expect(await bodiesOf(cache, ['{s}a', '{s}good'])).toEqual([null, null]);
      }),
    );

    it('leave the newest by the rule, for any order of writes', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        await fc.assert(ruleProperty(stores), { numRuns: 25 });
      }));
  });
}

function ruleProperty(stores: readonly Awaited<ReturnType<OpenHarness>>['store'][]) {
  const keys = ['{v}a', '{v}b', '{v}c'];
  // Versions within and beyond the five minutes, and their bounds.
  const version = fc.oneof(
    fc.integer({ min: 0, max: 3 }).map((step) => NOON + (step * VERSION_LEAD_MAX_MS) / 2),
    fc.integer({ min: -1, max: 1 }).map((step) => NOON + VERSION_LEAD_MAX_MS + step),
    fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  );
  const write = fc.record({
    handle: fc.nat({ max: 1 }),
    versions: fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), version), {
      minLength: 1,
      selector: ([key]) => key,
    }),
  });
  return fc.asyncProperty(fc.array(write, { maxLength: 8 }), async (writes) => {
    const [first, second = first] = stores.map(({ cache }) => cache) as [CacheStore, CacheStore?];
    await forget(first, keys);
    const model = new Map<string, { version: number; text: string }>();
    for (const [turn, { handle, versions }] of writes.entries()) {
      const text = `write ${turn}`;
      await keep(
        handle === 0 ? first : second,
        versions.map(([key, at]) => entry(key, text, at)),
      );
      for (const [key, at] of versions) {
        const there = model.get(key)?.version ?? -1;
        const stays = there > at && there - at <= 5 * MINUTE;
        if (!stays) model.set(key, { version: at, text });
      }
    }
    const found = await bodiesOf(first, keys);
    expect(found.map((value) => value?.toString())).toEqual(keys.map((key) => model.get(key)?.text));
  });
}
