/** What changed of a report by day, from the revisions of its days and the rows that differ. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  changeIn,
  chosenOf,
  comparedRuns,
  instantFrom,
  isNamed,
  knownSince,
  type Moments,
  measuresOf,
  momentsOf,
  pinIn,
  type Revisions,
  statesBetween,
} from '../../src/web/explorer/changed.js';
import type { ReportColumn } from '../../src/web/explorer/columns.js';
import { type DiffRow, diffCsv, movedByDay, namesIn, subjectOf } from '../../src/web/explorer/diff-rows.js';
import { parseCsv } from '../../src/web/explorer/join-csv.js';
import { between } from '../../src/web/ui/format.js';

type Day = Revisions['data'][number];

const revision = (id: string, totals: Record<string, number | string> | null, more: object = {}) =>
  ({
    ...{ id, knownFrom: `2026-11-2${id}T08:00:00.000Z`, confirmedUntil: '', ageDays: 1 },
    ...{ kind: 'changed', rowCount: 1, totals },
    ...more,
  }) as Day['revisions'][number];
const ALWAYS: Moments = { from: null, to: null };
const day = (date: string, ...revisions: Day['revisions']): Day => ({ date, revisions });

/** The days with changes: of each its steps by a measure, the newest first. */
function told(data: Day[], measure: string, moments = ALWAYS) {
  const states = statesBetween({ data }, moments);
  const column = measureIn(data, measure);
  return states
    .filter(({ steps }) => steps.length > 0)
    .map((state) => {
      const { before, now } = changeIn([state], column);
      const steps = state.steps.map((step) => changeIn([step], column).diff);
      return [state.date.slice(8), before, now, steps];
    });
}

function measureIn(data: Day[], name: string): ReportColumn {
  const column = measuresOf(statesBetween({ data }, ALWAYS), false).find((one) => one.name === name);
  if (column === undefined) throw new Error(`no measure ${name}`);
  return column;
}

it('ids of rows have the names beside them', () => {
  const rows = [
    { campaignId: 1, campaignName: 'Spring', advertiserId: 7 },
    { campaignId: 2, campaignName: '' },
  ];
  expect([...namesIn(rows)]).toEqual([['campaignId 1', 'Spring']]);
});

describe('a change of a day', () => {
  const earliest = (confirmedUntil: string) => {
    const revisions = [revision('0', { spent: 1 }, { confirmedUntil }), revision('1', { spent: 2 })];
    return statesBetween({ data: [day('2026-11-18', ...revisions)] }, ALWAYS)[0]?.steps[0]?.after;
  };

  it('was made after the numbers before were last fetched, and before it was seen', () => {
    expect(earliest('2026-11-20T19:00:00.000Z')).toBe('2026-11-20T19:00:00.000Z');
    // The hour of that began before they were known.
    expect(earliest('2026-11-20T07:00:00.000Z')).toBe('2026-11-20T08:00:00.000Z');
    expect(earliest('2026-11-21T08:00:00.000Z')).toBeNull();
  });

  it('is told with its day once, if both ends have the same', () => {
    expect(between('2026-11-20T02:00:00Z', '2026-11-20T14:00:00Z')).toBe(
      'between 2026-11-20 02:00 and 14:00 UTC',
    );
    expect(between('2026-11-20T02:00:00Z', '2026-11-21T14:00:00Z')).toBe(
      'between 2026-11-20 02:00 and 2026-11-21 14:00 UTC',
    );
  });
});

