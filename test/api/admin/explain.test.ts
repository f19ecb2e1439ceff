import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, type TestGateway, withGateway } from '../../support/start-gateway.js';

const WEEK = 'advertiserId=1&byDate=1&dateFrom=2026-11-08&dateTo=2026-11-14';

const explain = async (gateway: TestGateway, params: Record<string, string>, token = ADMIN_TOKEN) => {
  const { statusCode, payload, headers } = await gateway.admin.inject({
    method: 'GET',
    url: `/admin/v1/cache/explain?${new URLSearchParams(params)}`,
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: statusCode, json: JSON.parse(payload) as Record<string, unknown>, headers };
};

describe('GET /admin/v1/cache/explain', () => {
  it('shows canonical call, key, policy, days and calls', async () => {
    const gateway = await withGateway({
      config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
    });
    const key = await gateway.addTeam();
    await gateway.report(key, 'advertiserId=1&byDate=1&dateFrom=2026-11-08&dateTo=2026-11-12');
    const { status, json } = await explain(gateway, {
      endpoint: 'campaigns/get',
      query: `${WEEK}&_format=csv`,
    });
    expect(status).toBe(200);
    const days = json.days as { date: string; state: string }[];
    expect(days.map(({ date, state }) => `${date} ${state}`)).toEqual([
      '2026-11-08 final',
      '2026-11-09 final',
      '2026-11-10 final',
      '2026-11-11 final',
      '2026-11-12 final',
      '2026-11-13 missing',
      '2026-11-14 missing',
    ]);
    expect(json).toMatchObject({
      canonical: {
        method: 'GET',
        target: `/api/v1/report/campaigns/get?${WEEK}`,
        body: null,
      },
      policy: {
        mode: 'days',
        because: 'pinned by configuration',
        divisibility: null,
        restatementDays: 5,
        staleWhileRevalidateSeconds: 600,
        staleIfErrorSeconds: 604_800,
      },
      whole: null,
      refusal: null,
      calls: [{ from: '2026-11-13', to: '2026-11-14' }],
      storeAway: false,
    });
    expect(String(json.key)).toContain(String(json.series));
  });

  it.each([
    `https://gateway.example/api/v1/report/campaigns/get?${WEEK}`,
    `/api/v1/report/campaigns/get?${WEEK}`,
    `http://127.0.0.1/gateway/v1/explain?endpoint=campaigns/get&query=${encodeURIComponent(WEEK)}`,
  ])(
    'reads the pasted address %s, asks for nothing there, and says in words why and at what price',
    async (url) => {
      const gateway = await withGateway();
      const before = gateway.simulator.calls.length;
      const { status, json } = await explain(gateway, { url });
      expect([status, json.report]).toEqual([200, { endpoint: 'campaigns/get', query: WEEK }]);
      expect(json).toMatchObject({
        inWords: {
          kept: expect.stringMatching(/^Answered as a whole: not yet proven to be divisible\. /),
          price: 'Answering it now makes 1 platform call (2026-11-08 to 2026-11-14).',
        },
        price: { calls: 1, behind: 0 },
      });
      expect(gateway.simulator.calls.length).toBe(before);
    },
  );

  it.each<[Record<string, string>]>([
    [{ url: 'https://gateway.example/api/v1/campaign/get?id=1' }],
    [{ url: `advertiserId=1` }],
    [{ url: '/api/v1/report/campaigns/../get?advertiserId=1' }],
    [{ url: `/api/v1/report/campaigns/get?${WEEK}`, endpoint: 'campaigns/get' }],
    [{ url: `/api/v1/report/campaigns/get?${WEEK}`, query: WEEK }],
  ])('refuses %j by url', async (params) => {
    const { status, json } = await explain(await withGateway(), params);
    expect([status, json.code, json.errors]).toMatchObject([400, 'invalid_query', [{ param: 'url' }]]);
  });

  it('shows no row of the report: an operator need not see an advertiser to look after the cache', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const { data } = (await gateway.report(key, WEEK)).json<{ data: Record<string, unknown>[] }>();
    const text = JSON.stringify((await explain(gateway, { endpoint: 'campaigns/get', query: WEEK })).json);
    for (const row of data) expect(text).not.toContain(String(row.impressions));
    expect(text).not.toContain(gateway.simulator.token);
  });

  it.each<[Record<string, string>, string]>([
    [{ query: WEEK }, 'endpoint'],
    [{ endpoint: 'campaigns/get' }, 'query'],
    [{ endpoint: '../admin', query: WEEK }, 'endpoint'],
    [{ endpoint: 'campaigns/./get', query: WEEK }, 'endpoint'],
    [{ endpoint: '/campaigns/get', query: WEEK }, 'endpoint'],
    [{ endpoint: 'campaigns/get?x=1', query: WEEK }, 'endpoint'],
    [{ endpoint: '', query: WEEK }, 'endpoint'],
    [{ endpoint: 'campaigns/get', query: 'advertiserId=x' }, 'advertiserId'],
    [{ endpoint: 'campaigns/get', query: 'dateFrom=2026-02-30' }, 'dateFrom'],
    [{ endpoint: 'campaigns/get', query: '_format=xml' }, '_format'],
  ])('refuses %j by the name of what is wrong', async (params, param) => {
    const gateway = await withGateway();
    const { status, json } = await explain(gateway, params);
    expect([status, json.code]).toEqual([400, 'invalid_query']);
    expect((json.errors as { param: string }[]).map((error) => error.param)).toEqual([param]);
  });

  it('asks for the admin token', async () => {
    const gateway = await withGateway();
    expect((await explain(gateway, { endpoint: 'campaigns/get', query: WEEK }, 'wrong')).status).toBe(401);
  });
});
