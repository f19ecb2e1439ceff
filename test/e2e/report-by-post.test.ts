/** Contract, section 2: a report asked for by POST, where that is a read and where it is not. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, ask, daysBefore, newTeam, REPORT } from '../support/ask.js';
import { type Report, type ReportRig, startReportRig } from '../support/report-rig.js';

let rig: ReportRig;
beforeAll(async () => {
  rig = await startReportRig();
});
beforeEach(() => rig.reset());

describe('a report by POST', () => {
  const post = (json: unknown, query = '', at = REPORT): Promise<Answer> =>
    ask(`${rig.gateway.data}${at}${query}`, { method: 'POST', key: rig.key, json });

  it('is a read where it is declared so: cached, and sent as canonical JSON', async () => {
    const [dateFrom, dateTo] = [daysBefore(rig.today, 20), daysBefore(rig.today, 14)];
    const first = await post({
      dateTo,
      dateFrom,
      advertiserId: '1',
      byDate: true,
      campaignIds: [102, 101, 102],
    });
    expect(first.status).toBe(200);
    expect(first.headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
    const query = `advertiserId=1&dateFrom=${dateFrom}&dateTo=${dateTo}&byDate=1&campaignIds[]=101&campaignIds[]=102`;
    expect(first.json<Report>().data).toEqual(await rig.sim.truth(query));
    const again = await post(
      { advertiserId: 1, byCampaign: false, campaignIds: ['101', 102], byDate: 1, dateFrom, dateTo },
      '?_format=json',
    );
    expect(again.headers['cache-status']).toMatch(/; hit; /);
    expect(again.text).toBe(first.text);
    const [call, ...others] = await rig.sim.calls();
    expect(others).toEqual([]);
    expect(call).toMatchObject({ method: 'POST', url: REPORT });
    expect(call?.headers['content-type']).toBe('application/json');
    expect(JSON.parse(call?.body ?? '')).toEqual({
      advertiserId: 1,
      byDate: true,
      campaignIds: [101, 102],
      dateFrom,
      dateTo,
    });
  });

  it('may be split between query and body, but not doubled', async () => {
    const both = await post({ dateFrom: rig.today, dateTo: rig.today }, '?advertiserId=1');
    expect(both.status).toBe(200);
    const [call] = await rig.sim.calls();
    expect(call?.url).toBe(`${REPORT}?advertiserId=1`);
    expect(JSON.parse(call?.body ?? '')).toEqual({ dateFrom: rig.today, dateTo: rig.today });
    const doubled = await post({ advertiserId: 1 }, '?advertiserId=1');
    expect(doubled.json()).toMatchObject({ code: 'invalid_query', status: 400 });
  });

  it('shows every account it names to the policy', async () => {
    const one = await newTeam(rig.gateway, { id: 'post-one', advertisers: [1] });
    const bodies = [
      { advertiserId: 2 },
      { advertiserId: 1, filter: { advertiserId: 2 } },
      { advertiserId: 1, advertiser: { id: 2 } },
      { advertiserId: 1, userIds: [1, 2] },
      { advertiserId: [1, 2] },
      { byDate: true },
    ];
    for (const json of bodies) {
      const answer = await ask(rig.gateway.data + REPORT, { method: 'POST', key: one.key, json });
      expect([json, answer.status]).toEqual([json, expect.toBeOneOf([400, 403])]);
    }
    expect(await rig.sim.calls()).toEqual([]);
  });

  it('is a write elsewhere: passed through each time, and needs the scope', async () => {
    const path = '/api/v1/report/creatives/get';
    for (const _ of [1, 2]) {
      const answer = await post({ advertiserId: 1 }, '', path);
      expect(answer.status).toBe(405);
      expect(answer.headers['cache-status']).toBe('dsp-gateway; fwd=bypass');
    }
    expect((await rig.sim.calls()).map(({ method }) => method)).toEqual(['POST', 'POST']);
    const reader = await newTeam(rig.gateway, {
      id: 'post-reader',
      scopes: ['report:read', 'platform:read'],
    });
    const refused = await ask(rig.gateway.data + path, { method: 'POST', key: reader.key, json: {} });
    expect(refused.json()).toMatchObject({ code: 'scope_missing' });
  });
});
