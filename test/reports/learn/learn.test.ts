/** Whether days may be split: what is learned of kinds, by one replica and by several. */

import { describe, expect, it } from 'vitest';
import type { FetchRange } from '../../../src/reports/learn/compare-days.js';
import { createKinds, createLearner, MAX_KINDS } from '../../../src/reports/learn/learn.js';
import {
  beginProof,
  noteRestatement,
  REFUTED_MS,
  refute,
  startLearning,
} from '../../../src/reports/learn/state.js';
import { dayNumber } from '../../../src/reports/query/days.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import type { Registry } from '../../../src/store/registry/replica.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';
import { createStandingClock, DAY } from '../../support/test-clock.js';
import { policyOf } from '../fetch/policy.js';
import { get } from '../query/canonical-request.js';
import { factsOf, rowsEntry } from '../rows/entries.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07');
const endpoint = (divisible: 'auto' | 'always' | 'never') => ({
  'campaigns/get': { readByPost: false, divisible, freshness: 'own' as const },
});

function learnerOn(registry: Registry, divisible: 'auto' | 'always' | 'never' = 'auto') {
  const events: string[] = [];
  const log = createRecordedLog();
  const clock = createStandingClock();
  const learner = createLearner({
    kinds: createKinds(registry),
    policy: policyOf({}, endpoint(divisible)),
    now: clock.now,
    logger: log.logger,
    onEvent: (event) => events.push(event),
    onDependent: () => events.push('dependent'),
  });
  return {
    learner,
    events,
    log,
    advance: clock.advance,
  };
}

async function alone(divisible: 'auto' | 'always' | 'never' = 'auto') {
  const { registry } = await openReplica(await openInMemory());
  return { ...learnerOn(registry, divisible), registry };
}

interface SplitFrom {
  readonly date: string;
  /** Period of the answer it is split from. */
  readonly of: readonly [from: string, to: string];
  readonly clicks?: number;
  /** No rows. */
  readonly empty?: boolean;
  readonly generation?: string;
  /** The platform's today at the fetch. */
  readonly on?: string;
  /** When a soft purge ended its freshness. */
  readonly expiredAtMs?: number;
}

function cutDay({
  date,
  of: [from, to],
  clicks = 1,
  empty = false,
  generation = 'first',
  on,
  ...more
}: SplitFrom) {
  const entry: Entry<RowsHeader> = rowsEntry(empty ? [] : [{ date, clicks }]);
  const facts = factsOf({
    lastDay: date,
    ...(on === undefined ? {} : { fetchedOn: dayNumber(on) as number }),
  });
  const cut = { from, to, sortedHash: empty ? 'none' : `${date} ${clicks}`, generation };
  return { ...entry, header: { ...entry.header, ...facts, splitFrom: cut, ...more } };
}

const byDate = (parts: readonly Entry<RowsHeader>[]) =>
  new Map(parts.map((entry) => [entry.header.lastDay as string, entry]));
const nobody: FetchRange = () => Promise.reject(new Error('the platform must not be asked'));

/** Compares days of an earlier answer with days of a later one. */
const compare = (
  { learner }: { learner: ReturnType<typeof createLearner> },
  known: readonly SplitFrom[],
  fresh: readonly SplitFrom[],
  fetch: FetchRange = nobody,
) =>
  learner.compare({ report, series: 's', known: byDate(known.map(cutDay)), fresh: fresh.map(cutDay) }, fetch);

const OLD: readonly [string, string] = ['2026-11-01', '2026-11-07'];
const NEW: readonly [string, string] = ['2026-11-02', '2026-11-08'];
const [THIRD, FOURTH, FIFTH] = ['2026-11-03', '2026-11-04', '2026-11-05'] as const;

const FOUND = { from: OLD[0], to: OLD[1], calls: 6, found: 'So it was.' };

/** Proves the kind of `report`. */
async function prove({ learner }: { learner: ReturnType<typeof createLearner> }) {
  await learner.beginProof(report);
  await learner.endProof(report, { ...FOUND, verdict: 'proven' });
}

describe('the status of a kind', () => {
  it('begins as unknown, under a generation that all replicas share; an undeclared one is refuted', async () => {
    const { learner } = await alone();
    expect(learner.status(report)).toMatchObject({ state: 'unknown', pinned: false, generation: 'first' });
    expect(learner.show(report)).toBeNull();
    for (const endpoint of ['other/get', 'constructor'])
      expect(learner.status({ ...report, endpoint }).state).toBe('refuted');
  });

  it.each([
    ['always', 'proven'],
    ['never', 'refuted'],
  ] as const)('pinned to %s is %s, whatever is compared', async (divisible, state) => {
    const rig = await alone(divisible);
    expect(rig.learner.mayProve(report, true)).toBe(false);
    await compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW, clicks: 2 }]);
    expect(rig.learner.status(report)).toMatchObject({ state, pinned: true });
    expect([rig.events, rig.learner.show(report)]).toEqual([[], null]);
  });
});

