import { describe, expect, it } from 'vitest';
import type { Registry } from '../../src/registry/mirror.js';
import { dayNumber } from '../../src/report/days.js';
import { type Divisibility, REFUTED_MS } from '../../src/report/divisibility.js';
import type { Part, RowsHeader } from '../../src/report/part.js';
import { createLearner, type FetchAlone } from '../../src/stages/learn.js';
import { get } from '../report/canonical-request.js';
import { factsOf, RULES, rowsPart } from '../report/parts.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { openEmbedded, openReplica, withoutBus } from '../support/shared-registry.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07');
const endpoint = (divisible: 'auto' | 'always' | 'never') => ({
  'campaigns/get': { readByPost: false, divisible, freshness: 'own' as const },
});

function learnerOn(registry: Registry, divisible: 'auto' | 'always' | 'never' = 'auto') {
  const events: string[] = [];
  const log = createRecordedLog();
  let nowMs = NOW;
  const learner = createLearner({
    registry,
    rules: RULES,
    endpoints: endpoint(divisible),
    accountFields: ['advertiserId', 'userId'],
    now: () => nowMs,
    logger: log.logger,
    onEvent: (event) => events.push(event),
  });
  return {
    learner,
    events,
    log,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

async function alone(divisible: 'auto' | 'always' | 'never' = 'auto') {
  const { registry } = await openReplica(await openEmbedded());
  return { ...learnerOn(registry, divisible), registry };
}

interface Cut {
  readonly date: string;
  /** Period of the answer it is cut from. */
  readonly of: readonly [from: string, to: string];
  readonly clicks?: number;
  /** No rows. */
  readonly empty?: boolean;
  readonly generation?: string;
  /** The platform's today at the fetch. */
  readonly on?: string;
}

function cutDay({ date, of: [from, to], clicks = 1, empty = false, generation = 'first', on }: Cut) {
  const part: Part<RowsHeader> = rowsPart(empty ? [] : [{ date, clicks }]);
  const facts = factsOf({
    lastDay: date,
    ...(on === undefined ? {} : { fetchedOn: dayNumber(on) as number }),
  });
  const cut = { from, to, sortedHash: empty ? 'none' : `${date} ${clicks}`, generation };
  return { ...part, header: { ...part.header, ...facts, cut } };
}

const byDate = (parts: readonly Part<RowsHeader>[]) =>
  new Map(parts.map((part) => [part.header.lastDay as string, part]));
const nobody: FetchAlone = () => Promise.reject(new Error('the platform must not be asked'));

/** Compares days of an earlier answer with days of a later one. */
const compare = (
  { learner }: { learner: ReturnType<typeof createLearner> },
  known: readonly Cut[],
  fresh: readonly Cut[],
  fetchAlone: FetchAlone = nobody,
) =>
  learner.compare(
    { report, series: 's', known: byDate(known.map(cutDay)), fresh: fresh.map(cutDay) },
    fetchAlone,
  );

const OLD: readonly [string, string] = ['2026-11-01', '2026-11-07'];
const NEW: readonly [string, string] = ['2026-11-02', '2026-11-08'];
const [THIRD, FOURTH, FIFTH] = ['2026-11-03', '2026-11-04', '2026-11-05'] as const;

/** Proves the kind of `report`. */
async function prove(rig: { learner: ReturnType<typeof createLearner> }, generation = 'first') {
  const on = (date: string, of: readonly [string, string]) => ({ date, of, generation });
  await compare(rig, [on(THIRD, OLD), on(FOURTH, OLD)], [on(THIRD, NEW), on(FOURTH, NEW)]);
  await compare(rig, [on(FIFTH, OLD)], [on(FIFTH, ['2026-11-03', '2026-11-09'])]);
}

describe('the standing of a kind', () => {
  it('begins with learning, under a generation that all replicas share', async () => {
    const { learner } = await alone();
    expect(learner.standing(report)).toMatchObject({ state: 'learning', pinned: false, generation: 'first' });
    expect(learner.show(report)).toBeNull();
  });

  it.each([
    ['always', 'proven'],
    ['never', 'refuted'],
  ] as const)('pinned to %s is %s, whatever is compared', async (divisible, state) => {
    const rig = await alone(divisible);
    await prove(rig);
    await compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW, clicks: 2 }]);
    expect(rig.learner.standing(report)).toMatchObject({ state, pinned: true });
    expect([rig.events, rig.learner.show(report)]).toEqual([[], null]);
  });

  it('of an endpoint that is not declared is refuted', async () => {
    const { learner } = await alone();
    expect(learner.standing({ ...report, endpoint: 'other/get' }).state).toBe('refuted');
    expect(learner.standing({ ...report, endpoint: 'constructor' }).state).toBe('refuted');
  });
});