describe('the days that changed', () => {
  const twice = day(
    '2026-11-18',
    revision('0', { spent: 10, clicks: 5 }),
    revision('1', { spent: '10.5', clicks: 5 }),
    revision('3', { spent: 11, clicks: 4 }),
  );

  it('are a line each, newest first, from the first to the last number, with their steps', () => {
    const data = [
      day('2026-11-17', revision('0', { spent: 10, clicks: 5 })),
      twice,
      day('2026-11-19', revision('0', { spent: 0, clicks: 1 }), revision('1', { spent: 2, clicks: 1 })),
      day('2026-11-20'),
    ];
    expect(told(data, 'spent')).toEqual([
      ['19', 0, 2, [2]],
      ['18', 10, 11, [0.5, 0.5]],
    ]);
    expect(told(data, 'clicks')).toEqual([
      ['19', 1, 1, [0]],
      ['18', 5, 4, [-1, 0]],
    ]);
    expect(told(data, 'cpc')).toEqual([
      ['19', 0, 2, [2]],
      ['18', 2, 2.75, [0.65, 0.1]],
    ]);
  });

  it('pass over what was never right, and say where other settings or missing sums are the reason', () => {
    const revisions = [
      revision('0', { spent: 1 }),
      revision('1', null, { kind: 'void', void: 'cut' }),
      revision('2', { spent: 3 }, { kind: 'method' }),
      revision('3', { spent: 3 }),
      revision('4', null),
    ];
    const [state] = statesBetween({ data: [day('2026-11-18', ...revisions)] }, ALWAYS);
    expect(state?.steps.map(({ before, now, hasOtherSettings }) => [before, now, hasOtherSettings])).toEqual([
      [{ spent: 3 }, null, false],
      [{ spent: 3 }, { spent: 3 }, false],
      [{ spent: 1 }, { spent: 3 }, true],
    ]);
  });

  it('begin when the day was over: until then its numbers grow', () => {
    const running = { ageDays: 0, confirmedUntil: '2026-11-20T20:00:00.000Z' };
    const grown = [revision('0', { spent: 1 }, running), revision('1', { spent: 5 })];
    expect(told([day('2026-11-20', ...grown)], 'spent')).toEqual([]);
    expect(told([day('2026-11-20', ...grown, revision('2', { spent: 6 }))], 'spent')).toEqual([
      ['20', 5, 6, [1]],
    ]);
    // The same rows were fetched once more after it ended.
    const confirmed = revision('0', { spent: 4 }, { ...running, confirmedUntil: '2026-11-21T02:00:00.000Z' });
    expect(told([day('2026-11-20', confirmed, ...grown.slice(1))], 'spent')).toEqual([['20', 4, 5, [1]]]);
    // It is not over yet.
    const still = [revision('0', { spent: 1 }, running), revision('1', { spent: 3 }, running)];
    expect(told([day('2026-11-20', ...still)], 'spent')).toEqual([]);
  });

  it('are told by money that was spent, unless another measure is chosen', () => {
    const states = statesBetween({ data: [twice] }, ALWAYS);
    const measures = measuresOf(states, false);
    expect(measures.map(({ name }) => name)).toEqual(['spent', 'clicks', 'cpc']);
    expect(['', 'clicks', 'reach'].map((name) => chosenOf(measures, name)?.name)).toEqual([
      'spent',
      'clicks',
      'spent',
    ]);
    expect(measuresOf(states, true).map(({ name }) => name)).toEqual(['clicks']);
    expect(chosenOf([], '')).toBeUndefined();
  });
});

it('the moments of an address are names, times or a pin; named ones begin at midnight UTC', () => {
  const now = Date.parse('2026-03-01T23:59:00Z');
  const instants = ['yesterday', 'week', '2026-02-03T04:05', ''].map((from) => instantFrom(from, now));
  expect(instants).toEqual(['2026-02-28T00:00:00Z', '2026-02-22T00:00:00Z', '2026-02-03T04:05:00Z', '']);
  expect(momentsOf('first,latest')).toEqual({ from: '', to: '' });
  expect(momentsOf('pin-1,2026-02-03T04:05')).toEqual({ from: 'pin-1', to: '2026-02-03T04:05' });
  const places = ['', 'first,latest', 'yesterday,latest', 'week,2026-02-03T04:05', 'pin-1,latest'];
  expect(places.map(isNamed)).toEqual([true, true, true, false, false]);
  const pins = places.map((place) => pinIn(momentsOf(place).from));
  expect(pins).toEqual([null, null, null, null, 'pin-1']);
});