describe('answers of callers', () => {
  it('prove nothing, whatever agrees, and the days that do are told', async () => {
    const rig = await alone();
    const known = [THIRD, FOURTH].map((date) => ({ date, of: OLD }));
    const fresh = [THIRD, FOURTH].map((date) => ({ date, of: NEW }));
    const { verdict, agreed } = await compare(rig, known, fresh);
    expect([verdict, agreed.map(({ date }) => date)]).toEqual(['same', [THIRD, FOURTH]]);
    expect(rig.learner.show(report)).toBeNull();
  });

  it.each<[string, SplitFrom, SplitFrom]>([
    ['a day not final in the older', { date: THIRD, of: OLD, on: '2026-11-08' }, { date: THIRD, of: NEW }],
    ['a day of an older generation', { date: THIRD, of: OLD, generation: 'older' }, { date: THIRD, of: NEW }],
    ['a softly purged day', { date: THIRD, of: OLD, expiredAtMs: 1 }, { date: THIRD, of: NEW }],
    ['a day that was not known', { date: FOURTH, of: OLD }, { date: THIRD, of: NEW }],
  ])(
    'are not compared in %s, neither where they agree nor where they differ',
    async (_what, known, fresh) => {
      const rig = await alone();
      expect((await compare(rig, [known], [fresh])).agreed).toEqual([]);
      await compare(rig, [known], [{ ...fresh, clicks: 2 }]);
      expect([rig.learner.show(report), rig.events]).toEqual([null, []]);
    },
  );

  it.each<[string, SplitFrom, SplitFrom]>([
    ['a day without rows', { date: THIRD, of: OLD, empty: true }, { date: THIRD, of: NEW, empty: true }],
    ['a day of the same period', { date: THIRD, of: OLD }, { date: THIRD, of: OLD }],
  ])('do not agree in %s', async (_what, known, fresh) => {
    expect((await compare(await alone(), [known], [fresh])).agreed).toEqual([]);
  });
});

/** What the platform says when it is asked again, by period; every day of a period alike. */
function saying(
  clicks: Readonly<Record<string, number>>,
  otherwise: number,
  asked: string[] = [],
): FetchRange {
  return async (from, to) => {
    asked.push(`${from}/${to}`);
    const dates = [THIRD, FOURTH, FIFTH].filter((date) => date >= from && date <= to);
    return byDate(
      dates.map((date) => cutDay({ date, of: [from, to], clicks: clicks[`${from}/${to}`] ?? otherwise })),
    );
  };
}

