/** `POST /gateway/v1/learn`: a comparison that a person asks for. */
import { describe, expect, it } from 'vitest';
import { stateOf } from '../../support/prove.js';
import { outcomeOf, withGateway } from '../../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-03&dateTo=2026-11-05';

async function opened(team: Readonly<Record<string, unknown>> = {}) {
  const gateway = await withGateway();
  const key = await gateway.addTeam(team);
  const learn = (body: unknown) => gateway.call('/gateway/v1/learn', { method: 'POST', key, json: body });
  return { gateway, key, learn };
}

describe('learn', () => {
  it('has a kind proven that nobody has asked for, also one with an unknown parameter, at six platform calls', async () => {
    const { gateway, learn } = await opened();
    const query = `${QUERY}&x=1`;
    const reply = await learn({ endpoint: 'campaigns/get', query });
    expect([reply.status, reply.json()]).toEqual([202, { state: 'proving', started: true }]);
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(6);
    expect((await stateOf(gateway, '&x=1')).because).toBe(
      'proven: a day has the same numbers in every period',
    );
    expect((await gateway.manage('GET', '/status')).divisibility).toEqual([
      {
        endpoint: 'campaigns/get',
        split: ['date'],
        state: 'proven',
        inWords: expect.stringMatching(/^Cached by day\. A period of 28 days /),
      },
    ]);
    const again = await learn({ endpoint: 'campaigns/get', query });
    expect([again.status, again.json()]).toEqual([202, { state: 'proven', started: false }]);
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(6);
  });

  it.each<[string, unknown, string]>([
    [
      'a report not by date',
      { endpoint: 'campaigns/get', query: QUERY.replace('&byDate=1', '') },
      '400 invalid_query',
    ],
    [
      'a report without a period',
      { endpoint: 'campaigns/get', query: 'advertiserId=1&byDate=1' },
      '400 invalid_query',
    ],
    ['another endpoint', { endpoint: '../x', query: QUERY }, '400 invalid_query'],
    ['a body without a query', { endpoint: 'campaigns/get' }, '400 invalid_body'],
    ['a further member', { endpoint: 'campaigns/get', query: QUERY, days: 28 }, '400 invalid_body'],
    [
      'an advertiser of another team',
      { endpoint: 'campaigns/get', query: QUERY.replace('Id=1', 'Id=2') },
      '403 advertiser_forbidden',
    ],
  ])('refuses %s, and makes no platform call', async (_what, body, outcome) => {
    const { gateway, learn } = await opened({ advertisers: [1] });
    const reply = await learn(body);
    expect(outcomeOf(reply)).toBe(outcome);
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(0);
  });
});
