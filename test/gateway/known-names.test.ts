/** Parameters that nobody knows: refused where another was meant, else passed on and told of, unless an operator vouches. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { rule } from '../support/scene.js';
import {
  ADMIN_TOKEN,
  outcomeOf,
  REPORT,
  type Reply,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';

const WHOLE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
const FORBIDDEN = '403 advertiser_forbidden';
const UNDECLARED = '400 undeclared_parameter';

interface Told {
  readonly passedOn?: readonly string[];
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly whole?: { readonly state: string };
}

const told = (reply: Reply): Told => reply.json<{ meta: Told }>().meta;
const codes = ({ warnings }: Told) => warnings?.map(({ code }) => code);
const errorsIn = (problem: Problem) => problem.errors?.map(({ param, message }) => `${param}: ${message}`);

async function open(settings: object = {}, team: object = {}, report: object = {}) {
  const gateway = await withGateway({ config: { report: { ...rule(settings).report, ...report } } });
  const key = await gateway.addTeam({ ...team });
  return {
    gateway,
    key,
    ask: (query: string) => gateway.report(key, query),
    post: (json: object) => gateway.call(REPORT, { method: 'POST', key, json }),
  };
}

async function explain(gateway: TestGateway, query: string, more: Readonly<Record<string, string>> = {}) {
  const { payload } = await gateway.admin.inject({
    url: `/admin/v1/cache/explain?${new URLSearchParams({ endpoint: 'campaigns/get', query, ...more })}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  return JSON.parse(payload) as Problem & Told;
}

describe('the name of a report', () => {
  async function asked(
    endpoint: string,
    team: Readonly<Record<string, unknown>> = {},
    settings: object = {},
  ) {
    const gateway = await withGateway({
      config: { report: { endpoints: { 'campaigns/get': {}, ...settings } } },
    });
    const key = await gateway.addTeam(team);
    const reply = await gateway.call(`/api/v1/report/${endpoint}?${WHOLE}`, { key });
    return { reply, calls: gateway.simulator.callCount };
  }

  it.each(['campaign/get', 'campagins/get', 'campains/gets', 'Campaigns/get', 'campaigns/gte'])(
    'is 404 with the declared one that was meant, without a call of the platform: %s',
    async (endpoint) => {
      const { reply, calls } = await asked(endpoint);
      expect([outcomeOf(reply), calls]).toEqual(['404 not_found', 0]);
      expect(reply.json()).toMatchObject({
        detail: `No report ${endpoint} is declared: did you mean campaigns/get?`,
        help: `Use campaigns/get; if the platform has ${endpoint} too, ask your operator to declare it in report.endpoints.`,
      });
    },
  );

  it('is asked of the platform where it is farther off, declared, or asked by a team of raw', async () => {
    for (const endpoint of [
      'campaigns/new',
      'campaigns/set',
      'campaigns/geo',
      'creatives/get',
      'campaigns2/get',
      'campaigns/get/daily',
      'geo/get',
    ])
      expect([endpoint, (await asked(endpoint)).calls]).toEqual([endpoint, 1]);
    expect((await asked('campaign/get', {}, { 'campaign/get': {} })).calls).toBe(1);
    expect((await asked('campaign/get', { defaultFormat: 'raw' })).calls).toBe(1);
  });
});

describe('a path with "reports" for "report"', () => {
  const PATH = '/api/v1/reports/campaigns/get';

  it('is 404 with the declared report that was meant, to each team and without a call of the platform', async () => {
    const gateway = await withGateway();
    for (const team of [{ id: 'all' }, { id: 'own', advertisers: [1], scopes: ['report:read'] }]) {
      const reply = await gateway.call(`${PATH}?${WHOLE}`, { key: await gateway.addTeam(team) });
      expect([outcomeOf(reply), gateway.simulator.callCount]).toEqual(['404 not_found', 0]);
      expect(reply.json()).toMatchObject({
        detail: `No route ${PATH} is declared: did you mean /api/v1/report/campaigns/get?`,
        help: `Use /api/v1/report/campaigns/get; if the platform has ${PATH} too, ask your operator to declare it in routes.`,
      });
    }
    expect(outcomeOf(await gateway.call(PATH))).toBe('401 missing_api_key');
  });

  it('is passed on where it is declared as a route, or no such report is declared', async () => {
    const gateway = await withGateway({ config: { routes: [{ method: 'GET', path: PATH }] } });
    const key = await gateway.addTeam({ scopes: ['platform:read'] });
    for (const path of [PATH, '/api/v1/reports/of-last-year']) {
      await gateway.call(path, { key });
      expect([path, gateway.simulator.callCount]).toEqual([path, path === PATH ? 1 : 2]);
    }
  });
});

describe('a name that is meant for a known parameter', () => {
  it('is 400 with the one that was meant, in a query, in a body and in explain', async () => {
    const { gateway, ask, post } = await open({ readByPost: true });
    const query = 'advertiserId=1&from=2026-11-01&to=2026-11-02&byDay=1';
    const errors = [
      'from: is unknown: did you mean `dateFrom`?',
      'to: is unknown: did you mean `dateTo`?',
      'byDay: is unknown: did you mean `byDate`?',
    ];
    for (const format of ['', '&_format=csv', '&_format=raw']) {
      const refused = await ask(query + format);
      expect([outcomeOf(refused), errorsIn(refused.json())]).toEqual(['400 invalid_query', errors]);
    }
    const json = { advertiserId: 1, from: '2026-11-01', to: '2026-11-02', byDay: true };
    expect(errorsIn((await post(json)).json())).toEqual(errors);
    expect(await explain(gateway, query)).toMatchObject({ status: 400, errors: errors.map(() => ({})) });
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('is 400 as a slip of a split to a team with a list of advertisers too, whose other splits go on', async () => {
    const { gateway, ask } = await open({}, { advertisers: [1] });
    const refused = await ask(`${WHOLE}&byDat=1`);
    expect([outcomeOf(refused), errorsIn(refused.json()), gateway.simulator.callCount]).toEqual([
      '400 invalid_query',
      ['byDat: is unknown: did you mean `byDate`?'],
      0,
    ]);
    expect(told(await ask(`${WHOLE}&byCreative=1`)).passedOn).toEqual(['byCreative']);
  });

  it('passes on where an operator says that the platform reads it, and is not listed', async () => {
    const { gateway, ask } = await open({ knownParameters: ['from', 'filter'] });
    const reply = await ask(`${WHOLE}&from=here&filter=x`);
    expect(reply.status).toBe(200);
    for (const member of ['passedOn', 'warnings']) expect(told(reply)).not.toHaveProperty(member);
    expect(gateway.simulator.calls.at(-1)?.url).toContain('from=here');
  });

  it('passes on at an endpoint that is not declared, and is listed', async () => {
    const { gateway, key } = await open();
    const reply = await gateway.call(`/api/v1/report/creatives/get?${WHOLE}&from=x`, { key });
    expect([reply.status, told(reply).passedOn]).toEqual([200, ['from']]);
  });

  it('goes with a warning alone for a team whose default is raw, and log and explain say so', async () => {
    const { gateway, ask } = await open({}, { id: 'moved', defaultFormat: 'raw' });
    const query = `${WHOLE}&from=2026-11-01`;
    const message = expect.stringContaining('from (did you mean `dateFrom`?)');
    expect((await ask(query)).status).toBe(200);
    expect(gateway.simulator.calls.at(-1)?.url).toContain('&from=2026-11-01');
    const line = gateway.log.findLast(({ msg, plane }) => msg === 'request' && plane === 'data');
    expect(line).toMatchObject({ meant: ['dateFrom'] });
    // Of the bytes that the team was given.
    expect(await explain(gateway, query, { team: 'moved' })).toMatchObject({
      warnings: [{ message }],
      whole: { state: 'final' },
    });
    expect((await explain(gateway, WHOLE, { team: 'nobody' })).errors?.[0]?.param).toBe('team');
    expect(told(await ask(`${query}&_format=json`))).toMatchObject({
      passedOn: ['from'],
      warnings: [{ code: 'parameters_passed_on', message }],
    });
  });
});

describe('a name that nobody knows', () => {
  it('is passed on, listed and warned of, from the cache too', async () => {
    const { gateway, ask, post } = await open({ readByPost: true });
    for (const _ of ['miss', 'hit']) {
      const meta = told(await ask(`${WHOLE}&sort=clicks&a[]=1&a[]=2`));
      expect([meta.passedOn, codes(meta)]).toEqual([['a[]', 'sort'], ['parameters_passed_on']]);
    }
    expect(gateway.simulator.callCount).toBe(1);
    const json = { advertiserId: 1, dateFrom: '2026-11-01', dateTo: '2026-11-02', sort: 'clicks' };
    expect(told(await post(json)).passedOn).toEqual(['sort']);
    expect(told(await ask(WHOLE))).not.toHaveProperty('passedOn');
    const explained = await explain(gateway, `${WHOLE}&sort=clicks`);
    expect([explained.passedOn, codes(explained)]).toEqual([['sort'], ['parameters_passed_on']]);
  });

  it('names those that are probably slips first, and counts the others', async () => {
    const { ask } = await open({}, { defaultFormat: 'raw' });
    const unknown = [...'abcdef'].map((name) => `${name}=1`).join('&');
    expect(told(await ask(`${WHOLE}&_format=json&${unknown}&until=1`)).warnings?.[0]?.message).toContain(
      'until (did you mean `dateTo`?), a, b, c, d, 2 more in meta.passedOn.',
    );
  });

  it('is 400 where the endpoint refuses unknown ones', async () => {
    const { ask } = await open({ unknownParameters: 'refuse', knownParameters: ['sort'] });
    const refused = await ask(`${WHOLE}&page=2`);
    expect(outcomeOf(refused)).toBe('400 invalid_query');
    expect(errorsIn(refused.json())?.[0]).toMatch(/^page: is unknown; allowed: .*dateFrom.*, sort$/);
    expect((await ask(`${WHOLE}&sort=x&_totals=1`)).status).toBe(200);
  });
});

describe('a period that the platform chose', () => {
  it.each([
    ['advertiserId=1', 'Without dateFrom and dateTo the platform chose'],
    ['advertiserId=1&dateFrom=2026-11-20', 'Without dateTo the platform chose'],
    ['advertiserId=1&dateTo=2026-11-20', 'Without dateFrom the platform chose'],
  ])('is warned of: %s', async (query, message) => {
    const { ask } = await open({}, { limits: { maxRangeDays: 10_000 } });
    expect(told(await ask(query)).warnings).toEqual([
      { code: 'platform_chose_period', message: expect.stringContaining(message) },
    ]);
  });

  it('is none where a word names it', async () => {
    const { ask } = await open();
    expect(told(await ask('advertiserId=1&_period=yesterday'))).not.toHaveProperty('warnings');
  });
});

describe('a name that an operator vouches for', () => {
  it('is no account in other words, unless it stands inside of another', async () => {
    const settings = { readByPost: true, knownParameters: ['clientTimezone', 'accountId'] };
    const { gateway, key, ask, post } = await open(settings, { advertisers: [1] });
    expect((await ask(`${WHOLE}&clientTimezone=UTC`)).status).toBe(200);
    const inside = { advertiserId: 1, filter: { clientTimezone: 'UTC' } };
    expect(outcomeOf(await post(inside))).toBe(UNDECLARED);
    // Its value is looked at as before: it is an account by its name.
    expect(outcomeOf(await ask(`${WHOLE}&accountId=2`))).toBe(FORBIDDEN);
    expect((await ask(`${WHOLE}&accountId=1`)).status).toBe(200);
    const other = await gateway.call(`/api/v1/report/creatives/get?${WHOLE}&clientTimezone=UTC`, { key });
    expect(outcomeOf(other)).toBe(UNDECLARED);
  });

  it('may have a value of its kind, which is no account', async () => {
    const settings = {
      readByPost: true,
      knownParameters: ['filter', 'client', 'ids:set', 'sort', 'page.size:int'],
    };
    const { ask, post } = await open(settings, { advertisers: [1] });
    for (const refused of [
      'filter=advertiserId:2',
      'filter=advertiser,eq,2',
      'filter=spent%3E5',
      'client=%7B%22user.id%22:2%7D',
      'client[]=mobile',
      'dimension=advertiser&ids=2',
      'ids=acme',
      'sort=advertiserId',
    ])
      expect(outcomeOf(await ask(`${WHOLE}&${refused}`)), refused).toBe(UNDECLARED);
    for (const member of [
      { filter: { by: 'advertiser', values: [2] } },
      { page: { size: 'all' } },
      { page: [{ size: 5 }] },
    ])
      expect(outcomeOf(await post({ advertiserId: 1, ...member })), JSON.stringify(member)).toBe(UNDECLARED);
    for (const own of ['filter=brand', 'client=2', 'ids=7', 'ids[]=7', 'sort=-spent,clicks', 'limit=5'])
      expect((await ask(`${WHOLE}&${own}`)).status, own).toBe(200);
    expect((await post({ advertiserId: 1, ids: [7], page: { size: 5 } })).status).toBe(200);
  });

  it('may still say an account by its value, while what is undeclared is observed', async () => {
    const settings = { readByPost: true, knownParameters: ['filter', 'client', 'ids', 'sort'] };
    const observe = { limitedTeams: { undeclared: 'observe' } };
    const { ask, post } = await open(settings, { advertisers: [1] }, observe);
    for (const foreign of [
      'filter=advertiserId:2',
      'filter=advertiser,eq,2',
      'client=%7B%22user.id%22:2%7D',
      'dimension=advertiser&ids=2',
    ])
      expect(outcomeOf(await ask(`${WHOLE}&${foreign}`)), foreign).toBe(FORBIDDEN);
    const filter = { by: 'advertiser', values: [2] };
    expect(outcomeOf(await post({ advertiserId: 1, filter }))).toBe(FORBIDDEN);
    for (const own of ['filter=spent%3E5', 'client=2', 'client[]=mobile', 'ids=7', 'sort=advertiserId'])
      expect((await ask(`${WHOLE}&${own}`)).status, own).toBe(200);
    expect((await post({ advertiserId: 1, filter: { campaign: { ids: [7] } } })).status).toBe(200);
  });
});