describe('a disagreement on a final day', () => {
  const disagree = (rig: Awaited<ReturnType<typeof alone>>, fetch: FetchRange, of = NEW) =>
    compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of, clicks: 2 }], fetch);
  const told = ({ events }: { events: string[] }) => events.filter((event) => event !== 'proving');

  it('is a restatement when the platform says the same whatever the period is', async () => {
    const rig = await alone();
    await prove(rig);
    const asked: string[] = [];
    // Nothing is said when the platform cannot be asked now.
    await disagree(rig, async () => null);
    await disagree(rig, saying({}, 2, asked));
    expect(told(rig)).toEqual(['proven', 'restated']);
    // The reference begins where neither answer does, and ends where neither does; then the older question again.
    expect(asked).toEqual(['2026-10-31/2026-11-04', OLD.join('/')]);
    expect(rig.learner.show(report)).toMatchObject({
      state: 'proven',
      restatements: 1,
      oldestRestatementDays: 18,
    });
    expect(rig.log.messages('warn')).toEqual([expect.stringContaining('report.restatementDays')]);
  });

  it.each<[string, readonly [string, string], readonly [string, string]]>([
    ['the older answer ends at the day', ['2026-10-28', THIRD], NEW],
    ['the newer answer ends at the day', OLD, ['2026-10-28', THIRD]],
    ['the older answer begins at the day', [THIRD, '2026-11-09'], NEW],
    ['both end right beside it', ['2026-11-02', FOURTH], ['2026-11-01', FIFTH]],
  ])('is asked of a period with both ends elsewhere: %s', async (_what, older, newer) => {
    const rig = await alone();
    const asked: string[] = [];
    await compare(
      rig,
      [{ date: THIRD, of: older }],
      [{ date: THIRD, of: newer, clicks: 2 }],
      saying({}, 2, asked),
    );
    const [from = '', to = ''] = asked[0]?.split('/') ?? [];
    expect([older[0], newer[0], THIRD]).not.toContain(from);
    expect([older[1], newer[1], THIRD]).not.toContain(to);
    expect(from < THIRD && to > THIRD).toBe(true);
    expect(asked.slice(1)).toEqual([older.join('/')]);
    expect(rig.events).toEqual(['restated']);
  });

  it('is asked of others too when both answers were for the same period', async () => {
    const rig = await alone();
    const asked: string[] = [];
    await disagree(rig, saying({}, 2, asked), OLD);
    expect([rig.events, asked.length]).toEqual([['restated'], 1]);
    const other = await alone();
    await disagree(other, saying({}, 3), OLD);
    expect(other.events).toEqual(['refuted']);
  });

  it.each([1, 3])('refutes when the reference is not like the newer answer (%i)', async (clicks) => {
    const rig = await alone();
    await prove(rig);
    const { generation } = rig.learner.status(report);
    await disagree(rig, saying({}, clicks));
    // What was not proven was never cut, and tells of nothing that was served.
    expect(told(rig)).toEqual(['proven', 'dependent', 'refuted']);
    const refuted = rig.learner.status(report);
    expect(refuted.state).toBe('refuted');
    expect(refuted.generation).not.toBe(generation);
    expect(rig.log.messages('error')).toHaveLength(1);
  });

  it('refutes when the older question still has its old answer, whatever the reference says', async () => {
    const rig = await alone();
    await disagree(rig, saying({ [OLD.join('/')]: 1 }, 2));
    expect(rig.events).toEqual(['refuted']);
  });

  it('of many days at once is settled with a few calls', async () => {
    const rig = await alone();
    const asked: string[] = [];
    const dates = [THIRD, FOURTH, FIFTH];
    await compare(
      rig,
      dates.map((date) => ({ date, of: OLD })),
      dates.map((date) => ({ date, of: NEW, clicks: 2 })),
      saying({}, 2, asked),
    );
    expect(asked).toHaveLength(2);
    expect(rig.learner.show(report)?.restatements).toBe(3);
  });

  it('refutes whatever agrees beside it', async () => {
    const rig = await alone();
    await prove(rig);
    await compare(
      rig,
      [
        { date: THIRD, of: OLD },
        { date: FOURTH, of: OLD },
      ],
      [
        { date: THIRD, of: NEW, clicks: 2 },
        { date: FOURTH, of: NEW },
      ],
      saying({}, 3),
    );
    expect(rig.learner.show(report)).toMatchObject({
      state: 'refuted',
      refutedFor: expect.stringContaining(THIRD),
    });
  });

  it('lasts a day; then another proof may begin', async () => {
    const rig = await alone();
    await disagree(rig, saying({}, 3));
    rig.advance(REFUTED_MS - 1);
    await prove(rig);
    expect(rig.learner.status(report).state).toBe('refuted');
    rig.advance(1);
    await prove(rig);
    expect(rig.learner.status(report).state).toBe('proven');
  });
});

it('several replicas share what each of them learns; one of them makes the proof', async () => {
  const store = await openInMemory();
  const [one, two] = await Promise.all([openReplica(withoutBus(store)), openReplica(withoutBus(store))]);
  const [here, there] = [learnerOn(one.registry), learnerOn(two.registry)];
  const calls = await Promise.all([here.learner.beginProof(report), there.learner.beginProof(report)]);
  expect(calls.toSorted()).toEqual([0, 8]);
  await Promise.all([one.registry.refresh(), two.registry.refresh()]);
  expect([here, there].map(({ learner }) => learner.status(report).state)).toEqual(['proving', 'proving']);
  await here.learner.endProof(report, { ...FOUND, verdict: 'proven' });
  await two.registry.refresh();
  expect(there.learner.status(report)).toMatchObject({ state: 'proven' });
  await compare(there, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW, clicks: 2 }], saying({}, 3));
  await one.registry.refresh();
  const { generation } = there.learner.status(report);
  expect(here.learner.status(report)).toMatchObject({ state: 'refuted', generation });
});

it('an answer that could not be split makes its kind be asked for as a whole for a day, on every replica, and is said once', async () => {
  const store = await openInMemory();
  const [one, two] = await Promise.all([openReplica(store), openReplica(store)]);
  const [here, there] = [learnerOn(one.registry), learnerOn(two.registry)];
  await prove(here);
  for (let times = 0; times < 3; times++) await here.learner.couldNotSplit(report, 'it has totals');
  await two.registry.refresh();
  expect(there.learner.status(report)).toMatchObject({ state: 'proven', wholeUntil: NOW + DAY });
  there.advance(-2 * DAY);
  // A clock that ran ahead is not believed.
  expect(there.learner.status(report).wholeUntil).toBeNull();
  there.advance(3 * DAY);
  expect(there.learner.status(report)).toMatchObject({ state: 'proven', wholeUntil: null });
  const rig = await alone('always');
  await rig.learner.couldNotSplit(report, 'it has totals');
  expect(rig.learner.status(report)).toMatchObject({ state: 'proven', wholeUntil: NOW + DAY });
  expect(here.events.filter((event) => event === 'whole')).toHaveLength(1);
});

