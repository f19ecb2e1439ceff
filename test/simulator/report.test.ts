import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TruthQuery } from '../../src/simulator/simulator-api.js';
import type { TruthRow } from '../../src/simulator/truth.js';
import { createStandingClock, DAY, NOON } from '../support/test-clock.js';
import { call, encodeForm, REPORT, type Row, rowsOf, start } from './support.js';

const NOVEMBER = 'dateFrom=2026-11-01&dateTo=2026-11-07';

describe('the campaign report', () => {
  it('by date and campaign has the likely members in the likely spelling', async () => {
    const simulator = await start();
    const rows = await rowsOf(simulator, `?advertiserId=1&byDate=1&byCampaign=1&${NOVEMBER}`);
    expect(Object.keys(rows[0] ?? {})).toEqual([
      'date',
      'campaign_id',
      'campaign_name',
      'advertiser_id',
      'currency',
      'impressions',
      'clicks',
      'spent',
      'reach',
    ]);
    expect(rows[0]).toMatchObject({
      date: '2026-11-01',
      campaign_id: 101,
      advertiser_id: 1,
      currency: 'USD',
    });
    expect(rows[0]?.spent).toMatch(/^\d+\.\d{4}$/);
  });

  it.each([
    ['', []],
    ['&byDate=1', ['date']],
    ['&byDate=true&byCampaign=0', ['date']],
    ['&byDate=0&byCampaign=1', ['campaign_id', 'campaign_name']],
    ['&byDate=&byCampaign=false', []],
    ['&byDate=junk', []],
  ])('with %j is split by %j', async (flags, members) => {
    const simulator = await start();
    const [row] = await rowsOf(simulator, `?advertiserId=1&${NOVEMBER}${flags}`);
    const split = Object.keys(row ?? {}).slice(0, members.length + 1);
    expect(split).toEqual([...members, 'advertiser_id']);
  });

  it('unsplit is one row whose reach is less than the sum of the days’', async () => {
    const simulator = await start();
    const whole = await rowsOf(simulator, `?advertiserId=1&${NOVEMBER}`);
    const days = await rowsOf(simulator, `?advertiserId=1&byDate=1&${NOVEMBER}`);
    expect(whole).toHaveLength(1);
    expect(days).toHaveLength(7);
    expect(Number(whole[0]?.reach)).toBeLessThan(days.reduce((sum, { reach }) => sum + Number(reach), 0));
  });

  it('by POST takes the same parameters as JSON', async () => {
    const simulator = await start();
    const json = {
      campaignIds: [101, 103],
      dateFrom: '2026-11-01',
      dateTo: '2026-11-07',
      byDate: true,
      byCampaign: false,
    };
    const posted = await rowsOf(simulator, '', { method: 'POST', json });
    const got = await rowsOf(simulator, `?campaignIds[]=101&campaignIds[]=103&byDate=1&${NOVEMBER}`);
    expect(posted).toEqual(got);
    expect(posted).toHaveLength(7);
  });

  it('covers all children of the account when no advertiser is named', async () => {
    const simulator = await start();
    const rows = await rowsOf(simulator, `?${NOVEMBER}`);
    expect(rows.map((row) => row.advertiser_id)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  });

  it('without dates covers the last seven days, today included', async () => {
    const simulator = await start();
    const dates = (rows: Row[]) => rows.map(({ date }) => date);
    expect(dates(await rowsOf(simulator, '?advertiserId=1&byDate=1'))).toEqual([
      '2026-11-15',
      '2026-11-16',
      '2026-11-17',
      '2026-11-18',
      '2026-11-19',
      '2026-11-20',
      '2026-11-21',
    ]);
    expect(dates(await rowsOf(simulator, '?advertiserId=1&byDate=1&dateFrom=2026-11-20'))).toHaveLength(2);
    expect(dates(await rowsOf(simulator, '?advertiserId=1&byDate=1&dateTo=2026-11-10'))[0]).toBe(
      '2026-11-04',
    );
  });

  it.each([
    ['advertiserId=abc', 'advertiserId'],
    ['advertiserId=1,2', 'advertiserId'],
    ['advertiserId=1.0', 'advertiserId'],
    ['campaignIds=101', 'campaignIds'],
    ['campaignIds[]=x', 'campaignIds'],
    ['spentBased=eur', 'spentBased'],
    ['dateFrom=2026-02-30', 'dateFrom'],
    ['dateTo=01.11.2026', 'dateTo'],
    ['dateFrom=2026-11-02&dateTo=2026-11-01', 'dateTo'],
  ])('refuses %s, naming %s', async (query, field) => {
    const simulator = await start();
    const reply = await call(simulator, `${REPORT}?${query}`);
    expect(reply.status).toBe(422);
    const { message, errors } = reply.json<{ message: string; errors: Record<string, string[]> }>();
    expect(Object.keys(errors)).toEqual([field]);
    expect(message).toBe(errors[field]?.[0]);
  });

  it('counts the errors it does not spell out', async () => {
    const simulator = await start();
    const reply = await call(simulator, `${REPORT}?advertiserId=x&dateFrom=y`);
    expect(reply.json()).toMatchObject({ message: expect.stringMatching(/ \(and 1 more errors\)$/) });
  });

  it('answers HEAD like GET, without the body', async () => {
    const simulator = await start();
    const got = await call(simulator, `${REPORT}?advertiserId=1`);
    const head = await call(simulator, `${REPORT}?advertiserId=1`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(head.headers['content-length']).toBe(got.headers['content-length']);
  });

  it('refuses other methods and unknown paths', async () => {
    const simulator = await start();
    const reply = await call(simulator, REPORT, { method: 'DELETE' });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe('GET, HEAD, POST');
    expect((await call(simulator, '/api/v1/report/nothing/get')).status).toBe(404);
    expect((await call(simulator, '/api/v1/report/nothing/get')).json()).toHaveProperty('message');
  });

  it('bears the framework’s headers', async () => {
    const simulator = await start();
    const { headers } = await call(simulator, `${REPORT}?advertiserId=1`);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-cache, private',
      server: 'nginx',
      'set-cookie': expect.stringMatching(/^laravel_session=\w+; path=\/; httponly; samesite=lax$/),
    });
  });
});