describe('learning', () => {
  it('is done after three days of two pairs, and is said once', async () => {
    const rig = await alone();
    await compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW }]);
    expect(rig.learner.standing(report).state).toBe('learning');
    await prove(rig);
    expect(rig.learner.standing(report).state).toBe('proven');
    await prove(rig);
    expect(rig.events).toEqual(['proven']);
  });

  it.each<[string, Cut, Cut]>([
    ['periods that begin alike', { date: THIRD, of: OLD }, { date: THIRD, of: ['2026-11-01', '2026-11-08'] }],
    ['periods that end alike', { date: THIRD, of: OLD }, { date: THIRD, of: ['2026-11-02', '2026-11-07'] }],
    ['a day without rows', { date: THIRD, of: OLD, empty: true }, { date: THIRD, of: NEW, empty: true }],
    ['a day not final in the older', { date: THIRD, of: OLD, on: '2026-11-08' }, { date: THIRD, of: NEW }],
    ['a day not final in the newer', { date: THIRD, of: OLD }, { date: THIRD, of: NEW, on: '2026-11-08' }],
    ['a day of an older generation', { date: THIRD, of: OLD, generation: 'older' }, { date: THIRD, of: NEW }],
    ['a day that was not known', { date: FOURTH, of: OLD }, { date: THIRD, of: NEW }],
  ])('takes nothing from %s', async (_what, known, fresh) => {
    const rig = await alone();
    await compare(rig, [known], [fresh]);
    expect(rig.learner.show(report)).toBeNull();
    // The same day does count where nothing of that stands in the way.
    await compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW }]);
    expect(rig.learner.show(report)?.agreements).toHaveLength(1);
  });

  it('takes a difference of days that may still change for nothing', async () => {
    const rig = await alone();
    await compare(rig, [{ date: THIRD, of: OLD, on: '2026-11-08' }], [{ date: THIRD, of: NEW, clicks: 2 }]);
    await compare(rig, [{ date: THIRD, of: OLD, generation: 'x' }], [{ date: THIRD, of: NEW, clicks: 2 }]);
    expect(rig.events).toEqual([]);
  });
});

describe('a disagreement on a final day', () => {
  const disagree = (rig: Awaited<ReturnType<typeof alone>>, witness: Cut | null, of = NEW) =>
    compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of, clicks: 2 }], async (date) => {
      expect(date).toBe(THIRD);
      return witness === null ? null : cutDay(witness);
    });
  const single: readonly [string, string] = [THIRD, THIRD];

  it('is a restatement when the day alone is like the newer answer', async () => {
    const rig = await alone();
    await prove(rig);
    await disagree(rig, { date: THIRD, of: single, clicks: 2 });
    expect(rig.events).toEqual(['proven', 'restated']);
    expect(rig.learner.show(report)).toMatchObject({
      state: 'proven',
      restatements: 1,
      oldestRestatementDays: 18,
    });
    expect(rig.log.messages('warn')).toEqual([expect.stringContaining('report.restatementDays')]);
  });

  it('is a restatement when both answers were for the same period', async () => {
    const rig = await alone();
    await compare(rig, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: OLD, clicks: 2 }]);
    expect(rig.events).toEqual(['restated']);
  });

  it.each([1, 3])('refutes when the day alone is not like the newer answer (%i)', async (clicks) => {
    const rig = await alone();
    await prove(rig);
    const { generation } = rig.learner.standing(report);
    await disagree(rig, { date: THIRD, of: single, clicks });
    expect(rig.events).toEqual(['proven', 'refuted']);
    const refuted = rig.learner.standing(report);
    expect(refuted.state).toBe('refuted');
    expect(refuted.generation).not.toBe(generation);
    expect(rig.log.messages('error')).toHaveLength(1);
  });

  it('says nothing when the day alone cannot be had now', async () => {
    const rig = await alone();
    await prove(rig);
    await disagree(rig, null);
    expect([rig.events, rig.learner.standing(report).state]).toEqual([['proven'], 'proven']);
  });

  it('ends the comparison: agreements beside it prove nothing', async () => {
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
      async () => cutDay({ date: THIRD, of: single, clicks: 3 }),
    );
    expect(rig.learner.show(report)).toMatchObject({ state: 'refuted', agreements: [] });
  });

  it('lasts a day; then segments of the new generation are learned from', async () => {
    const rig = await alone();
    await disagree(rig, { date: THIRD, of: single, clicks: 3 });
    rig.advance(REFUTED_MS - 1);
    await prove(rig, rig.learner.standing(report).generation);
    expect(rig.learner.standing(report).state).toBe('refuted');
    rig.advance(1);
    await prove(rig);
    expect(rig.learner.standing(report).state).toBe('learning');
    await prove(rig, rig.learner.standing(report).generation);
    expect(rig.learner.standing(report).state).toBe('proven');
  });
});

