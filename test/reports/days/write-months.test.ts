/** Writes of months: in batches, and whole beside those of other processes. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { useChance } from '../../../src/lib/chance.js';
import { type Timer, type TimeSource, useTime } from '../../../src/lib/time.js';
import { decodeMonth } from '../../../src/reports/days/month.js';
import { LostToOthers } from '../../../src/reports/days/write-months.js';
import type { DaysStore, MonthWrite } from '../../../src/store/days-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { openInMemory } from '../../support/shared-registry.js';
import { daysOn } from '../history/on-disk.js';
import { changeOf, dateIn, fetchOf, MONTH } from './fetches.js';

interface Pause extends Timer {
  readonly untilMs: number;
  readonly end: () => void;
  stop(): void;
}

/** Time in which pauses end one after the other, each when all else is done: however slow the machine is. */
function inTurn(): TimeSource {
  const pauses: Pause[] = [];
  let [nowMs, isRunning] = [0, false];
  async function run(): Promise<void> {
    for (isRunning = true; pauses.length > 0; ) {
      for (let turns = 0; turns < 20; turns += 1) await setImmediate();
      pauses.sort((one, other) => one.untilMs - other.untilMs);
      const next = pauses.shift();
      nowMs = next?.untilMs ?? nowMs;
      next?.end();
    }
    isRunning = false;
  }
  function after(ms: number, end: () => void): Pause {
    const same = () => pause;
    const stop = () => void (pauses.includes(pause) && pauses.splice(pauses.indexOf(pause), 1));
    const pause: Pause = { untilMs: nowMs + ms, end, stop, ref: same, unref: same };
    pauses.push(pause);
    if (!isRunning) void run();
    return pause;
  }
  return {
    uptimeMs: () => nowMs,
    wallMs: () => nowMs,
    startTimer: (work, ms) => after(ms, work),
    stopTimer: (timer) => (timer as Pause).stop(),
    startTicks: setInterval,
    stopTicks: (timer) => clearInterval(timer as NodeJS.Timeout),
    nextTurn: (work) => void setImmediate().then(work),
    turn: () => setImmediate(),
    sleep: (ms) => new Promise((end) => void after(ms, end)),
    timeoutSignal: AbortSignal.timeout,
  };
}

beforeEach(() => {
  useTime(inTurn());
  return () => useTime(null);
});

/** A store, and each of its write calls so far. */
async function open(more: (store: DaysStore) => Partial<DaysStore> = () => ({})) {
  const { days: store } = await openInMemory();
  const calls: (readonly MonthWrite[])[] = [];
  const write: DaysStore['write'] = (writes) => {
    calls.push(writes);
    return store.write(writes);
  };
  const days = daysOn({ ...store, write, ...more(store) });
  return { store, calls, days };
}

const oneOf = (series: string, at: number, day = 5, spent = at) =>
  changeOf(series, fetchOf(at, [{ day, spent }]));
const seriesIn = (calls: readonly (readonly MonthWrite[])[]) =>
  calls.map((writes) => writes.map(({ series }) => series));

/** Spent by the rows of recorded states, oldest first. */
async function statesOf(store: DaysStore, series: string, day = 5): Promise<readonly string[]> {
  const days = daysOn(store);
  const [states] = await days.states(series, [dateIn(day)]);
  const wanted = (states?.revisions ?? []).map((revision) => ({ day: dateIn(day), revision }));
  expect(await days.rows(series, wanted)).not.toContain(null);
  return wanted.map(({ revision: { digest } }) => digest);
}

