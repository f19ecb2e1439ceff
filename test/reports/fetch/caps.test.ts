import { describe, expect, it } from 'vitest';
import { createCaps, createKnownCaps } from '../../../src/reports/fetch/caps.js';
import { divisibilityId } from '../../../src/reports/learn/state.js';
import { daysBetween } from '../../../src/reports/query/days.js';
import type { Registry } from '../../../src/store/registry/replica.js';
import { type RawPlatform, startRawPlatform } from '../../support/raw-platform.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { gatewayAt, reportIn } from '../../support/start-gateway.js';
import { createTestClock, DAY, MINUTE } from '../../support/test-clock.js';
import { answering } from '../learn/range-dependent.js';
import { get } from '../query/canonical-request.js';
import { byDay, periodOf, rowsPerDay } from './by-day.js';
import { policyOf } from './policy.js';

describe('createCaps', () => {
  const rules = (rowCap: number) => ({
    'campaigns/get': {
      readByPost: false,
      divisible: 'auto' as const,
      freshness: 'own' as const,
      ...(rowCap === 0 ? {} : { rowCap }),
    },
  });
  const { report } = get('advertiserId=1&byDate=1');
  const of = (series: string) => ({ series, report });

  /** Of one replica. */
  function capsOn(registry: Registry, rowCap = 0, endpoints: object = rules(rowCap)) {
    const log = createRecordedLog();
    const clock = createTestClock();
    const work: Promise<unknown>[] = [];
    const policy = policyOf({}, endpoints as ReturnType<typeof rules>);
    const known = createKnownCaps(registry, (one) => divisibilityId(one, ['advertiserId']), {
      endpoints: policy.endpoints,
      now: clock.now,
      logger: log.logger,
      background: (one) => work.push(one),
    });
    const caps = createCaps(known, { now: clock.now });
    const ask = (range: string, rows: number, series = 's', perDay: number | null = null) =>
      caps.suspects(of(series), range, { rows, perDay });
    const clear = (range: string, rows: number, series = 's', perDay: number | null = null) =>
      caps.clear(of(series), range, { rows, perDay });
    return { caps, ask, clear, log, clock, settled: () => Promise.all(work) };
  }
  const alone = async (rowCap = 0) => capsOn((await openReplica(await openInMemory())).registry, rowCap);

  it('adds to what a newer release wrote, which keeps what is not known of it', async () => {
    const { registry } = await openReplica(await openInMemory());
    const { ask, clock, settled } = capsOn(registry);
    const id = `caps/${divisibilityId(report, ['advertiserId'])}`;
    const theirs = { count: 700, series: 'theirs', at: clock.now(), newer: { of: 'a newer release' } };
    await registry.commit({ writes: new Map([[id, JSON.stringify([theirs])]]) });
    const known = createKnownCaps(registry, () => divisibilityId(report, ['advertiserId']), {
      endpoints: new Map(),
      now: clock.now,
      logger: createRecordedLog().logger,
      background: () => {},
    });
    await known.learn(of('s'), 500);
    await settled();
    expect(ask('a', 700)).toBe(true);
    expect(JSON.parse(registry.get(id)?.value ?? '')).toEqual([
      theirs,
      { count: 500, series: 's', endpoint: 'campaigns/get', at: clock.now() },
    ]);
  });

  it('suspects exactly as many rows as a configured cap, and judges more rows as if none was configured', async () => {
    const { ask, log } = await alone(1000);
    expect([999, 1000, 1001].map((count) => ask('a', count))).toEqual([false, true, false]);
    // A count seen twice says nothing below the cap. Above it the setting is wrong.
    expect([999, 1001].map((count) => ask('b', count))).toEqual([false, true]);
    expect(log.messages('warn')).toEqual([
      expect.stringContaining('more rows than report.endpoints.*.rowCap'),
    ]);
  });

  it('suspects a count of 500 or more that another range of the series had', async () => {
    const { ask } = await alone();
    expect(ask('a', 501)).toBe(false);
    expect(ask('a', 501)).toBe(false);
    expect(ask('b', 501)).toBe(true);
    expect(ask('c', 502)).toBe(false);
    expect(ask('b', 501, 'other series')).toBe(false);
  });

  it('suspects a multiple of 500, and a power of two from 512, at first sight', async () => {
    const suspects = async (rows: number) => (await alone()).ask('a', rows);
    for (const rows of [500, 512, 1000, 1024, 1500, 2048, 10_000, 65_536])
      expect(await suspects(rows), String(rows)).toBe(true);
    for (const rows of [256, 499, 501, 513, 700, 1025, 9999])
      expect(await suspects(rows), String(rows)).toBe(false);
  });

  it('does not suspect a round count at first sight for a day after any answer of the kind had more rows', async () => {
    const { ask, clock } = await alone();
    ask('a', 1777);
    expect(ask('b', 1500, 'other')).toBe(false);
    // As many rows as the largest answer may be as many as the platform gives.
    expect(ask('b', 2000, 'other')).toBe(true);
    expect(ask('b', 2000, 'third')).toBe(true);
    clock.advance(DAY);
    expect(ask('c', 1500, 'fourth')).toBe(true);
  });

  it('does not suspect as many rows on each day for a day after halves of such an answer had no more rows', async () => {
    const { ask, clear, clock } = await alone();
    const [two, three] = ['2026-10-01/2026-10-02', '2026-10-01/2026-10-03'];
    expect(ask(two, 1000, 's', 500)).toBe(true);
    clear(two, 1000, 's', 500);
    expect(ask(three, 1500, 'other', 500)).toBe(false);
    // Fewer rows on the last day: they may have been cut off.
    expect(ask(three, 1500, 'third')).toBe(true);
    expect(ask(three, 3000, 'fourth', 1000)).toBe(true);
    clock.advance(DAY);
    expect(ask(three, 1500, 'fifth', 500)).toBe(true);
  });

  it('does not suspect equal counts of ranges of one length if all of their days have equally many rows', async () => {
    const { ask } = await alone();
    expect(ask('2026-10-01/2026-10-06', 600, 's', 100)).toBe(false);
    expect(ask('2026-10-02/2026-10-07', 600, 's', 100)).toBe(false);
    expect(ask('2026-10-02/2026-10-05', 600, 's', 150)).toBe(true);
    expect(ask('2026-10-03/2026-10-08', 600, 's')).toBe(true);
  });

  it('does not suspect small counts, however often they come', async () => {
    const { ask } = await alone();
    expect(['a', 'b', 'c'].map((range) => ask(range, 499))).toEqual([false, false, false]);
  });

  it('remembers for a day that a count was a coincidence, for that series and count', async () => {
    const { ask, clear, clock } = await alone();
    for (const series of ['s', 't']) ask('a', 700, series);
    clear('a', 700);
    expect(ask('b', 700)).toBe(false);
    expect(ask('b', 700, 't')).toBe(true);
    ask('c', 800);
    expect(ask('d', 800)).toBe(true);
    clock.advance(DAY);
    expect(ask('e', 700)).toBe(true);
  });

  it('goes on suspecting after very many ranges', async () => {
    const { ask } = await alone();
    for (let at = 0; at < 100; at++) ask(`range ${at}`, 1001 + at);
    expect(ask('again', 1100)).toBe(true);
  });

  it('shares a proven cap with other replicas and other series of the kind, and keeps it over a restart', async () => {
    const store = await openInMemory();
    const [one, two] = await Promise.all([openReplica(store), openReplica(store)]);
    const here = capsOn(one.registry);
    expect([here.ask('a', 600), here.ask('b', 600)]).toEqual([false, true]);
    await here.caps.confirm(of('s'), 600);
    expect(here.log.messages('warn')).toEqual([expect.stringContaining('truncates answers')]);
    await two.registry.refresh();
    const there = capsOn(two.registry);
    expect([there.ask('x', 600), there.ask('x', 600, 'other'), there.ask('x', 601)]).toEqual([
      true,
      true,
      false,
    ]);
    const { caps } = capsOn((await openReplica(store)).registry);
    const otherKind = get('advertiserId=1&byDate=1&byCampaign=1').report;
    const odd = { ...report, endpoint: 'constructor' };
    const kinds = [otherKind, odd, report];
    expect(
      kinds.map((kind) => caps.suspects({ series: 'z', report: kind }, 'x', { rows: 600, perDay: null })),
    ).toEqual([false, false, true]);
  });

  it('unlearns a cap when the series that proved it holds more rows, not when a range has exactly as many', async () => {
    const store = await openInMemory();
    const { registry } = await openReplica(store);
    const { caps, ask, clear, settled } = capsOn(registry);
    await caps.confirm(of('s'), 600);
    expect(ask('other', 600, 'fresh')).toBe(true);
    for (const series of ['s', 'other']) clear('c', 600, series);
    // Another series only tells of itself.
    ask('long', 900, 'other');
    await settled();
    expect(['s', 'fresh', 'other'].map((series) => ask('d', 600, series))).toEqual([true, true, true]);
    ask('long', 900);
    await settled();
    expect(ask('e', 600, 'newer')).toBe(false);
  });

  it('takes a count that is a coincidence for short ranges for a possible cap of longer ones', async () => {
    const { ask, clear } = await alone();
    ask('2026-10-01/2026-10-10', 700);
    clear('2026-10-01/2026-10-10', 700);
    expect(ask('2026-10-11/2026-10-20', 700)).toBe(false);
    expect(ask('2026-10-11/2026-10-21', 700)).toBe(true);
  });

  it('goes by what it learned while the registry takes nothing, and forgets it after a month', async () => {
    const { registry } = await openReplica(await openInMemory());
    const { caps, ask, log, clock } = capsOn({
      ...registry,
      get: registry.get,
      list: registry.list,
      commit: () => Promise.reject(new Error('away')),
    });
    await caps.confirm(of('s'), 600);
    expect(ask('c', 600)).toBe(true);
    expect(log.messages('warn')).toContainEqual(expect.stringContaining('failed to share'));
    clock.advance(31 * DAY);
    expect(ask('d', 600, 'other')).toBe(false);
  });

  it('keeps a bounded number of kinds', async () => {
    const { registry } = await openReplica(await openInMemory());
    const { caps } = capsOn(registry);
    for (let value = 0; value < 230; value++) {
      const kind = get(`advertiserId=1&byDate=1&x=${value}`).report;
      await caps.confirm({ series: `s${value}`, report: kind }, 600);
    }
    expect(registry.list('caps/')).toHaveLength(200);
  });
});

