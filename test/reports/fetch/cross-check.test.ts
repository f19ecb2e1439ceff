import { describe, expect, it } from 'vitest';
import { isoDay } from '../../../src/reports/query/days.js';
import { prove } from '../../support/prove.js';
import { openScene } from '../../support/scene.js';
import { type Reply, reportIn, type SimulatedGateway, withGateway } from '../../support/start-gateway.js';
import { DAY, MINUTE } from '../../support/test-clock.js';
import {
  type Answering,
  answering,
  listingWhatDelivered,
  lowerOnTheLastDay,
  type Period,
  sampledWhenLong,
} from '../learn/range-dependent.js';
import { ALWAYS, byDay } from './by-day.js';

const QUERY = byDay('2026-11-03', '2026-11-05');

const JOINS = [
  ['2026-11-03', '2026-11-05'],
  ['2026-11-02', '2026-11-06'],
  ['2026-11-01', '2026-11-05'],
  ['2026-11-02', '2026-11-04'],
  ['2026-11-02', '2026-11-05'],
  ['2026-11-01', '2026-11-04'],
] as const;

/** A gateway that has learned that the campaign report by date may be split. */
async function proven(crossCheckEvery: number): Promise<SimulatedGateway & { readonly key: string }> {
  const gateway = await withGateway({ config: { report: { crossCheckEvery } } });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  gateway.simulator.clearCalls();
  return Object.assign(gateway, { key });
}

/** @param extra another one each time: a finished body is given as it is, and not joined from days again */
async function assemble(gateway: SimulatedGateway & { readonly key: string }, extra = '') {
  const answer = reportIn(await gateway.report(gateway.key, QUERY + extra));
  await gateway.services.settled();
  return answer;
}

const stateOf = async (gateway: SimulatedGateway) =>
  (await gateway.services.reporting.explain('campaigns/get', QUERY)).policy.divisibility;
const clicksOn = ({ data }: ReturnType<typeof reportIn>, date: string) =>
  data.find((row) => row.date === date)?.clicks;

const byDateCalls = ({ simulator }: SimulatedGateway) =>
  simulator.calls
    .filter(({ url }) => url.includes('byDate=1'))
    .map(({ query }) => [query.dateFrom, query.dateTo]);

/** @returns asks so many minutes later, and tells which ranges were asked for until behind the answer */
function askAfter(gateway: SimulatedGateway & { readonly key: string }, query: string) {
  return async (minutes: number) => {
    gateway.clock.advance(minutes * MINUTE);
    gateway.simulator.clearCalls();
    await gateway.report(gateway.key, query);
    await gateway.services.settled();
    return byDateCalls(gateway);
  };
}

/** Asks for ranges one after another. @returns how many calls by date were made until behind each answer */
async function callsBehind(
  gateway: SimulatedGateway & { readonly key: string },
  ranges: readonly (readonly [from: string, to: string])[],
  look: (reply: Reply) => void = () => {},
): Promise<number[]> {
  const counts: number[] = [];
  for (const [from, to] of ranges) {
    look(await gateway.report(gateway.key, byDay(from, to)));
    await gateway.services.settled();
    counts.push(byDateCalls(gateway).length);
  }
  return counts;
}

