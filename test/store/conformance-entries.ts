import { describe, expect, it } from 'vitest';
import type { CacheWrite } from '../../src/store/port.js';
import { MINUTE } from '../support/test-clock.js';
import { forget } from './entries.js';
import { type OpenHarness, withStore } from './harness.js';

const KIB = 1024;

function writeOf(id: string, changes: Partial<CacheWrite> = {}): CacheWrite {
  return { id, version: 1, ttlMs: MINUTE, bytes: Buffer.from(`bytes of ${id}`), ...changes };
}

/** What the port says of single entries: names, sizes, ends. */
export function describeEntries(open: OpenHarness): void {
  describe('cache entries', () => {
    it('are read by every replica, in the order asked for', () =>
      withStore(open, async ({ store, another }) => {
        const writes = ['{s}a', '{s}b', '{s}c'].map((id, at) => writeOf(id, { version: at }));
        await store.cache.write(writes);
        for (const { cache } of [await another(), store]) {
          const found = await cache.read(['{s}c', '{s}none', '{s}a', '{t}a']);
          expect(found).toEqual([
            { version: 2, bytes: Buffer.from('bytes of {s}c') },
            null,
            { version: 0, bytes: Buffer.from('bytes of {s}a') },
            null,
          ]);
        }
      }));

    it('are of one id or of another, whatever ids are called', () =>
      withStore(open, async ({ store: { cache } }) => {
        const ids = [
          '{s}:w:',
          '{s}:w::',
          '{s}:w: ',
          '{s}東京',
          `{s}${'x'.repeat(400)}`,
          `{s}${'x'.repeat(401)}`,
        ];
        for (const bytes of [10, 300 * KIB]) {
          await cache.write(ids.map((id, at) => writeOf(id, { bytes: Buffer.alloc(bytes, at) })));
          const found = await cache.read(ids);
          expect(found.map((entry) => [entry?.bytes.length, entry?.bytes[0]])).toEqual(
            ids.map((_, at) => [bytes, at]),
          );
        }
      }));

    it('are whole in any size, and when that changes', () =>
      withStore(open, async ({ store: { cache }, elapse }) => {
        const id = '{s}a';
        for (const length of [64 * KIB, 64 * KIB + 1, 3, 700 * KIB, 0]) {
          const bytes = Buffer.alloc(length, 'x');
          await cache.write([writeOf(id, { bytes })]);
          expect((await cache.read([id]))[0]?.bytes.equals(bytes)).toBe(true);
        }
        await cache.write([writeOf(id, { bytes: Buffer.alloc(300 * KIB) })]);
        await forget(cache, [id]);
        expect(await cache.read([id])).toEqual([null]);
        await cache.write([writeOf(id, { bytes: Buffer.alloc(300 * KIB) })]);
        await elapse(2 * MINUTE);
        expect(await cache.read([id])).toEqual([null]);
      }));

    it('keep the newer one whole, large or small, when an older one comes after', () =>
      withStore(open, async ({ store: { cache } }) => {
        const [small, large] = [Buffer.from('small'), Buffer.alloc(300 * KIB, 'l')];
        for (const [newer, older] of [
          [small, large],
          [large, small],
        ] as const) {
          await forget(cache, ['{s}a']);
          await cache.write([writeOf('{s}a', { bytes: newer, version: 2 })]);
          await cache.write([writeOf('{s}a', { bytes: older, version: 1 })]);
          const [found] = await cache.read(['{s}a']);
          expect([found?.version, found?.bytes.equals(newer)]).toEqual([2, true]);
        }
      }));

    it('end each at its own time', () =>
      withStore(open, async ({ store: { cache }, elapse }) => {
        const ids = ['{s}a', '{s}b'] as const;
        const isThere = async () => (await cache.read(ids)).map((entry) => entry !== null);
        await cache.write([writeOf('{s}a', { ttlMs: 9 * MINUTE }), writeOf('{s}b')]);
        await elapse(3 * MINUTE);
        expect(await isThere()).toEqual([true, false]);
        await cache.write([writeOf('{s}b', { version: 0 })]);
        expect(await isThere()).toEqual([true, true]);
        await elapse(2 * MINUTE);
        expect(await isThere()).toEqual([true, false]);
        await elapse(9 * MINUTE);
        expect(await isThere()).toEqual([false, false]);
      }));
  });
}
