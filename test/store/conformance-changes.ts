import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Changes,
  FEED_CHANNEL,
  FEED_START,
  positionOf,
  type Told,
} from '../../src/store/changes-port.js';
import type { DaysStore, MonthPlace, MonthWrite } from '../../src/store/days-port.js';
import { monthWrite, PLACE } from './conformance-days.js';
import { type OpenHarness, withStore } from './harness.js';

export const one = (text: string): Told => ({ text, count: 1 });

/** A store may append a moment after the write. */
export const expectTexts = (changes: Changes, texts: readonly string[], from = FEED_START) =>
  expect
    .poll(async () => (await changes.read(from, 1000)).entries.map(({ text }) => text), { timeout: 20_000 })
    .toEqual(texts);

const stampOf = async (days: DaysStore, place: MonthPlace = PLACE) => (await days.whole(place))?.stamp ?? 0;

/** Writes a month as it is now. */
export async function writeNow(days: DaysStore, change: Partial<MonthWrite>): Promise<void> {
  const place = { ...PLACE, ...change };
  expect(await days.write([monthWrite(await stampOf(days, place), 'index', change)])).toEqual([null]);
}

const telling = (text: string) => ({ told: one(text) });

export function describeChanges(open: OpenHarness): void {
  describe('the feed of changes', () => {
    it('is empty at first, and has a name and a beginning that stay', () =>
      withStore(open, async ({ store, another }) => {
        const first = await store.changes.read(FEED_START, 10);
        expect(first).toMatchObject({ entries: [], last: FEED_START, trimmed: FEED_START });
        expect(first.incarnation).toMatch(/^[a-z0-9]{8,20}$/);
        expect(first.createdMs).toBeGreaterThan(0);
        await writeNow(store.days, telling('a'));
        await expectTexts(store.changes, ['a']);
        const { changes } = await another();
        for (const page of [await changes.read(FEED_START, 10), await changes.newest()])
          expect(page).toMatchObject({ incarnation: first.incarnation, createdMs: first.createdMs });
      }));

    it('has what each write told that was made, in the order of the writes, for every process', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const texts = Array.from({ length: 12 }, (_, at) => `write ${at}`);
        for (const [at, text] of texts.entries())
          await writeNow((at % 2 === 0 ? store : other).days, telling(text));
        await expectTexts(other.changes, texts);
        const { entries, last } = await store.changes.read(FEED_START, 1000);
        const positions = entries.map(({ position }) => position);
        expect(positions).toEqual([...new Set(positions)].toSorted());
        expect(last).toBe(positions.at(-1));
        expect(last).toMatch(/^\d{15}-\d{9}$/);
      }));

    it('has nothing of a write that lost against another, nor of one that told nothing', () =>
      withStore(open, async ({ store: { days, changes } }) => {
        await writeNow(days, telling('first'));
        const [lost] = await days.write([monthWrite(7, 'index', telling('lost'))]);
        expect(lost).not.toBeNull();
        expect(await days.write([{ ...monthWrite(7, 'index', telling('none')), series: 'absent' }])).toEqual([
          'none',
        ]);
        await writeNow(days, {});
        await writeNow(days, telling('last'));
        await expectTexts(changes, ['first', 'last']);
      }));

    it('has what several months told in one call, without those that were not written', () =>
      withStore(open, async ({ store: { days, changes } }) => {
        const writes = ['a', 'b', 'c'].map((series, at) => ({
          ...monthWrite(at === 1 ? 9 : 0, 'index', telling(series)),
          series,
        }));
        expect(await days.write(writes)).toEqual([null, 'none', null]);
        await expect
          .poll(async () => (await changes.read(FEED_START, 9)).entries.map(({ text }) => text).toSorted())
          .toEqual(['a', 'c']);
      }));

    it('has what the removal of a month told, if it was removed', () =>
      withStore(open, async ({ store: { days, changes } }) => {
        await writeNow(days, telling('written'));
        expect(await days.remove(PLACE, 7, one('not removed'))).toBe(false);
        expect(await days.remove(PLACE, await stampOf(days), one('removed'))).toBe(true);
        expect(await days.whole(PLACE)).toBeNull();
        expect(await days.months(null, 9)).toEqual([]);
        await writeNow(days, telling('written again'));
        expect(await days.remove(PLACE, await stampOf(days))).toBe(true);
        await writeNow(days, telling('last'));
        await expectTexts(changes, ['written', 'removed', 'written again', 'last']);
      }));

    it('is read page by page from a position on, with the entry at it', () =>
      withStore(open, async ({ store: { changes } }) => {
        for (const text of ['a', 'b', 'c', 'd']) await changes.append(one(text));
        const first = await changes.read(FEED_START, 3);
        expect(first.entries.map(({ text }) => text)).toEqual(['a', 'b', 'c']);
        const [, , third] = first.entries;
        const next = await changes.read(third?.position ?? '', 3);
        expect(next.entries.map(({ text }) => text)).toEqual(['c', 'd']);
        expect(next.entries[0]).toEqual(third);
        expect(first.last).toBe(next.entries[1]?.position);
        expect(await changes.newest()).toEqual({ ...next, entries: next.entries.slice(1) });
        const texts = (await changes.newest(3)).entries.map(({ text }) => text);
        expect(texts).toEqual(['d', 'c', 'b']);
        const beyond = positionOf(999_999_999_999_999, 0);
        expect(await changes.read(beyond, 3)).toEqual({ ...next, entries: [] });
        await expect(changes.read('', 3)).rejects.toThrow(RangeError);
      }));

    it('keeps texts of any characters', () =>
      withStore(open, async ({ store: { days, changes } }) => {
        const texts = ['d series 2026-03 a:-:if,b:c:F', '', 'ä 数 🦊', '\0\t"\\', ' x '.repeat(5000)];
        for (const text of texts) await writeNow(days, telling(text));
        for (const text of texts) await changes.append(one(text));
        await expect
          .poll(async () => (await changes.read(FEED_START, 99)).entries.map(({ text }) => text).toSorted(), {
            timeout: 20_000,
          })
          .toEqual([...texts, ...texts].toSorted());
      }));

    it('is announced on the bus after a write, a removal and an entry that belongs to none', () =>
      withStore(open, async ({ store, another }) => {
        const { bus } = await another();
        const heard: string[] = [];
        const stop = bus.subscribe(FEED_CHANNEL, (message) => void heard.push(message));
        await expect
          .poll(async () => {
            await store.bus.publish(FEED_CHANNEL, 'ready');
            return heard.length;
          })
          .toBeGreaterThan(0);
        const announced = () => heard.filter((message) => message === '').length;
        await writeNow(store.days, telling('written'));
        await expect.poll(announced, { timeout: 20_000 }).toBe(1);
        await store.days.remove(PLACE, await stampOf(store.days), one('removed'));
        await expect.poll(announced, { timeout: 20_000 }).toBe(2);
        await store.changes.append(one('appended'));
        await expect.poll(announced, { timeout: 20_000 }).toBe(3);
        stop();
      }));

    it('lets its oldest entries go beyond a number of changes, and says up to where', () =>
      withStore(open, async ({ store: { changes } }) => {
        await changes.trim(0);
        const count = 100;
        for (let at = 0; at < 31; at += 1) await changes.append({ text: `${at}`, count });
        const before = await changes.read(FEED_START, 99);
        await changes.trim(2_100);
        // Not more than 1,000 beyond.
        expect(await changes.read(FEED_START, 99)).toEqual(before);
        await changes.trim(2_000);
        const after = await changes.read(FEED_START, 99);
        expect(after.entries.map(({ text }) => text)).toEqual(
          Array.from({ length: 20 }, (_, at) => `${at + 11}`),
        );
        expect(after).toMatchObject({
          incarnation: before.incarnation,
          trimmed: before.entries[10]?.position,
          last: before.last,
        });
        await changes.append({ text: 'next', count: 1_001 });
        await changes.trim(0);
        expect(await changes.newest()).toMatchObject({ entries: [] });
        const { last, trimmed } = await changes.newest();
        expect(last).toBe(trimmed);
        expect(last > before.last).toBe(true);
        await changes.append(one('after all'));
        await expectTexts(changes, ['after all']);
        expect((await changes.newest()).last > last).toBe(true);
      }));

    it('lets thousands of entries go', () =>
      withStore(open, async ({ store: { changes } }) => {
        for (let at = 0; at < 30; at += 1)
          await Promise.all(Array.from({ length: 100 }, () => changes.append(one('x'))));
        await changes.trim(500);
        expect((await changes.read(FEED_START, 5000)).entries).toHaveLength(500);
      }));

    it('holds after any writes, removals, pages and trims what a list would hold', () =>
      withStore(open, async ({ store: { days, changes } }) => {
        const step = fc.oneof(
          fc.record({
            kind: fc.constantFrom('write', 'late', 'silent', 'append'),
            text: fc.string({ unit: 'binary', maxLength: 20 }),
            count: fc.integer({ min: 1, max: 900 }),
          }),
          fc.record({
            kind: fc.constant('trim'),
            text: fc.constant(''),
            count: fc.integer({ max: 2000, min: 0 }),
          }),
        );
        await changes.append({ text: 'first', count: 1 });
        let model: Told[] = [{ text: 'first', count: 1 }];
        let round = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
            round += 1;
            for (const { kind, text: any, count } of steps) {
              const told = { text: any.replace(/[\r\n]/g, ''), count };
              const all = () => model.reduce((sum, entry) => sum + entry.count, 0);
              const place = { series: `p${round}` };
              if (kind === 'trim') {
                await changes.trim(count);
                if (all() > count + 1000) while (all() > count) model = model.slice(1);
              } else if (kind === 'append') await changes.append(told);
              else if (kind === 'silent') await writeNow(days, place);
              else if (kind === 'late')
                expect(await days.write([{ ...monthWrite(5, 'index', { told }), ...place }])).not.toEqual([
                  null,
                ]);
              else await writeNow(days, { ...place, told });
              if (kind === 'append' || kind === 'write') model.push(told);
              await expectTexts(
                changes,
                model.map(({ text }) => text),
              );
            }
            const read: string[] = [];
            for (let from = FEED_START; ; ) {
              const { entries } = await changes.read(from, 4);
              const fresh = from === FEED_START ? entries : entries.slice(1);
              read.push(...fresh.map(({ text }) => text));
              if (fresh.length === 0) break;
              from = fresh.at(-1)?.position ?? '';
            }
            expect(read).toEqual(model.map(({ text }) => text));
          }),
          { numRuns: 25 },
        );
      }));
  });
}
