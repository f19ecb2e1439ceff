/** A limited team could name an account in words that nobody looked at. */
import { describe, expect, it } from 'vitest';
import { outcomeOf, withGateway } from '../support/start-gateway.js';

const REPORT = '/api/v1/report/campaigns/get';
const QUERY = 'advertiserId=1&_period=yesterday';
const CREATE = '/api/v1/campaign/create';

describe('a team that is limited to advertisers', () => {
  it.each([
    'advertiser=2',
    'advertisers[]=2',
    'client=2',
    'sub_account_id=2',
    'subAccountIds[]=2',
    'agencyCode=2',
    'filter=advertiserId:2',
    'where=advertiser_id%20eq%202',
    'q=%7B%22user.id%22:2%7D',
    'x=advertiserId%253D2',
    'filter=advertiser:2',
    'filter=%7B%22client%22:2%7D',
    'filter=%7B%22%5Cu0061dvertiserId%22:2%7D',
    'filter=%25252561dvertiserId:2',
    'filterField=advertiser',
    'byAdvertiser=2',
    'acct=2',
    'advId=2',
    'uid=2',
    'company=2',
    'filter=advertiser,eq,2',
    'filter=eq(advertiser,2)',
    'where=client%20between%201%20and%203',
    'filter=advertiser/2',
    'filter=2%20in%20users',
    'q=advertiser(id:2)',
    'query=%7Badvertisers%7Bid(2)%7D%7D',
    'q=advertiser;in;2',
    'x=advertiser.in(2)',
  ])('may not ask for a report by %s, while another may', async (extra) => {
    const gateway = await withGateway();
    const limited = await gateway.addTeam({ advertisers: [1] });
    const refused = await gateway.report(limited, `${QUERY}&${extra}`);
    expect(outcomeOf(refused)).toBe('403 advertiser_forbidden');
    expect(refused.json<{ detail: string }>().detail).toContain(extra.split(/[=[]/)[0] as string);
    expect(gateway.simulator.callCount).toBe(0);
    expect((await gateway.report(await gateway.addTeam(), `${QUERY}&${extra}`)).status).toBe(200);
  });

  it.each([
    'userId=1',
    'accountId=1',
    'byAdvertiser=1',
    'search=brand',
    'campaignIds[]=7',
    'orderBy=advertiserId',
    'sort=-userId,spent',
    'columns=advertiserId,impressions',
    'advanced=1',
    'filter=advertiser,eq,1',
    'filter=clientType,eq,2',
    'filter=user_agent,eq,2',
    'filter=campaign,eq,7',
    'q=client%20report%20(2)',
  ])('may ask by %s as before', async (extra) => {
    const gateway = await withGateway();
    const limited = await gateway.addTeam({ advertisers: [1] });
    expect((await gateway.report(limited, `${QUERY}&${extra}`)).status).toBe(200);
  });

  it.each([
    { client: 2 },
    { filter: 'advertiserId=2' },
    { filter: { client: 2 } },
    { filters: [{ field: 'advertiser_id', value: 2 }] },
    { filters: [{ field: 'advertiser', value: 2 }] },
    { dimensionFilter: 'advertiserId=2' },
    { advertisers: [{ id: 1 }, 2] },
    { advertisers: [{ id: 1 }, { name: 'Other' }] },
  ])('may not send the body %j, to a report or to what is passed through', async (extra) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    const post = (path: string, json: object) => gateway.call(path, { method: 'POST', key, json });
    expect(outcomeOf(await post(`${REPORT}?_period=yesterday`, { advertiserId: 1, ...extra }))).toBe(
      '403 advertiser_forbidden',
    );
    expect(outcomeOf(await post(CREATE, { userId: 1, ...extra }))).toBe('403 advertiser_forbidden');
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('may not hide an account in a known parameter that takes any text', async () => {
    const gateway = await withGateway();
    const refused = await gateway.report(
      await gateway.addTeam({ advertisers: [1] }),
      `${QUERY}&spentBased=advertiserId:2`,
    );
    expect(outcomeOf(refused)).toBe('403 advertiser_forbidden');
  });

  it('may not ask for a report whose path names another account', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    const ask = (path: string) => gateway.call(`/api/v1/report/${path}?${QUERY}`, { key });
    for (const path of ['advertiser/2/stats', 'sub-accounts/2', 'user-2/stats', 'clients/acme2', 'adv/2'])
      expect(outcomeOf(await ask(path)), path).toBe('403 advertiser_forbidden');
    expect(gateway.simulator.callCount).toBe(0);
    for (const path of ['advertiser/1/stats', 'user/stats', 'advertisers/top-ten'])
      expect((await ask(path)).status, path).not.toBe(403);
  });

  it('may have an address clicked that speaks of users', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
    const json = { userId: 1, clickUrl: 'https://shop.example/?user_id=%7BuserId%7D' };
    const { status } = await gateway.call(CREATE, { method: 'POST', key, json });
    expect(status).not.toBe(403);
  });

  it('may send what the operator lists', async () => {
    const gateway = await withGateway({
      config: { report: { nonAccountParameters: ['clientTimezone', 'filter'] } },
    });
    const key = await gateway.addTeam({ advertisers: [1] });
    for (const extra of ['clientTimezone=UTC', 'filter=user_id'])
      expect((await gateway.report(key, `${QUERY}&${extra}`)).status).toBe(200);
    expect((await gateway.report(key, `${QUERY}&clientName=x`)).status).toBe(403);
  });
});