describe('since a moment', () => {
  const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
  const data = [
    day('2026-11-17', revision('0', { spent: 10, clicks: 5 }), revision('2', { spent: '10.5', clicks: 5 })),
    day('2026-11-18', revision('0', { spent: 1 }), revision('1', { spent: 2 }), revision('3', { spent: 4 })),
    day('2026-11-19', revision('2', { spent: 100 }), revision('3', null, { void: 'cut' })),
    day('2026-11-20'),
  ];
  const between = (from: number | null, to: number | null = null) => statesBetween({ data }, { from, to });

  it('the changes are those seen after it, until the other', () => {
    const changes = (from: string | null, to: string | null = null) =>
      told(data, 'spent', { from: from && at(from), to: to && at(to) } as Moments);
    expect(changes('22T00:00')).toEqual([
      ['18', 2, 4, [2]],
      ['17', 10, 10.5, [0.5]],
    ]);
    expect(changes('21T08:00', '22T08:00')).toEqual([['17', 10, 10.5, [0.5]]]);
  });

  it('a day first fetched after it is compared with that fetch, and says so; one not fetched is left out', () => {
    const states = between(at('21T09:00'));
    expect(states.map(({ date, isLater }) => [date.slice(8), isLater])).toEqual([
      ['19', true],
      ['18', false],
      ['17', false],
    ]);
    expect(between(null).some(({ isLater }) => isLater)).toBe(false);
    expect(between(at('20T09:00'), at('21T09:00')).map(({ date }) => date.slice(8))).toEqual(['18', '17']);
  });

  it('a day whose numbers of that moment are not kept says so', () => {
    const gap = { thinnedFrom: '2026-11-21T00:00:00.000Z' };
    const thinned = [day('2026-11-17', revision('0', { spent: 1 }, gap), revision('3', { spent: 2 }))];
    const isInexact = (text: string) =>
      statesBetween({ data: thinned }, { from: at(text), to: null })[0]?.isInexact;
    expect([isInexact('20T12:00'), isInexact('22T00:00'), isInexact('24T00:00')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('a change may be older if the numbers before were last read before it, and the day says when', () => {
    const lastRead = (from: number | null) =>
      between(from).map(({ date, lastRead }) => [date.slice(8), lastRead]);
    expect(lastRead(at('22T00:00'))).toEqual([
      ['19', null],
      ['18', '2026-11-21T08:00:00.000Z'],
      ['17', '2026-11-20T08:00:00.000Z'],
    ]);
    const confirmed = { confirmedUntil: '2026-11-22T07:00:00.000Z' };
    const read = [day('2026-11-17', revision('0', { spent: 1 }, confirmed), revision('3', { spent: 2 }))];
    const since = (text: string) => statesBetween({ data: read }, { from: at(text), to: null })[0]?.lastRead;
    expect([since('22T06:00'), since('22T08:00'), since('24T00:00')]).toEqual([
      null,
      '2026-11-22T07:00:00.000Z',
      null,
    ]);
    expect(lastRead(null).every(([, read]) => read === null)).toBe(true);
  });

  it('rows are compared for runs of days that are known at both moments and over, of which one at least changed', () => {
    const runs = (from: number | null) =>
      comparedRuns(between(from)).map(({ from, to }) => [from.slice(8), to.slice(8)]);
    expect(runs(at('22T09:00'))).toEqual([['17', '19']]);
    expect(runs(null)).toEqual([['17', '19']]);
    expect(runs(at('24T09:00'))).toEqual([]);
    // One between others was first fetched later.
    const twice = (date: string, first: string) =>
      day(date, revision(first, { spent: 1 }), revision('3', { spent: 2 }));
    const apart = [twice('2026-11-17', '0'), twice('2026-11-18', '2'), twice('2026-11-19', '0')];
    const states = statesBetween({ data: apart }, { from: at('21T09:00'), to: null });
    expect(comparedRuns(states).map(({ from, to }) => [from.slice(8), to.slice(8)])).toEqual([
      ['17', '17'],
      ['19', '19'],
    ]);
  });

  it('the totals are of all known days, before and now, without those whose numbers are not kept', () => {
    const spent = measureIn(data, 'spent');
    expect(changeIn(between(null), spent)).toMatchObject({ before: 111, now: 114.5, diff: 3.5 });
    expect(changeIn(between(at('21T09:00')), spent)).toMatchObject({ before: 112, now: 114.5 });
    const lost = [...data, day('2026-11-21', revision('0', null), revision('1', { spent: 1 }))];
    expect(changeIn(statesBetween({ data: lost }, ALWAYS), spent)).toMatchObject({ before: 111, now: 114.5 });
  });

  it('the totals lead from one to the other by the changes of the days, and each day by its steps', () => {
    const values = fc.array(fc.nat(1000), { minLength: 1, maxLength: 8 });
    const moments = fc.option(fc.integer({ min: 0, max: 9 }), { nil: null });
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 6 }), moments, (days, since) => {
        const known = days.map((of, index) =>
          day(`2026-11-0${index + 1}`, ...of.map((spent, turn) => revision(String(turn), { spent }))),
        );
        const from = since === null ? null : at(`2${since}T09:00`);
        const states = statesBetween({ data: known }, { from, to: null });
        const spent = measureIn(known, 'spent');
        const diffs = states.map((state) => changeIn([state], spent).diff ?? 0);
        const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
        expect(changeIn(states, spent).diff).toBe(sum(diffs));
        for (const [index, { steps }] of states.entries())
          expect(sum(steps.map((step) => changeIn([step], spent).diff ?? 0))).toBe(diffs[index]);
      }),
    );
  });

  it('the days are known from the first fetch of the first to that of the last', () => {
    expect(knownSince({ data })).toEqual(['2026-11-20T08:00:00.000Z', '2026-11-22T08:00:00.000Z']);
    expect(knownSince({ data: [day('2026-11-20')] })).toBeNull();
  });
});