describe('a batch', () => {
  it('has what came within 20 ms after the first change, which went at once', async () => {
    const { calls, days } = await open();
    const first = days.write(oneOf('a', 1));
    await setImmediate();
    expect(seriesIn(calls)).toEqual([['a']]);
    await Promise.all([first, ...['b', 'c', 'a'].map((series, at) => days.write(oneOf(series, at + 2)))]);
    expect(seriesIn(calls)).toEqual([['a'], ['b', 'c', 'a']]);
  });

  it('has all months of one answer, though it is the first one', async () => {
    const { calls, days } = await open();
    const change = oneOf('a', 1);
    const next = { ...change, place: { ...change.place, month: '2026-12' } };
    await Promise.all([change, next].map(days.write));
    expect(seriesIn(calls)).toEqual([['a', 'a']]);
  });

  it('has several changes of a month as one write, without parts that none of them names in the end', async () => {
    const { store, calls, days } = await open();
    const changes = [1, 2, 3].map((at) => oneOf('s', at, 5, 1 + (at % 2)));
    const unrecorded = [4, 5].map((at) =>
      changeOf('s', fetchOf(at, [{ day: 6, spent: at }], { isRecorded: false })),
    );
    await Promise.all([...changes, ...unrecorded].map(days.write));
    const [only] = calls;
    expect(only?.map(({ parts, order }) => [[...parts.keys()], order])).toEqual([
      [['p1', 'p2', 'p3', 'p5'], 5000],
    ]);
    expect(await statesOf(store, 's')).toEqual(['rows-2', 'rows-1', 'rows-2']);
  });

  it('of much data goes in several calls', async () => {
    const { calls, days } = await open();
    const encode = async () => Buffer.alloc(600_000);
    const { write } = daysOn(days.store, { encode });
    await Promise.all(['a', 'b', 'c'].map((series) => write(oneOf(series, 1))));
    expect(seriesIn(calls)).toEqual([['a'], ['b'], ['c']]);
  });

  it('tells when a month ends that history does not record, and that one does not which it records', async () => {
    const { calls, days } = await open();
    await days.write(changeOf('s', fetchOf(1, [{ day: 5, spent: 1 }], { isRecorded: false })));
    await days.write(oneOf('s', 2));
    await days.write(changeOf('s', fetchOf(3, [{ day: 5, spent: 3 }], { isRecorded: false })));
    expect(calls.flat().map(({ ttlMs }) => ttlMs)).toEqual([1000, null, null]);
  });
});

const fetches = fc.array(
  fc.record({
    writer: fc.nat(1),
    day: fc.constantFrom(5, 6),
    /** Written together with the one before. */
    beside: fc.boolean(),
  }),
  { minLength: 2, maxLength: 12 },
);

describe('several writers of a month', () => {
  it('lose nothing: each state is there in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fetches, async (all) => {
        const { days: store } = await openInMemory();
        const writers = [daysOn(store), daysOn(store)] as const;
        let open: Promise<unknown>[] = [];
        const late = new Set<number>();
        for (const [n, { writer, day, beside }] of all.entries()) {
          if (!beside) await Promise.all(open.splice(0));
          const change = changeOf('s', fetchOf(n + 1, [{ day, spent: n + 1 }], { name: `p${n + 1}` }));
          const written = (writers[writer] as (typeof writers)[0]).write(change);
          open = [...open, written.then(({ days }) => days[0]?.kind === 'late' && late.add(n + 1))];
        }
        await Promise.all(open);
        for (const day of [5, 6]) {
          const mine = all.flatMap((one, n) =>
            one.day === day && !late.has(n + 1) ? [`rows-${n + 1}`] : [],
          );
          expect(await statesOf(store, 's', day)).toEqual(mine);
        }
        // Only what was overtaken by a later fetch may be left out, never the latest.
        for (const day of [5, 6])
          expect(late.has(all.findLastIndex((one) => one.day === day) + 1)).toBe(false);
      }),
      { numRuns: 25 },
    );
  });

  it('eight at once on one month all write: each waits a random while after a loss', async () => {
    const { days: store } = await openInMemory();
    let seed = 7;
    useChance({
      randomId: randomUUID,
      randomBuffer: randomBytes,
      randomWhole: randomInt,
      randomShare() {
        seed = (seed * 16_807) % 2_147_483_647;
        return seed / 2_147_483_647;
      },
    });
    onTestFinished(() => useChance(null));
    const writers = Array.from({ length: 8 }, () => daysOn(store));
    const noted = await Promise.all(writers.map((days, at) => days.write(oneOf('s', at + 1, at + 1))));
    expect(noted.flatMap(({ days }) => days.map(({ kind }) => kind))).toEqual(writers.map(() => 'appended'));
    const states = await daysOn(store).states(
      's',
      writers.map((_, at) => dateIn(at + 1)),
    );
    expect(states.map(({ revisions }) => revisions.length)).toEqual(writers.map(() => 1));
  });

  it('that lose five times are told so, and the next one begins on what is there', async () => {
    let isBusy = true;
    let others = 0;
    const { store, days } = await open((inner) => ({
      async write(writes) {
        others += 1;
        if (isBusy) await daysOn(inner).write(oneOf('s', 100 + others, 7));
        return inner.write(writes);
      },
    }));
    await expect(days.write(oneOf('s', 1))).rejects.toThrow(LostToOthers);
    expect(others).toBe(5);
    isBusy = false;
    await days.write(oneOf('s', 2));
    expect(await statesOf(store, 's')).toEqual(['rows-2']);
    expect(await statesOf(store, 's', 7)).toHaveLength(5);
  });

  it('decide a change again where nothing was to be written of the month as it was', async () => {
    const { days: store } = await openInMemory();
    const [one, other] = [daysOn(store), daysOn(store)];
    await one.write(oneOf('s', 1));
    await one.states('s', [dateIn(5)]);
    await other.write(oneOf('s', 2));
    const marked = await one.mark('s', [dateIn(5)], (revisions) =>
      revisions.at(-1)?.digest === 'rows-2'
        ? revisions.with(-1, { ...revisions[1], missedFrom: 7 } as never)
        : revisions,
    );
    expect([...marked]).toEqual([dateIn(5)]);
  });
});

