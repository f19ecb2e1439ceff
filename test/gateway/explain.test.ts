/** `GET /gateway/v1/explain`: what an answer would cost, told to a team of what it may ask for. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { outcomeOf, type TestGateway, withGateway } from '../support/start-gateway.js';

const WEEK = 'advertiserId=1&byDate=1&dateFrom=2026-11-08&dateTo=2026-11-14';
const about = (query: string, endpoint = 'campaigns/get') =>
  `/gateway/v1/explain?endpoint=${encodeURIComponent(endpoint)}&query=${encodeURIComponent(query)}`;

interface Explained {
  readonly days: readonly { readonly date: string; readonly state: string }[] | null;
  readonly inWords: { readonly kept: string; readonly price: string };
  readonly price: { readonly calls: number; readonly behind: number };
  readonly policy: object;
}

async function explained(gateway: TestGateway, key: string, query: string) {
  const reply = await gateway.call(about(query), { key });
  expect(outcomeOf(reply)).toBe('200');
  expect(reply.headers['cache-control']).toBe('private, no-store');
  return reply.json<Explained>();
}

describe('a team that asks what an answer would cost', () => {
  it('is told its days, why, and the price, and the platform is not asked', async () => {
    const gateway = await withGateway({
      config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
    });
    const key = await gateway.addTeam();
    await gateway.report(key, WEEK.replace('11-14', '11-12'));
    await gateway.services.settled();
    const before = gateway.simulator.calls.length;
    const told = await explained(gateway, key, WEEK);
    expect(gateway.simulator.calls.length).toBe(before);
    expect(told.days?.map(({ state }) => state)).toEqual([...Array(5).fill('final'), 'missing', 'missing']);
    expect(told.price).toEqual({ calls: 1, behind: 0 });
    expect(told.inWords.kept).toMatch(/^Answered by day: pinned by configuration\. /);
    expect(told.inWords.price).toBe('Answering it now makes 1 platform call (2026-11-13 to 2026-11-14).');
    await gateway.report(key, WEEK);
    await gateway.services.settled();
    expect(gateway.simulator.calls.length).toBe(before + told.price.calls);
    const again = await explained(gateway, key, WEEK);
    expect(again.inWords.price).toBe('Answering it now makes no platform call.');
    expect(again.price).toEqual({ calls: 0, behind: 0 });
  });

  it('is told nothing of what was learned from questions of others, nor keys of the cache', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    await prove(gateway, key);
    const text = JSON.stringify(await explained(gateway, key, WEEK));
    for (const member of ['divisibility', 'agreements', '"series"', '"key"', 'generation'])
      expect(text).not.toContain(member);
    expect(text).not.toContain(gateway.simulator.token);
  });

  it('about the past is told that history answers, which costs no call', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const told = await explained(gateway, key, `${WEEK}&_asOf=2026-11-20T00:00:00Z`);
    expect(told.price).toEqual({ calls: 0, behind: 0 });
    expect(told.inWords.kept).toContain('history');
  });

  it('is refused as for the report itself', async () => {
    const gateway = await withGateway();
    const limited = await gateway.addTeam({ id: 'limited', advertisers: [1] });
    const noScope = await gateway.addTeam({ id: 'no-scope', scopes: ['platform:read'] });
    const outcome = async (query: string, key?: string) =>
      outcomeOf(await gateway.call(about(query), key === undefined ? {} : { key }));
    expect(await outcome(WEEK)).toBe('401 missing_api_key');
    expect(await outcome(WEEK, noScope)).toBe('403 scope_missing');
    expect(await outcome(WEEK.replace('advertiserId=1', 'advertiserId=2'), limited)).toBe(
      '403 advertiser_forbidden',
    );
    expect(await outcome('byDate=1', limited)).toBe('403 advertiser_required');
    expect(await outcome('advertiserId=x', limited)).toBe('400 invalid_query');
    expect(await outcome(WEEK, limited)).toBe('200');
    expect(outcomeOf(await gateway.call('/gateway/v1/explain?url=/x', { key: limited }))).toBe(
      '400 invalid_query',
    );
  });

  it('is told nothing of an entry that holds an account it may not see', async () => {
    const gateway = await withGateway();
    const [all, limited] = [
      await gateway.addTeam(),
      await gateway.addTeam({ id: 'limited', advertisers: [1] }),
    ];
    gateway.simulator.set({ foreignRows: true });
    await gateway.report(all, WEEK.replace('byDate', 'byCampaign'));
    await gateway.services.settled();
    const reply = await gateway.call(about(WEEK.replace('byDate', 'byCampaign')), { key: limited });
    expect(outcomeOf(reply)).toBe('502 upstream_invalid_response');
    expect(outcomeOf(await gateway.call(about(WEEK.replace('byDate', 'byCampaign')), { key: all }))).toBe(
      '200',
    );
  });
});
