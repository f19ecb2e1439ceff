import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DaysStore, MonthPlace, MonthWrite, StoredMonth, Written } from '../../src/store/days-port.js';
import { type OpenHarness, withStore } from './harness.js';

const bytes = (text: string) => Buffer.from(text);
const [SERIES, MONTH] = ['s', '2026-03'];
export const PLACE = { series: SERIES, month: MONTH };

/** Of month 2026-03 of series `s`. */
export function monthWrite(stamp: number, index: string, change: Partial<MonthWrite> = {}): MonthWrite {
  return {
    ...PLACE,
    stamp,
    index: bytes(index),
    order: 0,
    named: new Map(),
    parts: new Map(),
    earlier: new Map(),
    dropped: [],
    ttlMs: null,
    ...change,
  };
}

/** Days and their part, as the index names it. */
const naming = (name: string, size: number, ...days: number[]) =>
  new Map(days.map((day) => [day, { name, bytes: size }]));

const monthOf = async (days: DaysStore, ...wanted: number[]) =>
  (await days.read(SERIES, [{ month: MONTH, days: wanted }]))[0] ?? null;

const stampOf = async (days: DaysStore) => (await monthOf(days))?.stamp ?? 0;

const removeNow = async (days: DaysStore, place: MonthPlace = PLACE) =>
  days.remove(place, (await days.whole(place))?.stamp ?? 0);

const namesOf = async (days: DaysStore) =>
  (await days.months(null, 1000)).map(({ series, month }) => `${series} ${month}`);

const shown = (month: StoredMonth | Written) =>
  month === null || month === 'none'
    ? month
    : {
        index: month.index?.toString(),
        parts: Object.fromEntries([...month.parts].map(([name, part]) => [name, part.toString()])),
      };

const LEASE_MS = 4000;
const claim = (owner: string, names: readonly string[], known: readonly number[] = []) => ({
  owner,
  names,
  leaseMs: LEASE_MS,
  known: known.map((stamp) => ({ month: MONTH, days: [1], stamp })),
});

