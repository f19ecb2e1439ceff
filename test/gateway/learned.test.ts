/** `GET /admin/v1/divisibility`, `/finality` and `/truth`: what was learned, as operators see it. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { ADMIN_TOKEN, type TestGateway, withGateway } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-03&dateTo=2026-11-05';
const ABOUT = `endpoint=campaigns/get&query=${encodeURIComponent(QUERY)}`;

async function seen(options: Parameters<typeof withGateway>[0] = {}) {
  const gateway = await withGateway(options);
  const key = await gateway.addTeam();
  await prove(gateway, key);
  await gateway.report(key, QUERY);
  await gateway.services.settled();
  return { gateway, key };
}

async function refusal(gateway: TestGateway, path: string) {
  const { payload, statusCode } = await gateway.admin.inject({
    ...{ method: 'GET', url: `/admin/v1/${path}` },
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const { code, errors = [] } = JSON.parse(payload) as { code: string; errors?: { param: string }[] };
  return [statusCode, code, ...errors.map(({ param }) => param)];
}

describe('divisibility', () => {
  it('is told by kind, with the endpoint and split it is about, its state in words, and when it was proven', async () => {
    const { gateway } = await seen();
    const { kinds, pinned } = await gateway.manage('GET', '/divisibility');
    expect(kinds).toEqual([
      {
        ...{ id: expect.any(String), endpoint: 'campaigns/get', split: ['date'], spentBased: null },
        ...{ passedOn: [], state: 'proven', inWords: expect.stringMatching(/^Answered by day; /) },
        ...{ agreedDays: expect.any(Number), neededDays: 3, trials: expect.any(Number) },
        ...{ provenAt: expect.stringMatching(/^2026-11-/), refutedUntil: null, wholeUntil: null },
        ...{ restatements: 0, oldestRestatementDays: 0 },
      },
    ]);
    expect(pinned).toEqual([]);
  });

  it('is none of endpoints whose configuration says it', async () => {
    const gateway = await withGateway({
      config: { report: { endpoints: { 'campaigns/get': { divisible: 'never' } } } },
    });
    expect(await gateway.manage('GET', '/divisibility')).toMatchObject({
      kinds: [],
      pinned: [{ endpoint: 'campaigns/get', divisible: 'never' }],
    });
  });

  it('of a kind that an older release wrote is told without what it did not write', async () => {
    const { gateway } = await seen();
    const { registry } = gateway.services;
    const [record = '', { value = '{}' } = {}] = registry.list('divisible/')[0] ?? [];
    const { about: _, ...old } = JSON.parse(value) as Record<string, unknown>;
    await registry.commit({ writes: new Map([[record, JSON.stringify(old)]]) });
    const { kinds } = await gateway.manage('GET', '/divisibility');
    expect(kinds).toMatchObject([{ endpoint: null, split: null, state: 'proven' }]);
  });
});

describe.each(['finality', 'truth'])('%s', (of) => {
  it('is what a team is told, for whatever advertiser, and charges no team', async () => {
    const { gateway, key } = await seen();
    gateway.clock.advance(8 * 86_400_000);
    await gateway.report(key, QUERY);
    await gateway.services.settled();
    for (const about of [ABOUT, 'advertiserId=1']) {
      const own = (await gateway.call(`/gateway/v1/${of}?${about}`, { key })).json();
      expect(await gateway.manage('GET', `/${of}?${about}`)).toEqual(own);
    }
    const { data } = (await gateway.manage('GET', `/${of}?${ABOUT}`)) as { data: object[] };
    expect(data).toMatchObject([{ endpoint: 'campaigns/get', advertiserId: 1, split: ['date'] }]);
    // At once, by the advertiser alone too: before it is written down for other replicas.
    expect((await gateway.manage('GET', `/${of}?advertiserId=1`)).data).toEqual(data);
  });

  it.each([
    ['', 'endpoint'],
    ['endpoint=campaigns/get', 'query'],
    [`${ABOUT}&advertiserId=1`, 'advertiserId'],
    ['advertiserId=x%2Fy', 'advertiserId'],
    ['advertiserId=1&advertiserId=2', 'advertiserId'],
    ['endpoint=../x&query=advertiserId%3D1', 'endpoint'],
    ['endpoint=campaigns/get&query=dateFrom%3D2026-02-30', 'dateFrom'],
  ])('refuses %j by the name of what is wrong', async (asked, param) => {
    const gateway = await withGateway();
    expect(await refusal(gateway, `${of}?${asked}`)).toEqual([400, 'invalid_query', param]);
  });
});