describe('an answer that stops at a cap', () => {
  const CAP = 20;
  const config = (more: object = {}) => ({
    report: { endpoints: { 'campaigns/get': { divisible: 'auto', rowCap: CAP, ...more } } },
  });
  const capped = (perDay: (date: string) => number) => startRawPlatform(rowsPerDay(perDay, CAP));
  const periods = ({ requests }: Pick<RawPlatform, 'requests'>) => requests.map(periodOf);

  it('is asked for again in halves until the halves are whole, and the halves are the answer', async () => {
    const platform = await capped(() => 7);
    const gateway = await gatewayAt(platform, { config: config() });
    const { data, meta } = reportIn(
      await gateway.report(await gateway.addTeam(), byDay('2026-11-01', '2026-11-04')),
    );
    expect(meta.rowCount).toBe(28);
    expect(data.map(({ date, campaignId }) => `${date} ${campaignId}`)).toEqual(
      ['01', '02', '03', '04'].flatMap((day) =>
        [0, 1, 2, 3, 4, 5, 6].map((index) => `2026-11-${day} ${index}`),
      ),
    );
    expect(periods(platform)).toEqual([
      ['2026-11-01', '2026-11-04'],
      ['2026-11-01', '2026-11-02'],
      ['2026-11-03', '2026-11-04'],
    ]);
  });

  it('of an odd number of days leaves no day out and asks for none twice', async () => {
    const platform = await capped(() => 7);
    const gateway = await gatewayAt(platform, { config: config() });
    const key = await gateway.addTeam();
    expect(reportIn(await gateway.report(key, byDay('2026-11-01', '2026-11-05'))).meta.rowCount).toBe(35);
    expect(periods(platform)).toEqual([
      ['2026-11-01', '2026-11-05'],
      ['2026-11-01', '2026-11-03'],
      ['2026-11-01', '2026-11-02'],
      ['2026-11-03', '2026-11-03'],
      ['2026-11-04', '2026-11-05'],
    ]);
  });

  it('is given in halves when a single day is capped, which is asked for anew after five minutes', async () => {
    const platform = await capped((date) => (date === '2026-11-02' ? 25 : 3));
    const gateway = await gatewayAt(platform, { config: config({ divisible: 'always' }) });
    const key = await gateway.addTeam();
    const { meta } = reportIn(await gateway.report(key, byDay('2026-11-01', '2026-11-03')));
    expect(meta.rowCount).toBe(3 + CAP + 3);
    gateway.clock.advance(5 * MINUTE);
    platform.answer(rowsPerDay((date) => (date === '2026-11-02' ? 5 : 3)));
    const alone = reportIn(await gateway.report(key, byDay('2026-11-02', '2026-11-02')));
    expect(alone.meta.rowCount).toBe(5);
  });

  it('is given as it came when its halves hold other rows, though more of them', async () => {
    const platform = await startRawPlatform(
      answering((period) =>
        daysBetween(...period).flatMap((date) =>
          Array.from({ length: period[0] === period[1] ? 8 : 5 }, (_, at) => ({
            date,
            campaign_id: at,
            advertiser_id: 1,
            impressions: period[0] === period[1] ? 2 : 1,
          })),
        ),
      ),
    );
    const gateway = await gatewayAt(platform, {
      config: { report: { endpoints: { 'campaigns/get': { rowCap: 10 } } } },
    });
    const { data } = reportIn(
      await gateway.report(await gateway.addTeam(), byDay('2026-11-01', '2026-11-02')),
    );
    expect(data.map(({ impressions }) => impressions)).toEqual(Array.from({ length: 10 }, () => 1));
    expect(gateway.logText).toContain('its halves have different rows');
  });
});
