import { describe, expect, it } from 'vitest';
import type { CachePlace, CacheWrite } from '../../src/store/port.js';
import { HEADER_MAX_BYTES } from '../../src/store/port.js';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, withStore } from './harness.js';

const KIB = 1024;

function dayOf(series: string, date: string): CachePlace {
  return { series, group: date.slice(0, 7), field: date.slice(8) };
}

function writeOf(place: CachePlace, changes: Partial<CacheWrite> = {}): CacheWrite {
  return {
    ...place,
    version: 1,
    ttlMs: MINUTE,
    header: Buffer.from(`header of ${place.field}`),
    body: Buffer.from(`body of ${place.group}-${place.field}`),
    facts: Buffer.from('{"columns":["a"]}'),
    ...changes,
  };
}

function entryOf({ version, header, body, facts }: CacheWrite) {
  return { version, header, body, facts };
}

function datesOf(months: readonly string[], days: number): string[] {
  return months.flatMap((month) =>
    Array.from({ length: days }, (_, at) => `${month}-${String(at + 1).padStart(2, '0')}`),
  );
}

/** What the port says of the parts of an entry: header, body and facts. */
export function describeEntries(open: OpenHarness): void {
  describe('cache entries', () => {
    it('have all their parts again, over months, in the order asked for', () =>
      withStore(open, async ({ store, another }) => {
        const days = datesOf(['2026-01', '2026-02', '2026-03'], 28).map((date) => dayOf('s', date));
        const writes = days.map((day) => writeOf(day));
        await store.cache.write(writes);
        const asked = writes.toReversed();
        // Who has not written them has no facts of theirs either.
        for (const { cache } of [await another(), store]) {
          const found = await cache.read([...asked, dayOf('s', '2026-04-01'), dayOf('t', '2026-01-01')]);
          expect(found).toEqual([...asked.map(entryOf), null, null]);
          const few = await cache.read([dayOf('s', '2026-03-02'), dayOf('s', '2026-01-28')]);
          expect(few.map((entry) => entry?.body.toString())).toEqual([
            'body of 2026-03-02',
            'body of 2026-01-28',
          ]);
        }
      }));

    it('share the buffer of facts that are the same', () =>
      withStore(open, async ({ store, another }) => {
        const days = ['2026-01-01', '2026-01-02', '2026-01-03'].map((date) => dayOf('s', date));
        const [one, two, three] = days as [CachePlace, CachePlace, CachePlace];
        const others = Buffer.from('{"columns":["b"]}');
        await store.cache.write([writeOf(one), writeOf(two), writeOf(three, { facts: others })]);
        const found = await (await another()).cache.read(days);
        expect(found[0]?.facts).toBe(found[1]?.facts);
        expect(found[2]?.facts).toEqual(others);
      }));

    it('are of one group or of another, whatever groups and fields are called', () =>
      withStore(open, async ({ store: { cache } }) => {
        const places = [
          { series: 's', group: 'a:b', field: 'c' },
          { series: 's', group: 'a', field: 'b:c' },
          { series: 's', group: 'a', field: 'c' },
          { series: 's', group: 'w::', field: 'rows' },
          { series: 's', group: 'w::', field: '東京' },
        ];
        for (const bytes of [10, 300 * KIB]) {
          const writes = places.map((place, at) => writeOf(place, { body: Buffer.alloc(bytes, at) }));
          await cache.write(writes);
          const found = await cache.read(places);
          expect(found.map((entry) => entry?.body.length)).toEqual(places.map(() => bytes));
          expect(found.map((entry) => entry?.body[0])).toEqual([0, 1, 2, 3, 4]);
        }
      }));

    it('are whole on both sides of the size from which a body lies by itself, and when that changes', () =>
      withStore(open, async ({ store: { cache }, elapse }) => {
        const place = dayOf('s', '2026-01-01');
        for (const bytes of [256 * KIB, 256 * KIB + 1, 3, 700 * KIB, 0]) {
          const body = Buffer.alloc(bytes, 'x');
          await cache.write([writeOf(place, { body })]);
          const [found] = await cache.read([place]);
          expect(found?.body.equals(body)).toBe(true);
        }
        await cache.write([writeOf(place, { body: Buffer.alloc(300 * KIB) })]);
        await cache.remove([place]);
        expect(await cache.read([place])).toEqual([null]);
        await cache.write([writeOf(place, { body: Buffer.alloc(300 * KIB) })]);
        await elapse(2 * MINUTE);
        expect(await cache.read([place])).toEqual([null]);
      }));

    it('keep the newer one whole, large or small, when an older one comes after', () =>
      withStore(open, async ({ store: { cache } }) => {
        const [small, large] = [Buffer.from('small'), Buffer.alloc(300 * KIB, 'l')];
        const place = dayOf('s', '2026-01-01');
        for (const [newer, older] of [
          [small, large],
          [large, small],
        ] as const) {
          await cache.remove([place]);
          const other = Buffer.from('{"older":1}');
          await cache.write([writeOf(place, { body: newer, version: 2 })]);
          await cache.write([writeOf(place, { body: older, version: 1, facts: other })]);
          const [found] = await cache.read([place]);
          expect(found?.version).toBe(2);
          expect(found?.body.equals(newer)).toBe(true);
          expect(found?.facts.toString()).toBe('{"columns":["a"]}');
        }
      }));

    it('end each at its own time, though they lie together', () =>
      withStore(open, async ({ store: { cache }, elapse }) => {
        const [one, two] = [dayOf('s', '2026-01-01'), dayOf('s', '2026-01-02')];
        await cache.write([writeOf(one, { ttlMs: 9 * MINUTE })]);
        await cache.write([writeOf(two, { ttlMs: MINUTE })]);
        await elapse(3 * MINUTE);
        expect((await cache.read([one, two])).map((entry) => entry !== null)).toEqual([true, false]);
        // A write beside it takes away what is over, and leaves what is not.
        await cache.write([writeOf(two, { ttlMs: MINUTE, version: 0 })]);
        expect((await cache.read([one, two])).map((entry) => entry !== null)).toEqual([true, true]);
        await elapse(2 * MINUTE);
        expect((await cache.read([one, two])).map((entry) => entry !== null)).toEqual([true, false]);
        await elapse(9 * MINUTE);
        expect(await cache.read([one, two])).toEqual([null, null]);
      }));

    it('refuse a header that is too long', () =>
      withStore(open, async ({ store: { cache } }) => {
        const [one, two] = [dayOf('s', '2026-01-01'), dayOf('s', '2026-01-02')];
        const longest = Buffer.alloc(HEADER_MAX_BYTES, 1);
        const tooLong = Buffer.alloc(HEADER_MAX_BYTES + 1, 1);
        const writing = cache.write([writeOf(one), writeOf(two, { header: tooLong })]);
        await expect(writing).rejects.toThrow(RangeError);
        expect(await cache.read([one, two])).toEqual([null, null]);
        await cache.write([writeOf(one, { header: longest })]);
        expect((await cache.read([one]))[0]?.header).toEqual(longest);
      }));
  });
}