describe('the audit', () => {
  it('costs no call where the shapes of a join were compared: those of the proof, of its account', async () => {
    const gateway = await proven(1_000_000);
    const counts: number[] = [];
    for (let days = 0; days < 3; days++) {
      counts.push(
        ...(await callsBehind(gateway, JOINS, ({ headers }) =>
          expect(headers['cache-status']).toMatch(/; hit; /),
        )),
      );
      gateway.clock.advance(DAY);
    }
    expect(counts.every((count) => count === 0)).toBe(true);
  });

  it('has a call that is made anyway fetch the whole range: for the first two joins of a series, then once a day', async () => {
    const gateway = await proven(1_000_000);
    const query = byDay('2026-11-08', '2026-11-20');
    const { calls } = await gateway.services.reporting.explain('campaigns/get', query);
    expect(calls).toEqual([{ from: '2026-11-08', to: '2026-11-20' }]);
    const ask = askAfter(gateway, query);
    // The first two joins of the series, at noon and an hour later; at half past eleven in the evening none is due.
    expect(await ask(0)).toEqual([['2026-11-08', '2026-11-20']]);
    expect(await ask(65)).toEqual([['2026-11-08', '2026-11-20']]);
    expect(await ask(625)).toEqual([['2026-11-16', '2026-11-20']]);
    // After midnight one is, with the next call.
    expect(await ask(40)).toEqual([]);
    expect(await ask(30)).toEqual([['2026-11-08', '2026-11-20']]);
    expect(await ask(1)).toEqual([]);
  });

  it('by a refresh that fails lets the next one bring its stale days alone, and is made five minutes later', async () => {
    const gateway = await proven(1_000_000);
    const ask = askAfter(gateway, byDay('2026-11-08', '2026-11-20'));
    await ask(0);
    gateway.simulator.fault({ kind: 'status', status: 403 });
    expect(await ask(62)).toEqual([['2026-11-08', '2026-11-20']]);
    expect(await ask(1)).toEqual([['2026-11-16', '2026-11-20']]);
    expect(await ask(62)).toEqual([['2026-11-08', '2026-11-20']]);
  });

  it('is not made of softly purged days, which nothing is compared with', async () => {
    const gateway = await proven(1_000_000);
    await gateway.manage('POST', '/cache/purge', { all: true, soft: true });
    const askAgain = askAfter(gateway, QUERY);
    const days = ['2026-11-03', '2026-11-05'];
    expect(await askAgain(1)).toEqual([days]);
    expect(await askAgain(1)).toEqual([]);
  });

  it('looks into one in so many joins beside', async () => {
    const gateway = await proven(3);
    const counts = await callsBehind(gateway, JOINS);
    expect(counts).toEqual([0, 0, 1, 1, 1, 2]);
  });

  it('does not look at all when told so', async () => {
    const gateway = await proven(0);
    const before = gateway.simulator.callCount;
    for (const form of ['', '&_days=1', '&_format=csv']) {
      await gateway.report(gateway.key, QUERY + form);
      await gateway.services.settled();
    }
    expect(gateway.simulator.callCount).toBe(before);
  });

  it('spends no call where the configuration has decided', async () => {
    const gateway = await withGateway({
      config: { report: { crossCheckEvery: 1, endpoints: ALWAYS.report.endpoints } },
    });
    const key = await gateway.addTeam();
    await gateway.report(key, QUERY);
    await gateway.services.settled();
    await gateway.report(key, `${QUERY}&_days=1`);
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('finds a final day that was restated, counts it, and gives the new numbers from then on', async () => {
    const gateway = await proven(1);
    const before = await assemble(gateway);
    gateway.clock.advance(DAY);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-04', to: '2026-11-04' });
    await assemble(gateway, '&_days=1');
    expect(await stateOf(gateway)).toMatchObject({
      state: 'proven',
      restatements: 1,
      oldestRestatementDays: 18,
    });
    const after = (await gateway.report(gateway.key, `${QUERY}&_format=ndjson`)).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const truth = gateway.simulator
      .truth({ advertiserId: 1, dateFrom: '2026-11-03', dateTo: '2026-11-05', byDate: true })
      .map(({ clicks }) => clicks);
    expect(clicksOn(before, '2026-11-04')).not.toBe(truth[1]);
    expect(after.map(({ clicks }) => clicks)).toEqual(truth);
  });
});

it('the first join of a length is compared before it is served, though shorter ones of the series were compared that day', async () => {
  const { gateway, ask } = await openScene(answering(sampledWhenLong), {
    config: { report: { crossCheckEvery: 1_000_000 } },
  });
  /** Asks for days that end yesterday. @returns whether the answer is the platform's own for that period */
  async function isRight(days: number): Promise<boolean> {
    const today = Math.floor(gateway.clock.now() / DAY);
    const period: Period = [isoDay(today - days), isoDay(today - 1)];
    const { data } = reportIn(await ask(byDay(...period)));
    return data.every((row, at) => row.impressions === sampledWhenLong(period)[at]?.impressions);
  }
  for (let day = 0; day < 12; day += 1) {
    for (const days of [7, 14, 30, 21, 10]) expect(await isRight(days)).toBe(true);
    gateway.clock.advance(DAY);
  }
  const long: boolean[] = [];
  for (let day = 0; day < 3; day += 1) {
    for (const days of [7, 14, 30]) expect(await isRight(days)).toBe(true);
    long.push(await isRight(90));
    gateway.clock.advance(4 * 60 * MINUTE);
  }
  expect(long).toEqual([true, true, true]);
});

const periods = (...texts: readonly string[]) =>
  texts.map((text) => text.split(' ').map((date) => `2026-${date}`) as [string, string]);

it.each<[string, Answering, readonly Period[]]>([
  [
    'ranges with falling ends do not prove a platform that counts less on a last day',
    lowerOnTheLastDay,
    periods(
      '10-20 11-12',
      '10-21 11-11',
      '10-22 11-10',
      '10-23 11-09',
      '10-24 11-12',
      '10-24 11-09',
      '10-30 11-05',
    ),
  ],
  [
    'three overlaps do not prove a platform that lists only what delivered in the period',
    listingWhatDelivered,
    periods('10-05 10-12', '10-06 10-13', '10-07 10-14', '10-05 10-22', '10-06 10-21', '10-08 10-19'),
  ],
])('%s', async (_what, rowsIn, asked) => {
  const { gateway, ask } = await openScene(answering(rowsIn));
  const shown = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    rows.map((row) => `${row.date} ${row.campaignId ?? row.campaign_id} ${row.impressions}`);
  for (const period of asked) {
    // The platform's own for that period.
    expect(shown(reportIn(await ask(byDay(...period))).data)).toEqual(shown(rowsIn(period)));
    gateway.clock.advance(MINUTE);
  }
});