it('an answer that could not be split is known to its process before the registry is told', async () => {
  const rig = await alone();
  await prove(rig);
  const telling = rig.learner.couldNotSplit(report, 'it has totals');
  expect(rig.learner.status(report).wholeUntil).toBe(NOW + DAY);
  await telling;
  expect(rig.learner.status(report).wholeUntil).toBe(NOW + DAY);
});

describe('an application that invents parameters', () => {
  const kind = (value: number) =>
    get(`advertiserId=1&byDate=1&x=${value}&dateFrom=2026-11-01&dateTo=2026-11-07`).report;
  const learn = async ({ learner }: { learner: ReturnType<typeof createLearner> }, value: number) => {
    await learner.beginProof(kind(value));
    await learner.endProof(kind(value), { ...FOUND, verdict: 'unknown' });
  };

  it('does not fill the registry; the oldest are forgotten first, and what is proven last', async () => {
    const rig = await alone();
    await prove(rig);
    for (let value = 1; value <= 560; value++) await learn(rig, value);
    expect(rig.registry.list('divisible/').length).toBeLessThanOrEqual(MAX_KINDS);
    expect([1, 560].map((value) => rig.learner.show(kind(value)) === null)).toEqual([true, false]);
    expect(rig.learner.status(report).state).toBe('proven');
  });

  it('does not fill it with kinds that are refuted either, and what they were split under stays void', async () => {
    const rig = await alone();
    const cutUnder = new Map<number, Set<string>>();
    for (let value = 0; value < 560; value++) {
      const { generation } = rig.learner.status(kind(value));
      await rig.learner.compare(
        {
          report: kind(value),
          series: 's',
          known: byDate([cutDay({ date: THIRD, of: OLD, generation })]),
          fresh: [cutDay({ date: THIRD, of: NEW, clicks: 2, generation })],
        },
        async (from, to) => byDate([cutDay({ date: THIRD, of: [from, to], clicks: 3, generation })]),
      );
      expect(rig.learner.status(kind(value)).state).toBe('refuted');
      cutUnder.set(value, new Set([generation, rig.learner.status(kind(value)).generation]));
    }
    expect(rig.registry.list('divisible/').length).toBeLessThanOrEqual(MAX_KINDS);
    for (const value of [0, 1, 30]) {
      const { state, generation } = rig.learner.status(kind(value));
      expect(state).toBe('unknown');
      // What was ever cut of it is void.
      expect(cutUnder.get(value)?.has(generation)).toBe(false);
    }
  });
});

const NEWER = { of: 'a newer release' };

it('a kind that a newer release wrote keeps what is not known of it through every change', async () => {
  const { registry } = await openReplica(await openInMemory());
  const kinds = createKinds(registry);
  const theirs = { ...startLearning('first'), newer: NEWER };
  await registry.commit({ writes: new Map([['divisible/k', JSON.stringify(theirs)]]) });

  await kinds.change('k', (kind) => beginProof(kind, 0));
  expect(kinds.get('k')).toMatchObject({ state: 'proving', newer: NEWER });
  await kinds.change('k', (kind) => noteRestatement(kind, 3));
  await kinds.change('k', (kind) => refute(kind, 'second', 'They differed.', 0));
  expect(JSON.parse(registry.get('divisible/k')?.value ?? '')).toMatchObject({
    state: 'refuted',
    restatements: 1,
    newer: NEWER,
  });
});

it('a state that only a newer release knows proves nothing here', async () => {
  const { registry } = await openReplica(await openInMemory());
  const kinds = createKinds(registry);
  const theirs = { ...startLearning('first'), state: 'trusted' };
  await registry.commit({ writes: new Map([['divisible/k', JSON.stringify(theirs)]]) });
  expect(kinds.get('k')?.state).not.toBe('proven');
  expect(kinds.generationOf('k')).toBe('first');
});

it('a damaged kind is named, and its text is not quoted', async () => {
  const { registry } = await openReplica(await openInMemory());
  await registry.commit({ writes: new Map([['divisible/k', '{"state":"proven","generation":"c4n4ry"}']]) });
  expect(() => createKinds(registry).get('k')).toThrow('the record divisible/k is damaged');
});
