import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HistoryContent, HistoryStore, HistoryWrite } from '../../src/store/history-port.js';
import { type OpenHarness, withStore } from './harness.js';

const bytes = (text: string) => Buffer.from(text);

function content(text: string, change: Partial<HistoryContent> = {}): HistoryContent {
  return { version: 7, header: bytes('h'), body: bytes(text), facts: bytes('columns'), ...change };
}

function write(day: string, stamp: number, heads: string, change: Partial<HistoryWrite> = {}): HistoryWrite {
  return { day, stamp, heads: bytes(heads), added: new Map(), removed: [], ...change };
}

async function headsOf(history: HistoryStore, series: string, ...days: string[]) {
  return (await history.heads(series, days)).map((one) => one?.heads.toString() ?? null);
}

const stampOf = async (history: HistoryStore, series: string, day: string) =>
  (await history.heads(series, [day]))[0]?.stamp ?? 0;

export function describeHistory(open: OpenHarness, place: 'history' | 'oldPins'): void {
  describe(place, () => {
    it('has heads and contents of days, wherever they are asked for', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const added = new Map([['a', content('one')]]);
        const days = ['2026-02-28', '2026-03-01'];
        expect(await headsOf(store[place], 's', ...days)).toEqual([null, null]);
        const writes = days.map((day) => write(day, 0, `of ${day}`, { added }));
        expect(await store[place].write('s', writes)).toEqual([true, true]);
        expect(await headsOf(other[place], 's', '2026-03-02', ...days)).toEqual([
          null,
          'of 2026-02-28',
          'of 2026-03-01',
        ]);
        expect(
          await other[place].contents('s', [
            { day: '2026-03-01', name: 'a' },
            { day: '2026-03-01', name: 'b' },
            { day: '2026-03-02', name: 'a' },
            { day: '2026-02-28', name: 'a' },
          ]),
        ).toEqual([content('one'), null, null, content('one')]);
        expect(await other[place].contents('another', [{ day: '2026-03-01', name: 'a' }])).toEqual([null]);
      }));

    it('is written only where it is what was read; of several days each by itself', () =>
      withStore(open, async ({ store, another }) => {
        const { [place]: history } = await another();
        await store[place].write('s', [write('2026-03-01', 0, 'one')]);
        const stale = await stampOf(store[place], 's', '2026-03-01');
        await history.write('s', [write('2026-03-01', stale, 'two')]);
        const added = new Map([['late', content('late')]]);
        expect(
          await store[place].write('s', [
            write('2026-03-01', stale, 'three', { added }),
            write('2026-03-02', 0, 'first'),
            write('2026-03-03', stale, 'of none'),
            write('2026-03-01', 0, 'none'),
          ]),
        ).toEqual([false, true, false, false]);
        expect(await headsOf(history, 's', '2026-03-01', '2026-03-02', '2026-03-03')).toEqual([
          'two',
          'first',
          null,
        ]);
        expect(await history.contents('s', [{ day: '2026-03-01', name: 'late' }])).toEqual([null]);
      }));

    it('loses the contents that a write removes, and no others', () =>
      withStore(open, async ({ store: { [place]: history } }) => {
        const day = '2026-03-01';
        const added = new Map([
          ['a', content('one')],
          ['b', content('two')],
        ]);
        await history.write('s', [write(day, 0, 'heads', { added })]);
        const stamp = await stampOf(history, 's', day);
        const next = new Map([['c', content('three')]]);
        await history.write('s', [write(day, stamp, 'heads', { added: next, removed: ['a', 'none'] })]);
        const found = await history.contents(
          's',
          ['a', 'b', 'c'].map((name) => ({ day, name })),
        );
        expect(found.map((one) => one?.body.toString() ?? null)).toEqual([null, 'two', 'three']);
      }));

    describe('of days that are written together under one name', () => {
      const days = Array.from({ length: 7 }, (_, at) => `2026-03-0${at + 1}`);
      const all = days.map((day) => ({ day, name: 'n' }));
      const of = (day: string, change: Partial<HistoryContent> = {}) =>
        content(`rows of ${day}`, { version: Date.parse(day), header: bytes(day), ...change });
      const textsOf = async (history: HistoryStore) =>
        (await history.contents('s', all)).map((one) => one?.body.toString() ?? null);

      it('has the contents of each, as they were, large ones among them', () =>
        withStore(open, async ({ store: { [place]: history } }) => {
          const contents = [...days, '2026-04-01'].map((day, at) => {
            const large = at === 2 ? { body: Buffer.alloc(100_000, day) } : {};
            return of(day, { facts: bytes(`facts ${at % 2}`), ...large });
          });
          const writes = contents.map((one) =>
            write(one.header.toString(), 0, 'heads', { added: new Map([['n', one]]) }),
          );
          expect(await history.write('s', writes)).toEqual(writes.map(() => true));
          const wanted = [...all, { day: '2026-04-01', name: 'n' }];
          expect(await history.contents('s', wanted)).toEqual(contents);
          expect(await history.contents('s', [{ day: '2026-03-08', name: 'n' }])).toEqual([null]);
        }));

      it('has none of days that had changed, and loses those that are removed', () =>
        withStore(open, async ({ store: { [place]: history } }) => {
          await history.write('s', [write(days[1] as string, 0, 'earlier')]);
          const writes = days.map((day) => write(day, 0, 'heads', { added: new Map([['n', of(day)]]) }));
          expect(await history.write('s', writes)).toEqual(days.map((_, at) => at !== 1));
          expect(await textsOf(history)).toEqual(days.map((day, at) => (at === 1 ? null : `rows of ${day}`)));
          for (const [at, day] of days.entries()) {
            const stamp = await stampOf(history, 's', day);
            expect(await history.write('s', [write(day, stamp, 'none', { removed: ['n'] })])).toEqual([true]);
            expect((await textsOf(history)).filter((one) => one !== null)).toHaveLength(
              days.filter((_, later) => later > at && later !== 1).length,
            );
          }
        }));

      it('keeps what another writer has written under that name', () =>
        withStore(open, async ({ store, another }) => {
          const { [place]: other } = await another();
          const writesOf = (some: readonly string[]) =>
            some.map((day) => write(day, 0, 'heads', { added: new Map([['n', of(day)]]) }));
          // The fourth day is in both.
          const [first, second] = await Promise.all([
            store[place].write('s', writesOf(days.slice(0, 4))),
            other.write('s', writesOf(days.slice(3))),
          ]);
          expect(first.filter((made) => made).length + second.filter((made) => made).length).toBe(7);
          expect(await textsOf(other)).toEqual(days.map((day) => `rows of ${day}`));
        }));
    });

    it('of two writers at once lets one through', () =>
      withStore(open, async ({ store, another }) => {
        const { [place]: history } = await another();
        const writers = [store[place], history, store[place], history];
        const done = await Promise.all(
          writers.map((one, at) => one.write('s', [write('2026-03-01', 0, `of ${at}`)])),
        );
        expect(done.flat().filter((made) => made)).toHaveLength(1);
        expect(await headsOf(history, 's', '2026-03-01')).toEqual([`of ${done.flat().indexOf(true)}`]);
      }));

    it('tells which months it has, the oldest first, and forgets those that are removed', () =>
      withStore(open, async ({ store: { [place]: history } }) => {
        const added = new Map([['a', content('one')]]);
        for (const day of ['2026-03-01', '2025-12-31', '2026-03-02'])
          for (const series of ['b', 'a']) await history.write(series, [write(day, 0, day, { added })]);
        const months = await history.months(null, 10);
        expect(months.map(({ month }) => month)).toEqual(['2025-12', '2025-12', '2026-03', '2026-03']);
        expect(new Set(months.map(({ series, month }) => `${month} ${series}`)).size).toBe(4);
        const pages = [];
        for (let after = null; ; after = pages.at(-1) ?? null) {
          const page = await history.months(after, 1);
          if (page.length === 0) break;
          pages.push(...page);
        }
        expect(pages).toEqual(months);

        await history.remove({ series: 'a', month: '2026-03' });
        expect(await headsOf(history, 'a', '2026-03-01', '2026-03-02', '2025-12-31')).toEqual([
          null,
          null,
          '2025-12-31',
        ]);
        expect(await history.contents('a', [{ day: '2026-03-01', name: 'a' }])).toEqual([null]);
        expect(await headsOf(history, 'b', '2026-03-01')).toEqual(['2026-03-01']);
        expect(await history.months(null, 10)).toHaveLength(3);
        expect(await history.write('a', [write('2026-03-01', 0, 'again', { added })])).toEqual([true]);
        expect(await history.contents('a', [{ day: '2026-03-01', name: 'a' }])).toEqual([content('one')]);
      }));

    it('shares nothing with what lies beside it', () =>
      withStore(open, async ({ store }) => {
        const beside = store[place === 'oldPins' ? 'history' : 'oldPins'];
        const added = new Map([['a', content('one')]]);
        await store[place].write('s', [write('2026-03-01', 0, 'mine', { added })]);
        expect(await headsOf(beside, 's', '2026-03-01')).toEqual([null]);
        expect(await beside.months(null, 10)).toEqual([]);
        await beside.remove({ series: 's', month: '2026-03' });
        expect(await headsOf(store[place], 's', '2026-03-01')).toEqual(['mine']);
      }));

    it('holds any bytes, of any series', () =>
      withStore(open, async ({ store: { [place]: history } }) => {
        const any = fc.uint8Array({ maxLength: 3000 }).map((all) => Buffer.from(all));
        const contents = fc.record({
          ...{ version: fc.integer({ min: 0, max: 2 ** 48 - 1 }), body: any, facts: any },
          header: fc.uint8Array({ maxLength: 255 }).map((all) => Buffer.from(all)),
        });
        const names = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), {
          maxLength: 3,
        });
        await fc.assert(
          fc.asyncProperty(
            fc.string({ unit: 'grapheme' }),
            any,
            contents,
            names,
            async (series, heads, one, more) => {
              const day = '2026-03-01';
              const known = await stampOf(history, series, day);
              const wanted = [...new Set(['a', ...more.filter((name) => !name.includes(':'))])];
              const added = new Map(wanted.map((name) => [name, one]));
              expect(await history.write(series, [{ day, stamp: known, heads, added, removed: [] }])).toEqual(
                [true],
              );
              expect((await history.heads(series, [day]))[0]?.heads).toEqual(heads);
              const found = await history.contents(
                series,
                wanted.map((name) => ({ day, name })),
              );
              for (const each of found) expect(each).toEqual(one);
            },
          ),
          { numRuns: 25 },
        );
      }));
  });
}
