/** A limited team could name another advertiser beside its own: in one object, by a dimension and ids, or by `ids`. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, REPORT, withGateway } from '../support/start-gateway.js';

const WHOLE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-15';
const BY_DAY = `${WHOLE}&byDate=1`;
const PATHS = { create: '/api/v1/campaign/create', get: '/api/v1/campaign/get' };

/** Member of the body that gives it away → the body. */
const FOREIGN_BODIES: readonly (readonly [string, object])[] = [
  ['advertisers', { advertisers: { id: 1, include: [2] } }],
  ['advertisers', { advertisers: { id: 1, include: '1,2' } }],
  ['advertisers', { advertisers: [{ id: 1 }, { id: 1, also: { no: 2 } }] }],
  ['subAccount', { subAccount: { id: 1, of: { number: '2' } } }],
  ['account', { account: { id: 1, Linked_IDs: [2] } }],
  ['x', { x: { clients: { id: 1, more: [2] } } }],
  ['group', { group: { by: 'advertiser', ids: [2] } }],
  ['group', { group: { by: 'advertiser', which: [2] } }],
  ['group', { group: { dimensions: ['campaign', 'advertiser_id'], values: ['2'] } }],
  ['a', { a: [{ b: { groupBy: 'Sub-Accounts', in: '1,2' } }] }],
];
/** The same, read on reports and on what asks, and not on what is to be written. */
const FOREIGN_QUESTIONS: readonly (readonly [string, object])[] = [
  ['ask', { ask: { on: 'client', value: 2 } }],
  ['filter', { filter: '{"by":"advertiser","ids":[2]}' }],
];

