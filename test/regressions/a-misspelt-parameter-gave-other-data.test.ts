/** `from=…&to=…` and `byDay=1` were answered 200, with the rows of another report and not a word about it. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import {
  ADMIN_TOKEN,
  outcomeOf,
  REPORT,
  type Reply,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';

const WHOLE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';

interface Told {
  readonly passedOn?: readonly string[];
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly whole?: { readonly state: string };
}

const told = (reply: Reply): Told => reply.json<{ meta: Told }>().meta;
const codes = (reply: Reply) => told(reply).warnings?.map(({ code }) => code);
const errorsIn = (reply: Reply) =>
  reply.json<Problem>().errors?.map(({ param, message }) => `${param}: ${message}`);
const withEndpoint = (rule: object) => ({ config: { report: { endpoints: { 'campaigns/get': rule } } } });

async function explain(gateway: TestGateway, query: string, more: Readonly<Record<string, string>> = {}) {
  const { statusCode, payload } = await gateway.admin.inject({
    method: 'GET',
    url: `/admin/v1/cache/explain?${new URLSearchParams({ endpoint: 'campaigns/get', query, ...more })}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  return { status: statusCode, json: JSON.parse(payload) as Problem & Told };
}

describe('a name that is meant for a known parameter', () => {
  it('is 400 with the one that was meant, in a query, in a body and in explain', async () => {
    const gateway = await withGateway(withEndpoint({ readByPost: true }));
    const key = await gateway.addTeam();
    const query = 'advertiserId=1&from=2026-11-01&to=2026-11-02&byDay=1';
    const errors = [
      'from: is not known here: did you mean `dateFrom`?',
      'to: is not known here: did you mean `dateTo`?',
      'byDay: is not known here: did you mean `byDate`?',
    ];
    for (const format of ['', '&_format=csv', '&_format=raw']) {
      const refused = await gateway.report(key, `${query}${format}`);
      expect(outcomeOf(refused)).toBe('400 invalid_query');
      expect(errorsIn(refused)).toEqual(errors);
    }
    const json = { advertiserId: 1, from: '2026-11-01', to: '2026-11-02', byDay: true };
    expect(errorsIn(await gateway.call(REPORT, { method: 'POST', key, json }))).toEqual(errors);
    const explained = await explain(gateway, query);
    expect(explained.status).toBe(400);
    expect(explained.json.errors?.map(({ param }) => param)).toEqual(['from', 'to', 'byDay']);
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('passes on where an operator says that the platform reads it, and is not listed', async () => {
    const gateway = await withGateway(withEndpoint({ knownParameters: ['from', 'filter'] }));
    const reply = await gateway.report(await gateway.addTeam(), `${WHOLE}&from=here&filter=x`);
    expect(reply.status).toBe(200);
    expect(told(reply)).not.toHaveProperty('passedOn');
    expect(told(reply)).not.toHaveProperty('warnings');
    expect(gateway.simulator.calls.at(-1)?.url).toContain('from=here');
  });

  it('passes on at an endpoint that is not declared, and is listed', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const reply = await gateway.call(`/api/v1/report/creatives/get?${WHOLE}&from=x`, { key });
    expect(reply.status).toBe(200);
    expect(told(reply).passedOn).toEqual(['from']);
  });

  it('goes with a warning alone for a team whose default is raw, and log and explain say so', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'moved', defaultFormat: 'raw' });
    const raw = await gateway.report(key, `${WHOLE}&from=2026-11-01`);
    expect(raw.status).toBe(200);
    expect(gateway.simulator.calls.at(-1)?.url).toContain('&from=2026-11-01');
    expect(
      gateway.log.filter(({ msg, plane }) => msg === 'request' && plane === 'data').at(-1),
    ).toMatchObject({
      meant: ['dateFrom'],
    });
    const explained = await explain(gateway, `${WHOLE}&from=2026-11-01`, { team: 'moved' });
    expect(explained.json.warnings?.[0]?.message).toContain('from (did you mean `dateFrom`?)');
    // The bytes that the team was given.
    expect(explained.json.whole?.state).toBe('final');
    expect((await explain(gateway, WHOLE, { team: 'nobody' })).json.errors?.[0]?.param).toBe('team');
    const json = await gateway.report(key, `${WHOLE}&from=2026-11-01&_format=json`);
    expect(told(json).passedOn).toEqual(['from']);
    expect(told(json).warnings).toEqual([
      {
        code: 'parameters_passed_on',
        message: expect.stringContaining('from (did you mean `dateFrom`?)'),
      },
    ]);
  });
});

describe('a name that nobody knows', () => {
  it('is passed on, listed and warned of, from the cache too', async () => {
    const gateway = await withGateway(withEndpoint({ readByPost: true }));
    const key = await gateway.addTeam();
    for (const _ of ['miss', 'hit']) {
      const reply = await gateway.report(key, `${WHOLE}&sort=clicks&a[]=1&a[]=2`);
      expect(told(reply).passedOn).toEqual(['a[]', 'sort']);
      expect(codes(reply)).toEqual(['parameters_passed_on']);
    }
    expect(gateway.simulator.callCount).toBe(1);
    const json = { advertiserId: 1, dateFrom: '2026-11-01', dateTo: '2026-11-02', sort: 'clicks' };
    const posted = await gateway.call(REPORT, { method: 'POST', key, json });
    expect(told(posted).passedOn).toEqual(['sort']);
    expect(told(await gateway.report(key, WHOLE))).not.toHaveProperty('passedOn');
    const { json: explained } = await explain(gateway, `${WHOLE}&sort=clicks`);
    expect(explained.passedOn).toEqual(['sort']);
    expect(explained.warnings?.map(({ code }) => code)).toEqual(['parameters_passed_on']);
  });

  it('names those that are probably slips first, and counts the others', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ defaultFormat: 'raw' });
    const query = `${WHOLE}&_format=json&${[...'abcdef'].map((name) => `${name}=1`).join('&')}&until=1`;
    const [warning] = told(await gateway.report(key, query)).warnings ?? [];
    expect(warning?.message).toContain(
      'until (did you mean `dateTo`?), a, b, c, d, 2 more in meta.passedOn.',
    );
  });

  it('is 400 where the endpoint refuses unknown ones', async () => {
    const gateway = await withGateway(
      withEndpoint({ unknownParameters: 'refuse', knownParameters: ['sort'] }),
    );
    const key = await gateway.addTeam();
    const refused = await gateway.report(key, `${WHOLE}&page=2`);
    expect(outcomeOf(refused)).toBe('400 invalid_query');
    expect(errorsIn(refused)?.[0]).toMatch(/^page: is not known here; allowed are .*dateFrom.*, sort$/);
    expect((await gateway.report(key, `${WHOLE}&sort=x&_totals=1`)).status).toBe(200);
  });
});

describe('a period that the platform chose', () => {
  it.each([
    ['advertiserId=1', 'Without dateFrom and dateTo the platform chose'],
    ['advertiserId=1&dateFrom=2026-11-20', 'Without dateTo the platform chose'],
    ['advertiserId=1&dateTo=2026-11-20', 'Without dateFrom the platform chose'],
  ])('is warned of: %s', async (query, message) => {
    const gateway = await withGateway();
    const reply = await gateway.report(await gateway.addTeam({ limits: { maxRangeDays: 10_000 } }), query);
    expect(told(reply).warnings).toEqual([
      { code: 'platform_chose_period', message: expect.stringContaining(message) },
    ]);
  });

  it('is none where a word names it', async () => {
    const gateway = await withGateway();
    const reply = await gateway.report(await gateway.addTeam(), 'advertiserId=1&_period=yesterday');
    expect(told(reply)).not.toHaveProperty('warnings');
  });
});

describe('a name that an operator vouches for', () => {
  it('is no account in other words, unless it stands inside of another', async () => {
    const gateway = await withGateway(
      withEndpoint({ readByPost: true, knownParameters: ['clientTimezone', 'accountId'] }),
    );
    const key = await gateway.addTeam({ advertisers: [1] });
    expect((await gateway.report(key, `${WHOLE}&clientTimezone=UTC`)).status).toBe(200);
    const inside = { advertiserId: 1, filter: { clientTimezone: 'UTC' } };
    expect(outcomeOf(await gateway.call(REPORT, { method: 'POST', key, json: inside }))).toBe(
      '403 advertiser_forbidden',
    );
    // Its value is looked at as before: it is an account by its name.
    expect(outcomeOf(await gateway.report(key, `${WHOLE}&accountId=2`))).toBe('403 advertiser_forbidden');
    expect((await gateway.report(key, `${WHOLE}&accountId=1`)).status).toBe(200);
    const other = await gateway.call(`/api/v1/report/creatives/get?${WHOLE}&clientTimezone=UTC`, { key });
    expect(outcomeOf(other)).toBe('403 advertiser_forbidden');
  });

  it('may still say an account by its value', async () => {
    const gateway = await withGateway(
      withEndpoint({ readByPost: true, knownParameters: ['filter', 'client', 'ids', 'sort'] }),
    );
    const key = await gateway.addTeam({ advertisers: [1] });
    for (const foreign of [
      'filter=advertiserId:2',
      'filter=advertiser,eq,2',
      'client=%7B%22user.id%22:2%7D',
      'dimension=advertiser&ids=2',
    ])
      expect(outcomeOf(await gateway.report(key, `${WHOLE}&${foreign}`)), foreign).toBe(
        '403 advertiser_forbidden',
      );
    const body = { advertiserId: 1, filter: { by: 'advertiser', values: [2] } };
    expect(outcomeOf(await gateway.call(REPORT, { method: 'POST', key, json: body }))).toBe(
      '403 advertiser_forbidden',
    );
    for (const own of ['filter=spent%3E5', 'client=2', 'client[]=mobile', 'ids=7', 'sort=advertiserId'])
      expect((await gateway.report(key, `${WHOLE}&${own}`)).status, own).toBe(200);
    const honest = { advertiserId: 1, filter: { campaign: { ids: [7] } } };
    expect((await gateway.call(REPORT, { method: 'POST', key, json: honest })).status).toBe(200);
  });
});
