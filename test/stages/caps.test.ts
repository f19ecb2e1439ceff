import { describe, expect, it } from 'vitest';
import { createCaps } from '../../src/stages/caps.js';
import { type RawPlatform, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { byDay, periodOf, rowsPerDay } from './by-day.js';

describe('createCaps', () => {
  const rule = (rowCap: number) => ({
    'campaigns/get': {
      readByPost: false,
      divisible: 'auto' as const,
      freshness: 'own' as const,
      ...(rowCap === 0 ? {} : { rowCap }),
    },
  });
  const ask = (caps: ReturnType<typeof createCaps>, range: string, rowCount: number, series = 's') =>
    caps.suspects(series, 'campaigns/get', range, rowCount);

  it('suspects by a configured cap alone: from it on', () => {
    const caps = createCaps(rule(1000));
    expect([999, 1000, 1001].map((count) => ask(caps, 'a', count))).toEqual([false, true, true]);
    // A count seen twice says nothing where the cap is known.
    expect(ask(caps, 'b', 999)).toBe(false);
  });

  it('suspects a count of 500 or more that another range of the series had', () => {
    const caps = createCaps(rule(0));
    expect(ask(caps, 'a', 500)).toBe(false);
    expect(ask(caps, 'a', 500)).toBe(false);
    expect(ask(caps, 'b', 500)).toBe(true);
    expect(ask(caps, 'c', 501)).toBe(false);
    expect(ask(caps, 'b', 500, 'other series')).toBe(false);
  });

  it('does not suspect small counts, however often they come', () => {
    const caps = createCaps(rule(0));
    expect(['a', 'b', 'c'].map((range) => ask(caps, range, 499))).toEqual([false, false, false]);
  });

  it('remembers that a count was a coincidence, for that series and count', () => {
    const caps = createCaps(rule(0));
    for (const series of ['s', 't']) ask(caps, 'a', 700, series);
    caps.clear('s', 700);
    expect(ask(caps, 'b', 700)).toBe(false);
    expect(ask(caps, 'b', 700, 't')).toBe(true);
    ask(caps, 'c', 800);
    expect(ask(caps, 'd', 800)).toBe(true);
  });

  it('goes on suspecting after very many ranges', () => {
    const caps = createCaps(rule(0));
    for (let at = 0; at < 100; at++) ask(caps, `range ${at}`, 1000 + at);
    expect(ask(caps, 'again', 1099)).toBe(true);
  });

  it('is not led astray by an endpoint named like a member of every object', () => {
    expect(createCaps({}).suspects('s', 'constructor', 'a', 10_000)).toBe(false);
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

  it('is given as it came when a single day is capped, and never cut', async () => {
    const platform = await capped((date) => (date === '2026-11-02' ? 25 : 3));
    const gateway = await gatewayAt(platform, { config: config({ divisible: 'always' }) });
    const key = await gateway.addTeam();
    const { meta } = reportIn(await gateway.report(key, byDay('2026-11-01', '2026-11-03')));
    expect(meta.rowCount).toBe(CAP);
    // What is left of the cut-off day was not kept as that day.
    platform.answer(rowsPerDay((date) => (date === '2026-11-02' ? 5 : 3)));
    const alone = reportIn(await gateway.report(key, byDay('2026-11-02', '2026-11-02')));
    expect(alone.meta.rowCount).toBe(5);
  });

  it('that only happens to have as many rows is kept as it came', async () => {
    const platform = await startRawPlatform(rowsPerDay(() => 5));
    const gateway = await gatewayAt(platform, { config: config() });
    const key = await gateway.addTeam();
    expect(reportIn(await gateway.report(key, byDay('2026-11-01', '2026-11-04'))).meta.rowCount).toBe(20);
    expect(platform.requests).toHaveLength(3);
  });

  it('is found out without a setting by two ranges with one count', async () => {
    const limit = 600;
    const platform = await startRawPlatform(rowsPerDay(() => 250, limit));
    const gateway = await gatewayAt(platform, { config: { report: { auditEvery: 0 } } });
    const key = await gateway.addTeam();
    const count = async (from: string, to: string) =>
      reportIn(await gateway.report(key, byDay(from, to))).meta.rowCount;
    // Nothing tells yet that the first is cut off.
    expect(await count('2026-11-01', '2026-11-04')).toBe(limit);
    expect(await count('2026-11-05', '2026-11-08')).toBe(1000);
  });
});