describe('the rows that differ', () => {
  const row = (date: string, campaignId: number, changed: object) =>
    ({ date, campaignId, advertiserId: 7, kind: 'changed', changed }) as unknown as DiffRow;

  it('are named by the report, with their ids, and without the advertiser that all have', () => {
    const names = namesIn([{ campaignId: 1, campaignName: 'Spring' }]);
    expect([1, 2].map((id) => subjectOf(row('2026-11-18', id, {}), names))).toEqual([
      'Spring (Campaign id 1)',
      'Campaign id 2',
    ]);
  });

  it('are in the CSV a line for each cell, with names, words for what happened, and nothing that a spreadsheet runs', () => {
    const names = namesIn([{ campaignId: 1, campaignName: '=Spring' }]);
    const cells = { spent: { old: 12.5, new: 12, diff: -0.5, percent: -4 }, title: { old: null, new: '+x' } };
    const rows = [
      row('2026-11-18', 1, cells),
      {
        ...row('2026-11-19', 2, { spent: { old: '0.1', new: '0', diff: '-0.1' } }),
        kind: 'method',
      } as DiffRow,
    ];
    expect(parseCsv(diffCsv(rows, names, 'USD'))).toEqual([
      [
        ...['Date', 'Campaign name', 'Campaign id', 'Change', 'Column'],
        ...['Before', 'After', 'Difference', 'Difference in %'],
      ],
      ['2026-11-18', "'=Spring", '1', 'changed', 'Spent (USD)', '12.5', '12', '-0.5', '-4'],
      ['2026-11-18', "'=Spring", '1', 'changed', 'Title', '', "'+x", '', ''],
      [
        '2026-11-19',
        '',
        '2',
        'fetched with another token or other columns',
        'Spent (USD)',
        '0.1',
        '0',
        '-0.1',
        '',
      ],
    ]);
  });

  it('are counted by day, of a ratio those with another part of it', () => {
    const rows = [
      row('2026-11-18', 1, { clicks: { old: 1, new: 2 } }),
      row('2026-11-18', 2, { clicks: { old: 1, new: 2 }, spent: { old: 1, new: 2 } }),
      row('2026-11-19', 1, { impressions: { old: 1, new: 2 } }),
    ];
    const data = [day('2026-11-18', revision('0', { spent: 1, clicks: 1, impressions: 9 }))];
    const moved = (name: string) => [...movedByDay(rows, measureIn(data, name))];
    expect(moved('spent')).toEqual([['2026-11-18', 1]]);
    expect(moved('cpc')).toEqual([['2026-11-18', 2]]);
    expect(moved('ctr')).toEqual([
      ['2026-11-18', 2],
      ['2026-11-19', 1],
    ]);
  });
});