export function describeDays(open: OpenHarness): void {
  describe('days', () => {
    it('returns the index of a month and the parts of the wanted days, to every process', () =>
      withStore(open, async ({ store, another }) => {
        const { days } = await another();
        const parts = new Map([
          ['a', bytes('rows of a')],
          ['b', bytes('rows of b')],
        ]);
        const named = new Map([...naming('a', 9, 1, 2), ...naming('b', 9, 31)]);
        expect(await store.days.write([monthWrite(0, 'index', { parts, named })])).toEqual([null]);
        const found = await days.read(SERIES, [
          { month: '2026-02', days: [1] },
          { month: MONTH, days: [2, 3, 1] },
        ]);
        expect(found.map(shown)).toEqual([null, { index: 'index', parts: { a: 'rows of a' } }]);
        expect(shown(await monthOf(days, 31))).toEqual({ index: 'index', parts: { b: 'rows of b' } });
        expect(await days.read('another', [{ month: MONTH, days: [1] }])).toEqual([null]);
        expect([...(await days.parts(PLACE, ['b', 'c', 'a'])).keys()]).toEqual(['b', 'a']);
      }));

    it('reads twelve months in their order', () =>
      withStore(open, async ({ store: { days } }) => {
        const months = Array.from({ length: 12 }, (_, at) => `2026-${String(at + 1).padStart(2, '0')}`);
        await days.write(months.map((month) => ({ ...monthWrite(0, month), month })));
        const found = await days.read(
          SERIES,
          months.toReversed().map((month) => ({ month, days: [] })),
        );
        expect(found.map((one) => one?.index?.toString())).toEqual(months.toReversed());
      }));

    it('writes a month only if it has the stamp that was read, all or nothing', () =>
      withStore(open, async ({ store, another }) => {
        const { days } = await another();
        await store.days.write([monthWrite(0, 'first')]);
        const stamp = await stampOf(days);
        expect(await days.write([monthWrite(stamp, 'second')])).toEqual([null]);
        const late = { parts: new Map([['late', bytes('late')]]), earlier: new Map([[1, bytes('late')]]) };
        const done = await store.days.write([
          monthWrite(stamp, 'third', late),
          { ...monthWrite(0, 'of another month'), month: '2026-04' },
          { ...monthWrite(7, 'of none'), month: '2026-05' },
          monthWrite(0, 'as if there were none', late),
        ]);
        expect(done.map(shown)).toEqual([
          { index: 'second', parts: {} },
          null,
          'none',
          { index: 'second', parts: {} },
        ]);
        const whole = await days.whole(PLACE);
        expect(whole?.parts.size).toBe(0);
        expect(whole?.earlier.size).toBe(0);
        expect((done[0] as StoredMonth).stamp).toBe(await stampOf(days));
      }));

    it('lets one of several concurrent writers win each time, and shows the others what is there', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const add = async ({ days }: { readonly days: DaysStore }, name: string) => {
          for (let month = await monthOf(days); ; ) {
            const index = `${month?.index ?? ''}${name}`;
            const [lost] = await days.write([monthWrite(month?.stamp ?? 0, index)]);
            if (lost === null) return;
            month = lost === 'none' ? null : (lost as StoredMonth);
          }
        };
        const names = [...'abcdefgh'];
        await Promise.all(names.map((name, at) => add(at % 2 === 0 ? store : other, name)));
        expect([...((await monthOf(store.days))?.index?.toString() ?? '')].sort()).toEqual(names);
      }));

    it('keeps earlier revisions of days beside the index, until a write removes or replaces them', () =>
      withStore(open, async ({ store: { days } }) => {
        const earlier = new Map([
          [1, bytes('one')],
          [2, bytes('two')],
          [31, bytes('last')],
        ]);
        await days.write([monthWrite(0, 'index', { earlier })]);
        await days.write([
          monthWrite(await stampOf(days), 'next', {
            earlier: new Map([
              [1, null],
              [2, bytes('changed')],
            ]),
          }),
        ]);
        const found = await days.earlier(PLACE, [1, 2, 3, 31]);
        expect(found?.index?.toString()).toBe('next');
        expect(found?.stamp).toBe(await stampOf(days));
        expect([...(found?.earlier ?? [])].map(([day, one]) => [day, one?.toString()])).toEqual([
          [2, 'changed'],
          [31, 'last'],
        ]);
        expect(await days.earlier({ ...PLACE, month: '2026-04' }, [1])).toBeNull();
        const textOf = (all: StoredMonth['earlier'] | undefined) =>
          [...(all ?? [])].map(([day, one]) => `${day} ${one}`);
        const wanted = { month: MONTH, days: [1, 2, 31] };
        const [month, bare] = await days.read(SERIES, [{ ...wanted, withEarlier: true }, wanted]);
        expect(textOf(month?.earlier)).toEqual(['2 changed', '31 last']);
        expect(textOf(bare?.earlier)).toEqual([]);
        const [lost] = await days.write([monthWrite(0, 'late', { earlier: new Map([[31, null]]) })]);
        expect(textOf((lost as StoredMonth).earlier)).toEqual(['31 last']);
      }));

    it('keeps parts of any size, as they were, and reads large ones by name', () =>
      withStore(open, async ({ store: { days } }) => {
        const sizes = { empty: 0, small: 20_000, middle: 40_000, large: 300_000, huge: 2_000_000 };
        const parts = new Map(
          Object.entries(sizes).map(([name, size]) => [name, Buffer.alloc(size, `${name} `)]),
        );
        const named = new Map(
          [...parts].map(([name, part], at) => [at + 1, { name, bytes: part.length }] as const),
        );
        expect(await days.write([monthWrite(0, 'index', { parts, named })])).toEqual([null]);
        const along = (await monthOf(days, 1, 2, 3, 4, 5))?.parts ?? new Map();
        for (const [name, part] of along) expect(part.equals(parts.get(name) ?? bytes('?')), name).toBe(true);
        const found = await days.parts(PLACE, [...parts.keys()]);
        for (const [name, part] of parts) expect(found.get(name)?.equals(part), name).toBe(true);
        expect([...((await days.whole(PLACE))?.parts.keys() ?? [])].toSorted()).toEqual(
          [...parts.keys()].sort(),
        );
      }));

    it('removes parts that a write drops, and no others', () =>
      withStore(open, async ({ store: { days } }) => {
        const parts = new Map(
          ['a', 'a-b', 'ab', 'c'].map((name) => [name, Buffer.alloc(name === 'a' ? 200_000 : 10, name)]),
        );
        await days.write([monthWrite(0, 'index', { parts })]);
        await days.write([monthWrite(await stampOf(days), 'index', { dropped: ['a', 'none'] })]);
        expect([...((await days.whole(PLACE))?.parts.keys() ?? [])].toSorted()).toEqual(['a-b', 'ab', 'c']);
        expect([...(await days.parts(PLACE, ['a', 'ab'])).keys()]).toEqual(['ab']);
      }));

    it('lists months that were written, the oldest first, until they are removed', () =>
      withStore(open, async ({ store, another }) => {
        const { days } = await another();
        const places = Array.from({ length: 250 }, (_, at) => ({
          series: `s${at % 125}`,
          month: at < 125 ? '2026-04' : MONTH,
        }));
        for (let at = 0; at < places.length; at += 50)
          await days.write(
            places.slice(at, at + 50).map((place) => ({ ...monthWrite(0, 'index'), ...place })),
          );
        expect(await removeNow(days, { series: 's8', month: MONTH })).toBe(true);
        const listed: MonthPlace[] = [];
        for (let page: MonthPlace[] = []; ; ) {
          page = await store.days.months(page.at(-1) ?? null, 60);
          if (page.length === 0) break;
          listed.push(...page);
        }
        expect(new Set(listed.map(({ series, month }) => `${series} ${month}`)).size).toBe(249);
        expect(listed.map(({ month }) => month)).toEqual(listed.map(({ month }) => month).toSorted());
        expect(await days.whole({ series: 's8', month: MONTH })).toBeNull();
        expect(await days.read('s8', [{ month: MONTH, days: [1] }])).toEqual([null]);
      }));

    it('removes a month only if it has the stamp that was read', () =>
      withStore(open, async ({ store, another }) => {
        const { days } = await another();
        const earlier = new Map([[1, bytes('earlier')]]);
        await store.days.write([monthWrite(0, 'first')]);
        const stamp = await stampOf(days);
        await store.days.write([
          monthWrite(stamp, 'second', { parts: new Map([['a', bytes('rows')]]), earlier }),
        ]);
        for (const former of [0, stamp]) expect(await days.remove(PLACE, former)).toBe(false);
        expect((await store.days.whole(PLACE))?.parts.size).toBe(1);
        expect(await namesOf(days)).toEqual([`${SERIES} ${MONTH}`]);
        expect(await days.remove(PLACE, await stampOf(days))).toBe(true);
        expect([await store.days.whole(PLACE), await namesOf(days)]).toEqual([null, []]);
        expect(await days.remove(PLACE, 0)).toBe(true);
      }));

    it('loses nothing of a month that is written while it is removed', () =>
      withStore(open, async ({ store, another }) => {
        const { days } = await another();
        for (let round = 0; round < 40; round += 1) {
          const place = { series: `r${round}`, month: MONTH };
          const writeOf = (stamp: number, name: string) => ({
            ...monthWrite(stamp, name, { parts: new Map([[name, bytes(name)]]) }),
            ...place,
            earlier: new Map([[1, bytes(name)]]),
          });
          if (round % 2 === 0) await store.days.write([writeOf(0, 'before')]);
          const stamp = (await days.whole(place))?.stamp ?? 0;
          const [[lost], isRemoved] = await Promise.all([
            store.days.write([writeOf(stamp, 'now')]),
            days.remove(place, stamp),
          ]);
          const whole = await days.whole(place);
          const isListed = (await namesOf(days)).includes(`${place.series} ${MONTH}`);
          // Of an absent month both may be made: the removal first.
          if (lost === null && stamp !== 0) expect(isRemoved).toBe(false);
          if (lost !== null) expect([lost, isRemoved]).toEqual(['none', true]);
          expect([whole?.index?.toString(), whole?.parts.has('now'), whole?.earlier.size, isListed]).toEqual(
            lost === null ? ['now', true, 1, true] : [undefined, undefined, undefined, false],
          );
        }
      }));

    it('tells which months were used longest ago, by the latest day of their use', () =>
      withStore(open, async ({ store, another }) => {
        const { days } = await another();
        const placeOf = (series: string) => ({ series, month: MONTH });
        await days.write(['a', 'b', 'c', 'd'].map((series) => ({ ...monthWrite(0, 'index'), series })));
        await store.days.used([placeOf('a'), placeOf('b'), placeOf('c')], 20_500);
        await days.used([placeOf('a'), placeOf('d')], 20_501);
        await days.used([placeOf('a'), placeOf('b')], 20_400);
        await removeNow(days, placeOf('c'));
        expect(await store.days.unused(1)).toEqual([{ ...placeOf('b'), usedOn: 20_500 }]);
        const all = (await store.days.unused(9)).map(({ series, usedOn }) => `${series} ${usedOn}`);
        expect(all.toSorted()).toEqual(['a 20501', 'b 20500', 'd 20501']);
      }));

    it('ends a month by itself, never earlier than before, and never one that was written without an end', () =>
      withStore(open, async ({ store: { days }, elapse }) => {
        const months = ['2026-01', '2026-02', '2026-03'];
        const readAll = async () =>
          (
            await days.read(
              SERIES,
              months.map((month) => ({ month, days: [] })),
            )
          ).map((one) => one !== null);
        await days.write(months.map((month) => ({ ...monthWrite(0, 'index', { ttlMs: 60_000 }), month })));
        const stamps = (
          await days.read(
            SERIES,
            months.map((month) => ({ month, days: [] })),
          )
        ).map((one) => one?.stamp ?? 0);
        await days.write([
          { ...monthWrite(stamps[0] as number, 'index', { ttlMs: 1 }), month: '2026-01' },
          { ...monthWrite(stamps[1] as number, 'index', { ttlMs: 120_000 }), month: '2026-02' },
          { ...monthWrite(stamps[2] as number, 'index'), month: '2026-03' },
        ]);
        await elapse(50_000);
        expect(await readAll()).toEqual([true, true, true]);
        await elapse(20_000);
        expect(await readAll()).toEqual([false, true, true]);
        const { stamp } = (await monthOf(days)) as StoredMonth;
        await days.write([monthWrite(stamp, 'index', { ttlMs: 1 })]);
        await elapse(60_000);
        expect(await readAll()).toEqual([false, false, true]);
        expect(await days.write([{ ...monthWrite(0, 'again'), month: '2026-01' }])).toEqual([null]);
      }));

    it('ends a month when it is told that this is its end, although it had a later one, or none', () =>
      withStore(open, async ({ store: { days }, elapse }) => {
        const months = ['2026-01', '2026-02'];
        const wanted = months.map((month) => ({ month, days: [] }));
        await days.write([
          { ...monthWrite(0, 'index'), month: '2026-01' },
          { ...monthWrite(0, 'index', { ttlMs: 600_000 }), month: '2026-02' },
        ]);
        const found = await days.read(SERIES, wanted);
        const change = { ttlMs: 60_000, isEnding: true } as const;
        await days.write(
          months.map((month, at) => ({ ...monthWrite(found[at]?.stamp ?? 0, 'last', change), month })),
        );
        await elapse(50_000);
        const last = await days.read(SERIES, wanted);
        expect(last.map((one) => one?.index?.toString())).toEqual(['last', 'last']);
        await elapse(20_000);
        expect(await days.read(SERIES, wanted)).toEqual([null, null]);
      }));

    it('refuses invalid names of parts and days that no month has', () =>
      withStore(open, async ({ store: { days } }) => {
        const refused: Partial<MonthWrite>[] = [
          { parts: new Map([['A', bytes('')]]) },
          { parts: new Map([['', bytes('')]]) },
          { named: naming('a', 1, 0) },
          { named: naming('a', 1, 32) },
          { named: naming('a:b', 1, 1) },
        ];
        for (const change of refused)
          await expect(days.write([monthWrite(0, 'index', change)])).rejects.toThrow(RangeError);
        expect(await days.whole(PLACE)).toBeNull();
      }));

    describe('locks', () => {
      it('are held by one owner until it releases them, or until they end', () =>
        withStore(open, async ({ store, another, elapse }) => {
          const { days } = await another();
          expect((await store.days.claim(SERIES, claim('one', ['a', 'b']))).held).toEqual([true, true]);
          expect((await days.claim(SERIES, claim('two', ['b', 'c']))).held).toEqual([false, true]);
          expect((await days.claim('another', claim('two', ['b']))).held).toEqual([true]);
          expect((await store.days.claim(SERIES, claim('one', ['b']))).held).toEqual([true]);
          await days.release(SERIES, { owner: 'two', names: ['a', 'b', 'c'] });
          expect((await days.claim(SERIES, claim('three', ['a', 'b', 'c']))).held).toEqual([
            ...[false, false, true],
          ]);
          expect(await days.renew(SERIES, { owner: 'three', names: ['a', 'c'], leaseMs: 60_000 })).toEqual([
            ...[false, true],
          ]);
          await elapse(LEASE_MS + 1000);
          expect((await days.claim(SERIES, claim('four', ['a', 'b', 'c']))).held).toEqual([
            true,
            true,
            false,
          ]);
        }));

      it('end with the write that names them, and with no other; its news is told', () =>
        withStore(open, async ({ store, another }) => {
          const { days, bus } = await another();
          const told: string[] = [];
          const stop = bus.subscribe('news', (message) => told.push(message));
          const heard = async () => {
            await expect
              .poll(async () => {
                await store.bus.publish('news', 'ready');
                return told.includes('ready');
              })
              .toBe(true);
            return told.filter((one) => one !== 'ready');
          };
          await heard();
          await store.days.claim(SERIES, claim('one', ['a', 'b']));
          const release = (message: string) => ({
            release: { owner: 'one', names: ['a'], news: { channel: 'news', message } },
          });
          await store.days.write([monthWrite(9, 'index', release('not written'))]);
          expect((await days.claim(SERIES, claim('two', ['a']))).held).toEqual([false]);
          await store.days.write([monthWrite(0, 'index', release('written'))]);
          expect((await days.claim(SERIES, claim('two', ['a', 'b']))).held).toEqual([true, false]);
          await store.days.release(SERIES, {
            owner: 'one',
            names: ['b'],
            news: { channel: 'news', message: 'released' },
          });
          await expect.poll(heard).toEqual(['written', 'released']);
          stop();
        }));

      it('come with an order of fetches above that of each month, unless a wrong clock gave it', () =>
        withStore(open, async ({ store: { days } }) => {
          const orderNow = async () => (await days.claim(SERIES, claim('one', [], []))).order;
          const orderOf = async (leadUs: number) => {
            const order = (await orderNow()) + leadUs;
            const [lost] = await days.write([monthWrite(await stampOf(days), 'index', { order })]);
            expect(lost).toBeNull();
            return { order, next: (await days.claim(SERIES, claim('one', ['x'], [0]))).order };
          };
          const ahead = await orderOf(60_000_000);
          expect(ahead.next).toBe(ahead.order + 1);
          const { clockUs } = await days.claim(SERIES, claim('one', [], [0]));
          expect(ahead.order - clockUs).toBeGreaterThan(0);
          expect(ahead.order - clockUs).toBeLessThanOrEqual(60_000_000);
          const wrong = await orderOf(3_600_000_000);
          expect(wrong.next).toBeLessThan(wrong.order);
        }));

      it('come with the order of fetches, which grows, and with months that changed since they were read', () =>
        withStore(open, async ({ store, another }) => {
          const { days } = await another();
          const parts = new Map([['a', bytes('rows')]]);
          const first = await store.days.claim(SERIES, claim('one', ['x'], [0]));
          expect(first.changed.size).toBe(0);
          await days.write([monthWrite(0, 'index', { parts, named: naming('a', 4, 1) })]);
          const second = await store.days.claim(SERIES, claim('one', [], [0]));
          expect(second.order).toBeGreaterThan(first.order);
          expect(shown(second.changed.get(MONTH) ?? null)).toEqual({ index: 'index', parts: { a: 'rows' } });
          const earlier = new Map([1, 2].map((day) => [day, bytes(`earlier ${day}`)]));
          await days.write([monthWrite(await stampOf(days), 'index', { earlier })]);
          const stamp = await stampOf(days);
          const known = await days.claim(SERIES, claim('one', ['x'], [stamp]));
          expect(known.changed.size).toBe(0);
          const told = [...(known.earlier.get(MONTH) ?? [])].map(([day, one]) => [day, one?.toString()]);
          expect(told).toEqual([[1, 'earlier 1']]);
          await removeNow(days);
          const third = await days.claim(SERIES, claim('one', ['x'], [stamp]));
          expect([...third.changed]).toEqual([[MONTH, null]]);
        }));
    });

    it('holds after any writes what a map would hold', () =>
      withStore(open, async ({ store: { days } }) => {
        const step = fc.record({
          index: fc.string({ maxLength: 40 }),
          day: fc.integer({ min: 1, max: 31 }),
          part: fc.option(fc.uint8Array({ maxLength: 60 })),
          earlier: fc.option(fc.uint8Array({ maxLength: 60 })),
          isLate: fc.boolean(),
          drops: fc.boolean(),
        });
        let round = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
            round += 1;
            const place = { series: `p${round}`, month: MONTH };
            const model = {
              index: null as string | null,
              earlier: new Map<number, string>(),
              parts: new Map<string, string>(),
            };
            let stamp = 0;
            for (const [at, one] of steps.entries()) {
              const name = `n${at}`;
              const [gone] = one.drops ? model.parts.keys() : [];
              const done = await days.write([
                {
                  ...monthWrite(one.isLate ? stamp + 1 : stamp, one.index, {
                    parts: one.part === null ? new Map() : new Map([[name, Buffer.from(one.part)]]),
                    earlier: new Map([[one.day, one.earlier === null ? null : Buffer.from(one.earlier)]]),
                    dropped: gone === undefined ? [] : [gone],
                  }),
                  ...place,
                },
              ]);
              expect(done[0] === null).toBe(!one.isLate);
              if (one.isLate) continue;
              model.index = one.index;
              if (one.part !== null) model.parts.set(name, Buffer.from(one.part).toString('hex'));
              if (gone !== undefined) model.parts.delete(gone);
              if (one.earlier === null) model.earlier.delete(one.day);
              else model.earlier.set(one.day, Buffer.from(one.earlier).toString('hex'));
              stamp = (await days.whole(place))?.stamp ?? 0;
            }
            const whole = await days.whole(place);
            expect(whole?.index?.toString() ?? null).toBe(model.index);
            const hex = (map: ReadonlyMap<unknown, Buffer | null>) =>
              new Map([...map].map(([name, value]) => [name, value?.toString('hex')]));
            expect(hex(whole?.earlier ?? new Map())).toEqual(model.earlier);
            expect(hex(await days.parts(place, [...(whole?.parts.keys() ?? [])]))).toEqual(model.parts);
          }),
          { numRuns: 25 },
        );
      }));
  });
}
