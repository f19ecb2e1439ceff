/** Days that the platform has forgotten, and how far back it answers. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AnsweredDay,
  type ForgettingRules,
  judgeLosses,
  mergeReach,
  type Neighbour,
  SECOND_LOOK_MS,
} from '../../../src/reports/history/forgotten.js';
import { isoDay } from '../../../src/reports/query/days.js';
import { DAY, NOON as NOW } from '../../support/test-clock.js';

const TODAY = Math.floor(NOW / DAY);
const rules = (more: Partial<ForgettingRules> = {}): ForgettingRules => ({
  nowMs: NOW,
  retentionDays: null,
  restatementDays: 5,
  emptyMs: 300_000,
  reachSince: () => -1,
  ...more,
});
const day = (ageDays: number, more: Partial<AnsweredDay> = {}): AnsweredDay => ({
  date: isoDay(TODAY - ageDays),
  ageDays,
  rows: 1,
  knownRows: 1,
  emptyFromMs: null,
  accepted: false,
  ...more,
});

const ages = fc.uniqueArray(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 30 });
const looked = fc
  .tuple(
    ages,
    fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.option(fc.nat(10 * DAY))), { minLength: 30, maxLength: 30 }),
  )
  .map(([all, facts]) =>
    all
      .toSorted((a, b) => b - a)
      .map((ageDays, at) => {
        const [rows, knownRows, ago] = facts[at] as [number, number, number | null];
        return day(ageDays, { rows, knownRows, emptyFromMs: ago === null ? null : NOW - ago });
      }),
  );
const neighbours = fc.array(
  fc.tuple(fc.integer({ min: 91, max: 97 }), fc.boolean(), fc.nat(20 * DAY)).map(
    ([ageDays, isGone, ago]): Neighbour => ({
      date: isoDay(TODAY - ageDays),
      ageDays,
      emptyFromMs: isGone ? NOW - ago : null,
      seenMs: NOW - ago,
    }),
  ),
  { maxLength: 7 },
);
const reaches = fc.integer({ min: -1, max: 100 });

describe('a day that has lost its rows', () => {
  it('is never believed to be empty at the first look, nor where the platform has answered no older day', () => {
    fc.assert(
      fc.property(looked, neighbours, reaches, (days, near, reach) => {
        const { days: losses } = judgeLosses(days, near, rules({ reachSince: () => reach }));
        expect([...losses.keys()]).toEqual(
          days.filter(({ rows, knownRows }) => rows === 0 && knownRows > 0).map(({ date }) => date),
        );
        const oldest = Math.max(reach, ...days.filter(({ rows }) => rows > 0).map(({ ageDays }) => ageDays));
        for (const { date, ageDays, emptyFromMs } of days) {
          const loss = losses.get(date);
          if (loss?.kind !== 'believed') continue;
          expect(ageDays).toBeLessThan(oldest);
          expect(emptyFromMs).not.toBeNull();
          expect(NOW - (emptyFromMs as number)).toBeGreaterThanOrEqual(SECOND_LOOK_MS);
        }
      }),
    );
  });

  it('is kept for ever beyond an edge, whatever that edge is and however often it is looked at', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 6, max: 60 }),
        fc.integer({ min: 2, max: 30 }),
        fc.nat(100 * DAY),
        (edge, beyond, ago) => {
          const old = Array.from({ length: beyond }, (_, at) =>
            day(edge + beyond - at, { rows: 0, emptyFromMs: ago === 0 ? null : NOW - ago }),
          );
          const { days, edgeDays } = judgeLosses([...old, day(edge)], [], rules({ reachSince: () => edge }));
          expect(edgeDays).toBe(edge + 1);
          expect(days.size).toBe(beyond);
          for (const loss of days.values())
            expect(loss).toMatchObject({ kind: 'kept', code: 'beyond_retention', againMs: DAY });
        },
      ),
    );
  });

  it('is kept beyond the declared retention, and believed at once where an operator has accepted it', () => {
    const lost = day(55, { rows: 0, emptyFromMs: NOW - DAY });
    const kindOf = (days: readonly AnsweredDay[], retentionDays: number | null) =>
      judgeLosses(days, [], rules({ retentionDays })).days.get(lost.date)?.kind;
    expect([kindOf([day(60), lost], 50), kindOf([day(60), lost], null)]).toEqual(['kept', 'believed']);
    expect(kindOf([day(55, { rows: 0, accepted: true }), day(50)], null)).toBe('believed');
  });
});

describe('where all days are empty', () => {
  const all = (emptyFromMs: number | null) =>
    Array.from({ length: 10 }, (_, at) => day(10 - at, { rows: 0, emptyFromMs }));

  it('none is believed, and young days are looked at again soon, but only during the first hour', () => {
    const first = judgeLosses(all(null), [], rules());
    expect(
      [...first.days.values()].map((loss) => (loss.kind === 'kept' ? [loss.code, loss.againMs] : [])),
    ).toEqual([
      ...Array.from({ length: 5 }, () => ['all_days_empty', DAY]),
      ...Array.from({ length: 5 }, () => ['all_days_empty', 300_000]),
    ]);
    const second = judgeLosses(all(NOW - 2 * SECOND_LOOK_MS), [], rules({ reachSince: () => 400 }));
    for (const loss of second.days.values())
      expect(loss).toMatchObject({ kind: 'kept', code: 'all_days_empty', againMs: DAY });
  });

  it('a day near by that was seen with rows lately says that not all are', () => {
    const near = { date: isoDay(TODAY - 12), ageDays: 12, emptyFromMs: null, seenMs: NOW - DAY };
    const { days } = judgeLosses(all(null), [near], rules());
    for (const loss of days.values()) expect(loss).toMatchObject({ code: 'beyond_retention' });
  });
});

it('an older day is asked for where a second look decides nothing, and none where it does', () => {
  const lost = day(55, { rows: 0, emptyFromMs: NOW - 2 * SECOND_LOOK_MS });
  const near = (ageDays: number, emptyFromMs: number | null = null): Neighbour => ({
    date: isoDay(TODAY - ageDays),
    ageDays,
    emptyFromMs,
    seenMs: NOW - 20 * DAY,
  });
  const probed = (...input: Parameters<typeof judgeLosses>) => judgeLosses(...input).probe;
  const one = { from: near(57).date, to: near(57).date };
  expect(probed([lost], [near(56, NOW), near(57), near(58), near(54)], rules())).toEqual(one);
  expect(probed([lost], [near(57)], rules({ reachSince: () => 60 }))).toBeNull();
  expect(probed([{ ...lost, emptyFromMs: null }], [near(57)], rules())).toBeNull();
  const week = { from: near(62).date, to: near(56).date };
  expect(probed([lost], [near(54)], rules())).toEqual(week);
  expect(probed([lost], [near(56, NOW)], rules())).toBeNull();
  expect(probed([day(56, { rows: 0, knownRows: 0 }), lost], [], rules())).toBeNull();
});

type Reach = ReturnType<typeof mergeReach>;

const reach = fc
  .record({
    rows: fc.array(fc.tuple(fc.integer({ min: NOW, max: NOW + 10 * DAY }), fc.nat(100)), { maxLength: 5 }),
    edge: fc.option(
      fc.record({
        ageDays: fc.nat(100),
        sinceMs: fc.constant(NOW),
        atMs: fc.integer({ min: NOW, max: NOW + 10 * DAY }),
      }),
    ),
  })
  .map(({ rows, edge }): Reach => {
    const [first = { rows: [] }, ...others] = rows.map((one): Reach => ({ rows: [one] }));
    const all = others.reduce(mergeReach, first);
    return edge === null ? all : mergeReach(all, { rows: [], edge });
  });

describe('what replicas have seen of how far back the platform answers', () => {
  it('is the same whichever is added to the other', () => {
    fc.assert(
      fc.property(reach, reach, (one, other) => {
        expect(mergeReach(other, one)).toEqual(mergeReach(one, other));
      }),
    );
  });

  it('holds an age once, the older it was seen the greater, and none that is beyond the edge', () => {
    fc.assert(
      fc.property(reach, reach, (one, other) => {
        const { rows, edge } = mergeReach(one, other);
        for (const [at, [atMs, ageDays]] of rows.entries()) {
          const before = rows[at - 1];
          if (before !== undefined) expect(atMs <= before[0] && ageDays > before[1]).toBe(true);
          if (edge !== undefined) expect(ageDays).toBeLessThan(edge.ageDays);
        }
      }),
    );
  });

  it('ends an edge by a later answer that reaches beyond it', () => {
    const edge = { ageDays: 51, sinceMs: NOW, atMs: NOW };
    const known: Reach = { rows: [[NOW, 50]], edge };
    expect(mergeReach(known, { rows: [[NOW - DAY, 60]] })).toEqual(known);
    expect(mergeReach(known, { rows: [[NOW + DAY, 60]] })).toEqual({
      rows: [[NOW + DAY, 60]],
      ended: [NOW + DAY, 60],
    });
  });

  it('does not take up an edge again within a day of the answer that proved it wrong', () => {
    const ended: Reach = { rows: [[NOW, 60]], ended: [NOW, 60] };
    const edge = (atMs: number, ageDays = 51): Reach => ({
      rows: [],
      edge: { ageDays, sinceMs: NOW, atMs },
    });
    expect(mergeReach(ended, edge(NOW + DAY / 2))).toEqual(ended);
    expect(mergeReach(ended, edge(NOW + DAY / 2, 61))).toHaveProperty('edge');
    expect(mergeReach(ended, edge(NOW + 2 * DAY))).toHaveProperty('edge');
  });

  it('keeps the age at which a day was refused alone with the edge that it proves', () => {
    const edge = { ageDays: 51, sinceMs: NOW, atMs: NOW };
    const refused: [number, number] = [NOW, 60];
    const proven = mergeReach({ rows: [], edge: { ...edge, refused } }, { rows: [], edge });
    expect(proven.edge?.refused).toEqual(refused);
    expect(mergeReach(proven, { rows: [[NOW + 1, 55]] })).not.toHaveProperty('edge');
  });
});
