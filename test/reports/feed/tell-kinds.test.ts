/** The leader's walk: months are told anew after a change of their kind or of its row caps. */
import { describe, expect, it } from 'vitest';
import { encodeEarlier } from '../../../src/reports/days/month.js';
import { VOIDING_DOCUMENT } from '../../../src/reports/feed/tell-kinds.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { PLACE } from '../days/stored-days.js';
import { type Followed, openFollowed } from './followed.js';

/** What was told since the last call, in short. */
function teller({ entries }: Followed) {
  let at = 0;
  return () => {
    const fresh = entries.slice(at);
    at = entries.length;
    return fresh.map(({ changes }) => changes.map(({ day, kind }) => `${day} ${kind}`));
  };
}

async function open() {
  const at = await openFollowed();
  at.clock.pass(20 * DAY);
  return { ...at, told: teller(at) };
}

const PROVEN = { state: 'proven', generation: 'g' } as const;
const UNKNOWN = { state: 'unknown', generation: 'g' } as const;
const REFUTED = { state: 'refuted', generation: 'h' } as const;
const TWO = [
  { day: 1, spent: 1 },
  { day: 2, spent: 2 },
];

it('a kind that is proven has all days told that were fetched before, in one entry a month', async () => {
  const { know, fetch, told, walk, held, shown } = await open();
  know(UNKNOWN);
  await fetch(TWO);
  await walk();
  expect([told(), held.size]).toEqual([[], 0]);
  know(PROVEN);
  await walk();
  expect(told()).toEqual([['1 first', '2 first']]);
  expect(held).toEqual(await shown());
});

it('a refuted kind has its days taken back, says so until that is done, and the next proof tells what it brings', async () => {
  const { know, fetch, told, walk, held, documents, index, store, clock } = await open();
  await fetch(TWO);
  await walk();
  expect(told()).toEqual([['1 first', '2 first']]);
  know(REFUTED);
  const seen: (string | null)[] = [];
  const { write } = store;
  Object.assign(store, {
    async write(...given: Parameters<typeof write>) {
      seen.push(await documents.get(VOIDING_DOCUMENT));
      return await write(...given);
    },
  });
  await walk();
  Object.assign(store, { write });
  expect(seen).toEqual(['campaigns/get date']);
  expect(await documents.get(VOIDING_DOCUMENT)).toBeNull();
  expect([told(), held.size, (await index())?.told]).toEqual([[['1 void', '2 void']], 0, null]);
  clock.pass(HOUR);
  know({ state: 'proven', generation: 'h' });
  await fetch([{ day: 2, spent: 2 }]);
  await walk();
  expect(told()).toEqual([['2 first']]);
});

it('a cap that is found voids what came from answers of that size, also where it counts in place of a void one', async () => {
  const { fetch, findCap, told, walk, held, shown, clock } = await open();
  await fetch([{ day: 1, spent: 1 }], { answerRows: 30 });
  clock.pass(HOUR);
  await fetch([{ day: 1, spent: 2 }], { answerRows: 10 });
  clock.pass(HOUR);
  await fetch([{ day: 1, spent: 3 }], { answerRows: 20 });
  expect(told()).toEqual([['1 first'], ['1 restated'], ['1 restated']]);
  for (const [cap, kind] of [
    [20, 'void'],
    [10, 'void'],
    [30, 'void'],
  ] as const) {
    findCap(cap);
    await walk();
    expect(told()).toEqual([[`1 ${kind}`]]);
    expect(held).toEqual(await shown());
  }
  expect(held.size).toBe(0);
});

