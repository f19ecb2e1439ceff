/** `GET /gateway/v1/explain`: what an answer would cost, told to a team of what it may ask for. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { outcomeOf, type TestGateway, withGateway, withTeam } from '../support/start-gateway.js';

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
    const { gateway, key } = await withTeam({
      config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
    });
    await gateway.report(key, WEEK.replace('11-14', '11-12'));
    await gateway.services.settled();
    const before = gateway.simulator.calls.length;
    const told = await explained(gateway, key, WEEK);
    expect(gateway.simulator.calls.length).toBe(before);
    expect(told.days?.map(({ state }) => state)).toEqual([...Array(5).fill('final'), 'missing', 'missing']);
    expect(told.price).toEqual({ calls: 1, behind: 0 });
    expect(told.inWords.kept).toMatch(/^Cached by day: as configured\. /);
    expect(told.inWords.price).toBe('Answering it now makes 1 platform call (2026-11-13 to 2026-11-14).');
    await gateway.report(key, WEEK);
    await gateway.services.settled();
    expect(gateway.simulator.calls.length).toBe(before + told.price.calls);
    const again = await explained(gateway, key, WEEK);
    expect(again.inWords.price).toBe('Answering it now makes no platform call.');
    expect(again.price).toEqual({ calls: 0, behind: 0 });
  });

  it('is told nothing of what was learned from questions of others, nor keys of the cache', async () => {
    const { gateway, key } = await withTeam();
    await prove(gateway, key);
    const text = JSON.stringify(await explained(gateway, key, WEEK));
    for (const member of ['divisibility', 'agreements', '"series"', '"key"', 'generation'])
      expect(text).not.toContain(member);
    expect(text).not.toContain(gateway.simulator.token);
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
