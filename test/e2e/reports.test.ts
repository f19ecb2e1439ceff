/** Contract, section 2: what a report is, in every format, on declared endpoints and others. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, daysBefore, newTeam, REPORT } from '../support/ask.js';
import { type Report, type ReportRig, startReportRig } from '../support/report-rig.js';

let rig: ReportRig;
beforeAll(async () => {
  rig = await startReportRig();
});
beforeEach(() => rig.reset());

describe('a report as JSON', () => {
  it('has the members of the contract, and the platform’s rows', async () => {
    const answer = await rig.report(`${rig.week}&byDate=1&byCampaign=1&spentBased=local`);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const { data, meta } = answer.json<Report>();
    const rows = await rig.sim.truth(`${rig.week}&byDate=1&byCampaign=1&spentBased=local`);
    expect(rows.length).toBeGreaterThan(7);
    expect(data).toEqual(rows);
    expect(meta).toEqual({
      endpoint: 'campaigns/get',
      advertiserId: 1,
      period: { from: daysBefore(rig.today, 20), to: daysBefore(rig.today, 14) },
      split: ['date', 'campaign'],
      spentBased: 'local',
      rowCount: rows.length,
      asOf: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      final: true,
      stale: false,
      reach: { summable: false },
    });
    expect(Math.abs(Date.now() - Date.parse(meta.asOf))).toBeLessThan(60_000);
  });

  it('says what was left open, and that the numbers of rig.today are not final', async () => {
    const open = (await rig.report('byDate=0')).json<Report>();
    expect(open.meta).toMatchObject({
      advertiserId: null,
      period: null,
      split: [],
      spentBased: null,
      final: false,
      reach: { summable: true },
    });
    expect(open.data).toEqual(await rig.sim.truth(''));
    const now = (await rig.report('advertiserId=1&_period=today')).json<Report>();
    expect(now.meta).toMatchObject({ final: false, period: { from: rig.today, to: rig.today } });
  });

  it.each([
    ['today', 0, 0],
    ['yesterday', 1, 1],
    ['last_7_days', 7, 1],
    ['last_30_days', 30, 1],
  ])('takes _period=%s', async (word, first, last) => {
    const { meta } = (await rig.report(`advertiserId=1&_period=${word}`)).json<Report>();
    expect(meta.period).toEqual({ from: daysBefore(rig.today, first), to: daysBefore(rig.today, last) });
    // The platform is never told the word.
    const [call] = await rig.sim.calls();
    expect(call?.url).toBe(
      `${REPORT}?advertiserId=1&dateFrom=${daysBefore(rig.today, first)}&dateTo=${daysBefore(rig.today, last)}`,
    );
  });

  it('takes the words for months', async () => {
    const month = rig.today.slice(0, 7);
    const toDate = (await rig.report('advertiserId=1&_period=month_to_date')).json<Report>();
    expect(toDate.meta.period).toEqual({ from: `${month}-01`, to: rig.today });
    const last = (await rig.report('advertiserId=1&_period=last_month')).json<Report>();
    const end = daysBefore(`${month}-01`, 1);
    expect(last.meta.period).toEqual({ from: `${end.slice(0, 7)}-01`, to: end });
    const both = await rig.report(`advertiserId=1&_period=rig.today&dateTo=${rig.today}`);
    expect(both.status).toBe(400);
  });

  it('adds true totals and the state of each day when asked', async () => {
    const answer = await rig.report(`${rig.week}&byDate=1&_totals=1&_days=1`);
    const { data, meta } = answer.json<
      Report & { meta: { totals: Record<string, number>; days: object[] } }
    >();
    const [totals] = await rig.sim.truth(rig.week);
    expect(meta.totals).toEqual(totals);
    const sum = data.reduce((all, row) => all + Number(row.reach), 0);
    expect(meta.totals.reach).toBeLessThan(sum);
    expect(meta.days).toEqual(
      Array.from({ length: 7 }, (_, index) => ({
        date: daysBefore(rig.today, 20 - index),
        asOf: expect.any(String),
        final: true,
        stale: false,
      })),
    );
  });
});

describe('other formats', () => {
  it('CSV has a header in first-seen order, CRLF, and the same rows', async () => {
    for (const options of [{ query: '&_format=csv' }, { query: '', headers: { accept: 'text/csv' } }]) {
      const answer = await rig.report(`${rig.week}&byDate=1${options.query}`, {
        headers: options.headers ?? {},
      });
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
      const rows = await rig.sim.truth(`${rig.week}&byDate=1`);
      const names = ['date', 'advertiserId', 'currency', 'impressions', 'clicks', 'spent', 'reach'];
      const lines = rows.map((row) => names.map((name) => row[name]).join(','));
      expect(answer.text).toBe([names.join(','), ...lines, ''].join('\r\n'));
    }
    const marked = await rig.report(`${rig.week}&byDate=1&_format=csv&_bom=1`);
    expect(marked.bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    const future = daysBefore(rig.today, -30);
    const none = await rig.report(`advertiserId=1&byDate=1&dateFrom=${future}&dateTo=${future}&_format=csv`);
    expect([none.status, none.text]).toEqual([200, '']);
  });

  it('NDJSON has a row a line', async () => {
    for (const options of [{ query: '&_format=ndjson' }, { query: '', accept: 'application/x-ndjson' }]) {
      const headers = options.accept === undefined ? {} : { accept: options.accept };
      const answer = await rig.report(`${rig.week}&byDate=1${options.query}`, { headers });
      expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
      expect(answer.text.endsWith('}\n')).toBe(true);
      const rows = answer.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object);
      expect(rows).toEqual(await rig.sim.truth(`${rig.week}&byDate=1`));
    }
  });

  it('raw is the platform’s own status, content type and bytes', async () => {
    const own = (query: string) =>
      ask(`${rig.platform.url}${REPORT}?${query}`, {
        bearer: rig.platform.token,
        headers: { accept: 'application/json' },
      });
    const expected = await own(`${rig.week}&byDate=1`);
    const byFormat = await rig.report(`${rig.week}&byDate=1&_format=raw`);
    const byAccept = await rig.report(`${rig.week}&byDate=1`, {
      headers: { accept: 'application/vnd.dsp.raw' },
    });
    for (const answer of [byFormat, byAccept]) {
      expect(answer.bytes.equals(expected.bytes)).toBe(true);
      expect([answer.status, answer.headers['content-type']]).toEqual([
        200,
        expected.headers['content-type'],
      ]);
    }
    const refused = await rig.report('advertiserId=999999&_period=yesterday&_format=raw');
    const expectedRefusal = await own(`advertiserId=999999`);
    expect([refused.status, refused.text]).toEqual([403, expectedRefusal.text]);
  });

  it('a team whose default is raw moves here by changing address and token alone', async () => {
    const moved = await newTeam(rig.gateway, { id: 'moved', defaultFormat: 'raw' });
    const query = `${rig.week}&byDate=1`;
    const before = await ask(`${rig.platform.url}${REPORT}?${query}`, {
      bearer: rig.platform.token,
      headers: { accept: 'application/json' },
    });
    const after = await ask(`${rig.gateway.data}${REPORT}?${query}`, { bearer: moved.key });
    expect(after.bytes.equals(before.bytes)).toBe(true);
  });

  it('are served from one platform call', async () => {
    for (const format of ['json', 'csv', 'ndjson', 'raw']) await rig.report(`${rig.week}&_format=${format}`);
    expect(await rig.sim.calls()).toHaveLength(1);
  });
});

describe('an endpoint that is not declared', () => {
  it('is a whole entry, fresh for five minutes', async () => {
    const query = `${rig.week}&byDate=1`;
    const first = await ask(`${rig.gateway.data}/api/v1/report/creatives/get?${query}`, { key: rig.key });
    expect(first.json<Report>().data.length).toBeGreaterThan(0);
    const again = await ask(`${rig.gateway.data}/api/v1/report/creatives/get?${query}`, { key: rig.key });
    const ttl = Number(/; hit; ttl=(\d+)/.exec(again.headers['cache-status'] ?? '')?.[1]);
    expect(ttl).toBeLessThanOrEqual(300);
    expect(ttl).toBeGreaterThan(240);
    expect(await rig.sim.calls()).toHaveLength(1);
  });

  it('that answers no JSON is kept and given as it is', async () => {
    const path = `/api/v1/report/export/get?${rig.week}&byDate=1`;
    const own = await ask(rig.platform.url + path, {
      bearer: rig.platform.token,
      headers: { accept: 'application/json' },
    });
    await rig.sim.forget();
    for (const detail of [/fwd=miss; stored$/, /; hit; /]) {
      const answer = await ask(rig.gateway.data + path, { key: rig.key });
      expect(answer.headers['cache-status']).toMatch(detail);
      expect(answer.headers['content-type']).toBe(own.headers['content-type']);
      expect(answer.bytes.equals(own.bytes)).toBe(true);
    }
    expect(await rig.sim.calls()).toHaveLength(1);
  });
});
