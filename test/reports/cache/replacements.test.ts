/** What is done in turns, and what is replaced. */

import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTurnQueue } from '../../../src/reports/cache/background.js';
import { createReplacements, type Extent, isNewest } from '../../../src/reports/cache/replacements.js';
import { createRememberedQueries, type Query, type Sent } from '../../../src/reports/query.js';
import { createListeners } from '../../../src/store/listeners.js';
import { createRecordedLog } from '../../support/recorded-log.js';

const { logger } = createRecordedLog();

/** Processes on one bus that delivers at once. */
function processes(count: number) {
  const listeners = createListeners({ logger });
  const sent: string[] = [];
  const bus = {
    async publish(channel: string, message: string) {
      sent.push(message);
      listeners.deliver(channel, message);
    },
    subscribe: listeners.add,
  };
  const all = Array.from({ length: count }, () => createReplacements(bus, logger, () => {}));
  return { all, sent, loseTheBus: () => listeners.tellOfGap(listeners.channels()) };
}

const one = () => processes(1).all[0] as ReturnType<typeof createReplacements>;
const days = (from: string, to: string, order: number): Extent => ({
  from,
  to,
  order,
  isWhole: false,
});
const whole = (from: string | null, to: string | null, order: number): Extent => ({
  from,
  to,
  order,
  isWhole: true,
});
const STORED = Promise.resolve(true);

describe('what was made before a fetch', () => {
  it.each<[string, Extent, Extent, boolean]>([
    ['days of the same range', days('01', '03', 1), days('01', '03', 2), false],
    ['days of a range that touches it', days('01', '03', 1), days('03', '09', 2), false],
    ['the same period as a whole', whole('01', '03', 1), whole('01', '03', 2), false],
    ['a period that the platform chose', whole(null, null, 1), whole(null, null, 2), false],
    ['days of a period that was fetched as a whole', whole('01', '03', 1), days('02', '02', 2), false],
    ['a whole of days', days('01', '03', 1), whole('01', '03', 2), true],
    ['days by a fetch that began before', days('01', '03', 2), days('01', '03', 1), true],
    ['days by the fetch itself', days('01', '03', 2), days('01', '09', 2), true],
  ])('%s', async (_what, held, fetched, isStill) => {
    const replacements = one();
    const basis = replacements.basisOf('series');
    const other = replacements.basisOf('other');
    await replacements.note('series', [fetched], STORED);
    expect([isNewest(basis, [held]), isNewest(other, [held])]).toEqual([isStill, true]);
    // Asked again, it is the same.
    expect(isNewest(basis, [held])).toBe(isStill);
  });

  it('is never taken for the newest, however many fetches were missed', async () => {
    const dates = fc
      .tuple(fc.nat(9), fc.nat(3))
      .map(([from, more]) => [`0${from}`, `0${from + more}`] as const);
    await fc.assert(
      fc.asyncProperty(dates, fc.array(dates, { maxLength: 20 }), async ([from, to], fetches) => {
        const replacements = one();
        const basis = replacements.basisOf('series');
        for (const [at, [first, last]] of fetches.entries())
          await replacements.note('series', [days(first, last, at + 1)], STORED);
        const isReplaced = fetches.some(([first, last]) => first <= to && last >= from);
        if (isReplaced) expect(isNewest(basis, [days(from, to, 0)])).toBe(false);
        else if (fetches.length <= 8) expect(isNewest(basis, [days(from, to, 0)])).toBe(true);
      }),
    );
  });

  it('is forgotten with its series when there are too many', async () => {
    const replacements = one();
    const basis = replacements.basisOf('first');
    for (let at = 0; at < 10_001; at++) replacements.basisOf(`series ${at}`);
    expect(isNewest(basis, [])).toBe(false);
    expect(isNewest(replacements.basisOf('first'), [])).toBe(true);
  });
});

describe('other replicas', () => {
  it('are told once for each fetch, when the store has it', async () => {
    const { all, sent } = processes(2);
    const [here, there] = all.map((each) => each.basisOf('series'));
    let keep: (isKept: boolean) => void = () => {};
    const stored = new Promise<boolean>((resolve) => {
      keep = resolve;
    });
    const noted = all[0]?.note('series', [whole('01', '09', 2), days('01', '09', 2)], stored);
    const look = () =>
      [here, there].map((basis) => basis !== undefined && isNewest(basis, [days('02', '03', 1)]));
    expect(look()).toEqual([false, true]);
    keep(true);
    await noted;
    expect(look()).toEqual([false, false]);
    expect(sent).toHaveLength(1);
    // Nothing was kept, so there is nothing to be told.
    await all[0]?.note('series', [days('01', '09', 3)], Promise.resolve(false));
    await all[0]?.note('series', [], STORED);
    expect(sent).toHaveLength(1);
  });

  it('do not void what the publisher has made since', async () => {
    const { all } = processes(1);
    let basis = all[0]?.basisOf('series');
    await all[0]?.note(
      'series',
      [days('01', '09', 2)],
      STORED.then(() => {
        basis = all[0]?.basisOf('series');
        return true;
      }),
    );
    expect(basis !== undefined && isNewest(basis, [days('01', '09', 1)])).toBe(true);
  });

  it('take nothing for the newest after messages may have been lost', () => {
    const { all, loseTheBus } = processes(1);
    const basis = all[0]?.basisOf('series');
    loseTheBus();
    expect(basis !== undefined && isNewest(basis, [days('01', '09', 1)])).toBe(false);
  });
});

it('lets what waits go on in order, one in each turn, and none in the turn that asks', async () => {
  const turns = createTurnQueue();
  const gone: string[] = [];
  for (const name of ['one', 'two', 'three']) void turns.next().then(() => gone.push(name));
  const seen: string[][] = [[...gone]];
  for (let turn = 0; turn < 3; turn += 1) {
    await setImmediate();
    seen.push([...gone]);
  }
  expect(seen).toEqual([[], ['one'], ['one', 'two'], ['one', 'two', 'three']]);
  expect(await turns.next()).toBeUndefined();
});

it('lets more go on in a turn where many wait, so that they do not become ever more', async () => {
  const turns = createTurnQueue();
  let waiting = 0;
  const most: number[] = [];
  for (let turn = 0; turn < 400; turn += 1) {
    for (let one = 0; one < 4; one += 1) {
      waiting += 1;
      void turns.next().then(() => (waiting -= 1));
    }
    await setImmediate();
    most.push(waiting);
  }
  expect(Math.max(...most)).toBeLessThan(70);
});

const QUESTION = { readOn: { fromMs: 0, untilMs: 1 } } as unknown as Query;

/** @returns how many of 1000 questions with so many parameters each are still known when all were remembered */
function knownOf(parameters: number): number {
  const known = createRememberedQueries();
  const further = Array.from({ length: parameters - 1 }, (_, at) => `&z${at}=1`).join('');
  const all = Array.from(
    { length: 1000 },
    (_, n): Sent => ({
      method: 'GET',
      target: `/api/v1/report/campaigns/get?a=${n}${further}`,
      accept: undefined,
      acceptEncoding: undefined,
    }),
  );
  for (const sent of all) known.add(sent, 'json', QUESTION);
  return all.filter((sent) => known.find(sent, 'json', 0) !== undefined).length;
}

describe('the room of remembered questions', () => {
  it('holds many of the usual size', () => {
    expect(knownOf(6)).toBe(1000);
  });

  // One of 140 parameters that nobody knows takes about 73 kB.
  it('holds fewer where each has many parameters', () => {
    const count = knownOf(140);
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(16_777_216 / 73_000);
  });
});