describe('the undocumented reports', () => {
  it('by creative has no reach', async () => {
    const simulator = await start();
    const reply = await call(simulator, `/api/v1/report/creatives/get?advertiserId=1&byDate=1&${NOVEMBER}`);
    const [row] = reply.json<{ data: Row[] }>().data;
    expect(row).toMatchObject({ date: '2026-11-01', creative_id: 1011, campaign_id: 101, advertiser_id: 1 });
    expect(row).not.toHaveProperty('reach');
  });

  it('as an export is CSV with the same rows', async () => {
    const simulator = await start();
    const query = `?advertiserId=1&byCampaign=1&${NOVEMBER}`;
    const { headers, text } = await call(simulator, `/api/v1/report/export/get${query}`);
    const rows = await rowsOf(simulator, query);
    const lines = text.split('\r\n');
    expect(headers['content-type']).toBe('text/csv; charset=UTF-8');
    expect(lines[0]).toBe(Object.keys(rows[0] ?? {}).join(','));
    expect(lines).toHaveLength(rows.length + 2);
    expect(lines.at(-1)).toBe('');
    expect(lines[1]).toBe(Object.values(rows[0] ?? {}).join(','));
    const all = await call(
      simulator,
      '/api/v1/report/export/get?advertiserId=1&byCampaign=1&dateFrom=2024-01-01&dateTo=2026-11-21',
    );
    expect(all.text).toContain(',"Spring Sale, ""Early Bird""",');
  });

  it('as an export of nothing is its header line', async () => {
    const simulator = await start();
    const path = '/api/v1/report/export/get?advertiserId=1&byDate=1&dateFrom=2020-01-01&dateTo=2020-01-02';
    expect((await call(simulator, path)).text).toBe(
      'date,advertiser_id,currency,impressions,clicks,spent,reach\r\n',
    );
  });
});

describe('the truth', () => {
  it('is what the HTTP answers are made from, for every question at every time', async () => {
    const clock = createStandingClock();
    const simulator = await start({ clock, seed: 5 });
    simulator.restate({ advertiserId: 3, from: '2026-11-10', to: '2026-11-12' });
    const questions = fc.record({
      advertiserId: fc.integer({ min: 1, max: 40 }),
      from: fc.integer({ min: 0, max: 40 }),
      length: fc.integer({ min: 0, max: 40 }),
      byDate: fc.boolean(),
      byCampaign: fc.boolean(),
      spentBased: fc.constantFrom('usd' as const, 'local' as const),
      later: fc.integer({ min: 0, max: 10 * DAY }),
    });
    await fc.assert(
      fc.asyncProperty(questions, async ({ from, length, later, ...rest }) => {
        clock.moveTo(later);
        const day = (days: number) => new Date(NOON - days * DAY).toISOString().slice(0, 10);
        const query: TruthQuery = { ...rest, dateFrom: day(from + length), dateTo: day(from) };
        const shown = await rowsOf(simulator, `?${encodeForm(query)}`);
        expect(shown).toEqual(simulator.truth(query).map(asShown));
      }),
      { numRuns: 60 },
    );
  });

  it('of an earlier time is what was known then', async () => {
    const clock = createStandingClock();
    const simulator = await start({ clock });
    const query: TruthQuery = { advertiserId: 1, byDate: true, dateFrom: '2026-11-01', dateTo: '2026-11-21' };
    const then = simulator.truth(query);
    clock.pass(3_600_000);
    simulator.restate({});
    expect(simulator.truth(query)).not.toEqual(then);
    expect(simulator.truth(query, NOON)).toEqual(then);
  });

  it('ignores outages, caps and spelling', async () => {
    const simulator = await start();
    const query: TruthQuery = { advertiserId: 1, byDate: true, dateFrom: '2026-11-01', dateTo: '2026-11-07' };
    const truth = simulator.truth(query);
    simulator.set({ emptyDays: ['2026-11-03'], rowCap: 2, names: 'camel', ids: 'strings', shape: 'paged' });
    expect(simulator.truth(query)).toEqual(truth);
  });

  it('refuses what the platform would refuse', async () => {
    const simulator = await start();
    expect(() => simulator.truth({ dateFrom: '2026-02-30' })).toThrow(/dateFrom/);
  });
});

function asShown({ campaignId, campaignName, advertiserId, spent, date, ...rest }: TruthRow): Row {
  return {
    ...(date === undefined ? {} : { date }),
    ...(campaignId === undefined ? {} : { campaign_id: campaignId, campaign_name: campaignName }),
    advertiser_id: advertiserId,
    ...rest,
    spent: Number(spent).toFixed(4),
  };
}
