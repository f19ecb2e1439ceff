/** Days beyond the platform's retention that no history can give: an answer names them, and is not final. */
import { describe, expect, it } from 'vitest';
import { dayNumber, daysBetween, isoDay } from '../../../src/reports/query/days.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { outcomeOf, type ReportBody, reportIn } from '../../support/start-gateway.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from '../fetch/by-day.js';

/** Noon of it is when the clock begins. */
const TODAY = dayNumber('2026-11-21') as number;
const ago = (days: number) => isoDay(TODAY - days);
const span = (from: number, to: number) => byDay(ago(from), ago(to));
const total = (from: number, to: number) => span(from, to).replace('&byDate=1', '');
const DECLARED = { platform: { retentionDays: 50 } };
const WHOLE = { ...DECLARED, report: { endpoints: { 'campaigns/get': { divisible: 'never' } } } };

interface Settings {
  readonly config?: object;
  /** What it says to a range that begins before its retention. */
  readonly beyond?: 'short' | 400;
  readonly retention?: number;
}

/** A platform that counts 10 a day, and forgets days of a greater age. */
async function scene({ config = {}, beyond = 'short', retention = 50 }: Settings = {}) {
  const state = { retention, beyond };
  const handler: Handler = (request, response) => {
    const [from, to] = periodOf(request);
    const isKept = (date: string) => TODAY - (dayNumber(date) as number) <= state.retention;
    const sum = { advertiser_id: 1, spent: 10 * daysBetween(from, to).filter(isKept).length };
    if (state.beyond === 400 && !isKept(from)) sends('{"message":"too old"}', {}, 400)(request, response);
    else if (!request.url?.includes('byDate')) sends(JSON.stringify({ data: [sum] }))(request, response);
    else rowsPerDay((date) => (isKept(date) ? 1 : 0), undefined, { spent: 10 })(request, response);
  };
  const opened = await openScene(handler, { config: { ...ALWAYS, ...config } });
  const ask = async (query: string) => reportIn(await opened.ask(query));
  return {
    ...opened,
    state,
    call: opened.ask,
    ask,
    async change(to: Partial<typeof state>) {
      opened.gateway.clock.advance(1000);
      Object.assign(state, to);
      await opened.gateway.manage('POST', '/cache/purge', { all: true });
    },
  };
}

/** History has days 54 to 41, the platform forgets those of an age above 50, and the gateway has learned it. */
async function learned(settings: Settings = {}) {
  const opened = await scene({ ...settings, retention: 400, beyond: 'short' });
  await opened.ask(span(54, 41));
  await opened.change({ retention: 50, beyond: settings.beyond ?? 'short' });
  await opened.ask(span(54, 41));
  return opened;
}

const warned = ({ meta }: ReportBody) =>
  (meta.warnings ?? []).map(({ code, days = [], missing = [] }) => [code, days.length, missing.length]);

describe.each<[string, () => ReturnType<typeof scene>]>([
  ['learned', () => learned()],
  ['declared', () => scene({ config: DECLARED })],
])('a report that is not by date, over days beyond a %s retention', (_how, open) => {
  it('names the days that its numbers lack, and is not final', async () => {
    const { ask, count } = await open();
    const { reply, calls } = await count(total(60, 41));
    const report = reportIn(reply);
    expect(report.data).toEqual([{ advertiserId: 1, spent: 100 }]);
    expect(report.meta.final).toBe(false);
    expect(warned(report)).toEqual([['beyond_retention', 10, 10]]);
    expect(report.meta.warnings?.[0]).toMatchObject({ days: daysBetween(ago(60), ago(51)) });
    expect(report.meta.warnings?.[0]?.message).toMatch(
      /^The numbers lack 2026-09-22, .* and others: .*byDate=1/,
    );
    expect([calls, reply.headers['cache-control']]).toEqual([1, 'private, max-age=86400']);
    expect((await ask(`${total(60, 41)}&_days=1`)).meta.days?.filter(({ final }) => final)).toHaveLength(10);
  });

  it('is final and without a warning where all of its days are within', async () => {
    const { ask } = await open();
    const report = await ask(total(50, 41));
    expect([report.meta.final, warned(report)]).toEqual([true, []]);
  });

  it('carries the warning in CSV and in the bytes of the platform', async () => {
    const { call } = await open();
    for (const format of ['csv', 'ndjson', 'raw']) {
      const { headers } = await call(`${total(60, 41)}&_format=${format}`);
      expect([format, headers['report-warnings']]).toEqual([format, 'beyond_retention']);
    }
  });

  it('is refused by _final=require, with the days', async () => {
    const { call, count } = await open();
    for (const expected of [1, 0]) {
      const { reply, calls } = await count(`${total(60, 41)}&_final=require`);
      expect([outcomeOf(reply), calls]).toEqual(['409 not_final', expected]);
      expect(reply.text).toMatch(
        /Never final, because the platform no longer returns their rows: 2026-09-22/,
      );
    }
    expect((await call(`${total(50, 41)}&_final=require`)).status).toBe(200);
  });
});