describe('a team that is limited to advertisers, beside its own id', () => {
  it.each([...FOREIGN_BODIES, ...FOREIGN_QUESTIONS])(
    'may name no other in a body: %s of %j',
    async (name, extra) => {
      const gateway = await withGateway();
      const key = await gateway.addTeam({ advertisers: [1] });
      const post = (path: string, json: object) => gateway.call(path, { method: 'POST', key, json });
      for (const query of ['dateFrom=2026-11-01&dateTo=2026-11-15', '_period=yesterday&byDate=1']) {
        const reply = await post(`${REPORT}?${query}`, { advertiserId: 1, ...extra });
        expect(outcomeOf(reply)).toBe('403 advertiser_forbidden');
        expect(reply.json<Problem>().detail).toContain(name);
      }
      const asked = await post(PATHS.get, { userId: 1, ...extra });
      expect(outcomeOf(asked)).toBe('403 advertiser_forbidden');
      expect(gateway.simulator.callCount).toBe(0);
    },
  );

  it.each(FOREIGN_BODIES)('may write for no other: %s of %j', async (name, extra) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    const reply = await gateway.call(PATHS.create, { method: 'POST', key, json: { userId: 1, ...extra } });
    expect(outcomeOf(reply)).toBe('403 advertiser_forbidden');
    expect(reply.json<Problem>().detail).toContain(name);
    expect(gateway.simulator.callCount).toBe(0);
  });

  it.each([
    'aid=2',
    'aids[]=1',
    'ids=2',
    'ids[]=2',
    'ids=1,2',
    'id=2',
    'id=acme',
    'entity_ids[]=2',
    'includeIds=2',
    'id_in=2',
    'by=advertiser&values=2',
    'dimension=sub_account&in=1,2',
    'dimensions=campaign,advertiserId&value[]=2',
  ])('may ask for no other by %s, cached or not, while another team may', async (extra) => {
    const gateway = await withGateway();
    const [limited, all] = [await gateway.addTeam({ advertisers: [1] }), await gateway.addTeam()];
    for (const query of [WHOLE, BY_DAY]) {
      for (const key of [limited, all, limited]) {
        const before = gateway.simulator.callCount;
        const reply = await gateway.report(key, `${query}&${extra}`);
        if (key === all) expect(reply.status).toBe(200);
        else {
          expect(outcomeOf(reply)).toBe('403 advertiser_forbidden');
          expect(reply.json<Problem>().detail).toMatch(/ids?|aids?|values?|in\b/);
          expect(gateway.simulator.callCount).toBe(before);
        }
      }
    }
  });

  it.each([
    'group[by]=advertiser&group[ids][]=2',
    'group[by][]=advertiser&group[which][0]=2',
    'by=advertiser&ids[]=2',
    'advertisers[id]=1&advertisers[include]=2',
    'advertiserIds[2]=1',
    'aid=2',
  ])('may pass through no query that names another by %s', async (query) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    const reply = await gateway.call(`${PATHS.get}?${query}`, { method: 'POST', key, json: { userId: 1 } });
    expect(outcomeOf(reply)).toBe('403 advertiser_forbidden');
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('may pass through no ids where the path says that they are accounts’', async () => {
    const platform = await startRawPlatform(sends('{}'));
    const routes = ['advertiser/get', 'campaign/get'].map((path) => ({
      ...{ method: 'GET', path: `/api/v1/${path}`, account: ['query.advertiserId'] },
    }));
    const gateway = await gatewayAt(platform, { config: { routes } });
    const key = await gateway.addTeam({ advertisers: [1] });
    const ask = (rest: string) => gateway.call(`/api/v1/${rest}`, { key });
    expect(outcomeOf(await ask('advertiser/get?advertiserId=1&ids[]=2'))).toBe('403 advertiser_forbidden');
    expect(platform.requests.length).toBe(0);
    for (const rest of ['advertiser/get?advertiserId=1&ids[]=1', 'campaign/get?advertiserId=1&ids[]=7&id=8'])
      expect((await ask(rest)).status, rest).toBe(200);
  });

  it.each([
    'ids=1',
    'ids[]=1',
    'campaignIds[]=7',
    'campaign_id=7',
    'creativeId=8',
    'dimension=advertiser&limit=10',
    'dimension=advertiser&orderBy=advertiserId&page=2&per_page=500',
    'spentBased=advertiser',
    'byAdvertiser=1',
    'advanced=5',
    'paid=1&bid=2&valid=3',
  ])('may ask by %s as before', async (extra) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    for (const query of [WHOLE, BY_DAY])
      expect(['200', '422 upstream_rejected']).toContain(
        outcomeOf(await gateway.report(key, `${query}&${extra}`)),
      );
  });

  it.each<object>([
    { advertisers: { id: 1, include: [1], name: 'Acme', active: true } },
    { advertisers: [{ id: 1 }, { id: '1' }] },
    { group: { by: 'advertiser', ids: [1], limit: 10, campaignIds: [7] } },
    { group: { by: 'campaign', campaignIds: [7] }, campaigns: { ids: [8] }, campaign: { id: 9 } },
    { sort: 'advertiserId', name: 'client', budget: { daily: 10, total: 100 }, creativeSetIds: [5] },
  ])('may send the body %j, to a report and to what is passed through', async (extra) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    const post = (path: string, json: object) => gateway.call(path, { method: 'POST', key, json });
    for (const path of Object.values(PATHS))
      expect((await post(path, { userId: 1, ...extra })).status, path).not.toBe(403);
    expect(outcomeOf(await post(`${REPORT}?_period=yesterday`, { advertiserId: 1, ...extra }))).toBe('200');
  });

  it('may send `ids` where the operator says that they are no account’s', async () => {
    const gateway = await withGateway({ config: { report: { nonAccountParameters: ['ids'] } } });
    const key = await gateway.addTeam({ advertisers: [1] });
    for (const extra of ['ids=7', 'ids[]=7'])
      expect(outcomeOf(await gateway.report(key, `${WHOLE}&${extra}`))).toBe('200');
  });

  it('has its questions explained to the operator as before', async () => {
    const gateway = await withGateway();
    const query = encodeURIComponent(`${WHOLE}&ids=2`);
    const explained = await gateway.manage('GET', `/cache/explain?endpoint=campaigns/get&query=${query}`);
    expect(explained).toMatchObject({ policy: {} });
  });
});