describe('a walk', () => {
  it('writes nothing where all is told, and is not made while nothing changes', async () => {
    const { fetch, walk, walkAgain, store } = await open();
    await fetch(TWO);
    await walk();
    const calls: string[] = [];
    for (const name of ['read', 'write', 'whole'] as const) {
      const call = store[name] as (...given: unknown[]) => Promise<unknown>;
      Object.assign(store, {
        async [name](...given: unknown[]) {
          calls.push(name);
          return await call(...given);
        },
      });
    }
    await walk();
    expect(calls).toEqual([]);
    await walkAgain();
    expect(calls).toEqual(['read']);
  });

  it('of a process that begins to lead goes on with what a former leader left', async () => {
    const { know, fetch, told, walkAgain, held } = await open();
    await fetch(TWO);
    told();
    know(REFUTED);
    await walkAgain();
    expect([told(), held.size]).toEqual([[['1 void', '2 void']], 0]);
    await walkAgain();
    expect(told()).toEqual([]);
  });

  it('decides again on a month that was written meanwhile', async () => {
    const { know, fetch, walk, held, shown, store, clock } = await open();
    know(UNKNOWN);
    await fetch(TWO);
    await walk();
    know(PROVEN);
    const { whole } = store;
    let isFirst = true;
    Object.assign(store, {
      async whole(...given: Parameters<typeof whole>) {
        const found = await whole(...given);
        if (isFirst) {
          isFirst = false;
          clock.pass(HOUR);
          await fetch([{ day: 3, spent: 3 }], { kind: UNKNOWN });
        }
        return found;
      },
    });
    await walk();
    expect([...held.keys()].sort()).toEqual([1, 2, 3]);
    expect(held).toEqual(await shown());
  });

  it('leaves alone what a damaged list of earlier revisions hides', async () => {
    const { know, fetch, walk, held, shown, store, clock } = await open();
    await fetch(TWO);
    clock.pass(HOUR);
    await fetch([{ day: 1, spent: 3 }]);
    const present = await store.whole(PLACE);
    if (present?.index == null) throw new Error('the month is not stored');
    const damaged = encodeEarlier([]).subarray(0, 1);
    const [index, named] = [present.index, new Map()];
    const parts = { parts: new Map(), dropped: [], order: 0, ttlMs: null };
    await store.write([
      { ...PLACE, stamp: present.stamp, index, named, ...parts, earlier: new Map([[1, damaged]]) },
    ]);
    know({ state: 'proven', generation: 'h' });
    await walk();
    expect(held).toEqual(await shown());
  });
});

it('an erasure tells that days are erased, also where the whole month goes with them', async () => {
  const { fetch, told, erase, held, clock, store } = await open();
  await fetch(TWO);
  told();
  clock.pass(HOUR);
  await erase();
  expect([told(), held.size, await store.whole(PLACE)]).toEqual([[['1 erased', '2 erased']], 0, null]);
});

it('what is marked tells that it is void', async () => {
  const { fetch, told, findCap, mark } = await open();
  await fetch([{ day: 1, spent: 1 }], { answerRows: 20 });
  told();
  findCap(20);
  await mark(1);
  expect(told()).toEqual([['1 void']]);
});

it('months that leave by retention or for lack of room, and rows that are gathered, tell nothing', async () => {
  const { fetch, told, createSweep, clock, store } = await open();
  for (let at = 0; at < 3; at += 1) {
    await fetch([
      { day: 1, spent: at },
      { day: 2, spent: 9 },
    ]);
    clock.pass(HOUR);
  }
  told();
  await createSweep({ maxBytes: 0 })();
  clock.pass(600 * DAY);
  await createSweep()();
  await createSweep({ currentMaxBytes: 0 })();
  clock.pass(1);
  expect([told(), await store.whole(PLACE)]).toEqual([[], null]);
});

it('changes of one batch are told as one, with the order of the newest fetch', async () => {
  const { fetch, entries, days, clock } = await open();
  const before = days.nextOrder();
  await Promise.all([
    fetch([{ day: 1, spent: 1 }]),
    fetch([{ day: 2, spent: 1 }]),
    fetch([{ day: 1, spent: 2 }]),
  ]);
  // The first one goes at once, the others together.
  const changes = entries.flatMap((one) => one.changes);
  expect(changes.map(({ day }) => day).sort()).toEqual(expect.arrayContaining([1, 2]));
  for (const { at, txid } of entries) {
    expect(at).toBe(clock.now());
    expect(Number.parseInt(txid, 36)).toBeGreaterThan(before);
  }
  expect(new Set(entries.map(({ txid }) => txid)).size).toBe(entries.length);
});