describe('several replicas', () => {
  it('share what each of them learns, also what they learn at once', async () => {
    const store = await openEmbedded();
    const [one, two] = await Promise.all([openReplica(withoutBus(store)), openReplica(withoutBus(store))]);
    const [here, there] = [learnerOn(one.registry), learnerOn(two.registry)];
    await Promise.all([
      compare(here, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW }]),
      compare(there, [{ date: FOURTH, of: OLD }], [{ date: FOURTH, of: ['2026-11-03', '2026-11-09'] }]),
    ]);
    await Promise.all([one.registry.refresh(), two.registry.refresh()]);
    const dates = (shown: Divisibility | null) => shown?.agreements.map(({ date }) => date).sort();
    expect(dates(here.learner.show(report))).toEqual([THIRD, FOURTH]);
    expect(dates(there.learner.show(report))).toEqual([THIRD, FOURTH]);
    await compare(here, [{ date: FIFTH, of: OLD }], [{ date: FIFTH, of: NEW }]);
    await two.registry.refresh();
    expect(there.learner.standing(report)).toMatchObject({ state: 'proven' });
  });

  it('know it after a restart', async () => {
    const store = await openEmbedded();
    await prove(learnerOn((await openReplica(store)).registry));
    const again = learnerOn((await openReplica(store)).registry);
    expect(again.learner.standing(report).state).toBe('proven');
  });

  it('hear of a refutation with its generation', async () => {
    const store = await openEmbedded();
    const [one, two] = await Promise.all([openReplica(store), openReplica(store)]);
    const [here, there] = [learnerOn(one.registry), learnerOn(two.registry)];
    await prove(here);
    await compare(here, [{ date: THIRD, of: OLD }], [{ date: THIRD, of: NEW, clicks: 2 }], async () =>
      cutDay({ date: THIRD, of: [THIRD, THIRD], clicks: 3 }),
    );
    await expect.poll(() => there.learner.standing(report).state).toBe('refuted');
    expect(there.learner.standing(report).generation).toBe(here.learner.standing(report).generation);
  });
});

describe('an application that invents parameters', () => {
  it('does not fill the registry; what was refuted is not forgotten', async () => {
    const rig = await alone();
    const kind = (value: number) =>
      get(`advertiserId=1&byDate=1&x=${value}&dateFrom=2026-11-01&dateTo=2026-11-07`).report;
    const learn = (value: number, clicks: number) =>
      rig.learner.compare(
        {
          report: kind(value),
          series: 's',
          known: byDate([cutDay({ date: THIRD, of: OLD })]),
          fresh: [cutDay({ date: THIRD, of: NEW, clicks })],
        },
        async () => cutDay({ date: THIRD, of: [THIRD, THIRD], clicks: 3 }),
      );
    await learn(0, 2);
    for (let value = 1; value <= 520; value++) await learn(value, 1);
    expect(rig.registry.list('divisible/').length).toBeLessThanOrEqual(501);
    expect(rig.learner.standing(kind(0)).state).toBe('refuted');
    // The oldest are forgotten first.
    expect([1, 520].map((value) => rig.learner.show(kind(value)) === null)).toEqual([true, false]);
  });
});