it('an answer that was cached as final before the retention was learned is not final any more', async () => {
  const { ask, change } = await scene({ retention: 400 });
  await ask(span(54, 41));
  await change({ retention: 50 });
  expect((await ask(total(60, 41))).meta).toMatchObject({ final: true });
  await ask(span(54, 41));
  const report = await ask(total(60, 41));
  expect([report.meta.final, warned(report)]).toEqual([false, [['beyond_retention', 10, 10]]]);
});

it('an answer that lacks days is fetched again once the platform has them', async () => {
  const { state, gateway, ask, call } = await learned();
  await ask(total(60, 41));
  state.retention = 400;
  gateway.clock.advance(DAY + HOUR);
  await call(`${span(60, 41)}&byCampaign=1`);
  await ask(total(60, 41));
  const report = await ask(total(60, 41));
  expect(report.data).toEqual([{ advertiserId: 1, spent: 200 }]);
  expect([report.meta.final, warned(report)]).toEqual([true, []]);
});

describe('days by date that history never saw', () => {
  it.each<[string, () => ReturnType<typeof scene>, number]>([
    ['learned', () => learned(), 4],
    ['declared', () => scene({ config: DECLARED }), 0],
    ['declared, of reports that are cached as a whole', () => scene({ config: WHOLE }), 0],
    ['declared, without a history', () => scene({ config: { ...DECLARED, history: { enabled: false } } }), 0],
  ])('are named beyond a retention that is %s, and not final', async (_how, open, served) => {
    const { count } = await open();
    for (const calls of [1, 0]) {
      const found = await count(span(60, 41));
      const report = reportIn(found.reply);
      expect([found.calls, report.meta.rowCount, report.meta.final]).toEqual([calls, 10 + served, false]);
      expect(warned(report)).toEqual([['beyond_retention', 10, 10 - served]]);
      expect(report.meta.warnings?.[0]).toMatchObject({ missing: daysBetween(ago(60), ago(51 + served)) });
      expect(report.meta.warnings?.[0]?.message).toMatch(
        /Rows of 2026-09-22, .* are missing: .*Do not take them for 0/,
      );
      expect(report.meta.source).toBe(served === 0 ? undefined : 'history');
    }
  });

  it('are left out by _final=only', async () => {
    const { ask } = await learned();
    expect((await ask(`${span(60, 41)}&_final=only`)).meta).toMatchObject({ final: true, rowCount: 14 });
  });

  it('stay missing at the next look, and are not in the history as empty', async () => {
    const { ask, call, gateway, key } = await scene({ config: DECLARED });
    for (let look = 0; look < 3; look += 1) {
      expect(warned(await ask(span(60, 41)))).toEqual([['beyond_retention', 10, 10]]);
      gateway.clock.advance(DAY + HOUR);
    }
    const asked = `endpoint=campaigns/get&query=${encodeURIComponent(span(60, 60))}`;
    const { data } = (await gateway.call(`/gateway/v1/revisions?${asked}`, { key })).json<{
      data: { revisions: unknown[] }[];
    }>();
    expect(data.flatMap(({ revisions }) => revisions)).toEqual([]);
    expect(
      outcomeOf(await call(`${span(60, 60)}&_asOf=${new Date(gateway.clock.now()).toISOString()}`)),
    ).toBe('404 not_known_then');
  });

  it('are empty where they were seen empty while the platform still had them', async () => {
    const { ask, gateway, change } = await scene({
      config: { platform: { retentionDays: 70 } },
      retention: 40,
    });
    for (let look = 0; look < 2; look += 1) {
      expect(warned(await ask(span(60, 58)))).toEqual([]);
      gateway.clock.advance(2 * HOUR);
    }
    gateway.clock.advance(20 * DAY);
    await change({});
    expect(warned(await ask(span(60, 58)))).toEqual([]);
  });
});

describe('totals over days that the platform has forgotten', () => {
  it('are left out with a warning where the platform refuses them, and the rows are from history', async () => {
    const { ask } = await learned({ beyond: 400 });
    const { data, meta } = await ask(`${span(54, 41)}&_totals=1`);
    expect([data.length, meta.final]).toEqual([14, true]);
    expect(meta).not.toHaveProperty('totals');
    expect(meta.warnings?.map(({ code }) => code)).toEqual(['totals_unavailable', 'beyond_retention']);
    expect(meta.warnings?.[0]?.message).toContain('was refused by the platform with status 400');
    expect((await ask(`${span(54, 41)}&_totals=1&_final=require`)).data).toHaveLength(14);
  });

  it('are left out where the rows were cached before, and the platform refuses or cuts them', async () => {
    for (const beyond of [400, 'short'] as const) {
      const { ask, state } = await scene({ config: DECLARED, retention: 400 });
      await ask(span(54, 41));
      Object.assign(state, { retention: 50, beyond });
      const { data, meta } = await ask(`${span(54, 41)}&_totals=1`);
      expect(data).toHaveLength(14);
      expect(meta).not.toHaveProperty('totals');
      expect(meta.warnings?.map(({ code }) => code)).toContain('totals_unavailable');
    }
  });

  it('are refused as before where the platform refuses them for another reason', async () => {
    const { call, state } = await scene();
    await call(span(20, 10));
    Object.assign(state, { retention: -1, beyond: 400 });
    expect(outcomeOf(await call(`${span(20, 10)}&_totals=1`))).toBe('400 upstream_rejected');
  });
});