it('a store that is away rejects all of a batch, and the next one is written', async () => {
  let isAway = true;
  const { store, days } = await open((inner) => ({
    write: async (writes) => {
      if (isAway) throw new StoreUnavailable('away');
      return inner.write(writes);
    },
  }));
  const results = await Promise.allSettled(
    ['a', 'b', 'a'].map((series, at) => days.write(oneOf(series, at + 1))),
  );
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  for (const one of results) expect(one).toMatchObject({ reason: expect.any(StoreUnavailable) as unknown });
  isAway = false;
  await days.write(oneOf('a', 9));
  expect(await statesOf(store, 'a')).toEqual(['rows-9']);
});

it('what was written is told so, though a later call of the same batch fails', async () => {
  let calls = 0;
  const { days } = await open((store) => ({
    async write(writes) {
      calls += 1;
      if (calls === 3) throw new StoreUnavailable('away');
      return store.write(writes);
    },
  }));
  const { write } = daysOn(days.store, { encode: async () => Buffer.alloc(600_000) });
  const all = ['a', 'b', 'c', 'd'].map((series) => write(oneOf(series, 1)));
  const settled = await Promise.allSettled(all);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
});

it('a month of a newer release is neither read nor written', async () => {
  const { store, calls, days } = await open();
  await daysOn(store).write(oneOf('s', 1));
  const [present] = await store.read('s', [{ month: MONTH, days: [] }]);
  const newer = Buffer.concat([Buffer.of(9), Buffer.from('of a newer release')]);
  const rest = { named: new Map(), parts: new Map(), earlier: new Map(), dropped: [] };
  const stamp = present?.stamp ?? 0;
  await store.write([{ series: 's', month: MONTH, stamp, index: newer, order: 1, ttlMs: null, ...rest }]);
  expect(await days.read('s', [dateIn(5)])).toEqual(new Map());
  expect(await days.states('s', [dateIn(5)])).toEqual([{ asked: [], report: null, revisions: [] }]);
  await expect(days.write(oneOf('s', 2))).rejects.toThrow('newer release');
  expect(calls).toEqual([]);
  const [after] = await store.read('s', [{ month: MONTH, days: [] }]);
  expect(after?.index).toEqual(newer);
});

it('a write tells the parts that days show, with their sizes', async () => {
  const { store, calls, days } = await open();
  await days.write(
    changeOf(
      's',
      fetchOf(1, [
        { day: 5, spent: 1 },
        { day: 6, spent: 0 },
      ]),
    ),
  );
  await days.write(oneOf('s', 2, 7));
  const { named = new Map(), index = Buffer.of() } = calls[1]?.[0] ?? {};
  const sizes = await store.parts({ series: 's', month: MONTH }, ['p1', 'p2']);
  const bytesOf = (name: string) => sizes.get(name)?.length;
  expect([...named]).toEqual([
    [5, { name: 'p1', bytes: bytesOf('p1') }],
    [7, { name: 'p2', bytes: bytesOf('p2') }],
  ]);
  expect(decodeMonth(index)?.sizes).toEqual(new Map(['p1', 'p2'].map((name) => [name, bytesOf(name)])));
});
