/** Advertisers of others, named in words, places and rows where nobody would look for them, by a team that is limited to 1. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { type Handler, sends } from '../support/raw-platform.js';
import { openScene, sharedGateway, sharedScene } from '../support/scene.js';
import { outcomeOf, REPORT, withGateway } from '../support/start-gateway.js';
import { cacheOf, FINAL } from './reports.js';

const FORBIDDEN = '403 advertiser_forbidden';
const GET = '/api/v1/campaign/get';
const QUERY = 'advertiserId=1&_period=yesterday';
const WHOLE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-15';

describe('what is asked and written', () => {
  const shared = sharedGateway();
  let limited: string;
  beforeEach(async () => {
    limited = await shared().addTeam({ advertisers: [1] });
    shared().simulator.clearCalls();
  });

  it('may not ask for a report whose path names another account', async () => {
    const ask = (path: string) => shared().call(`/api/v1/report/${path}?${QUERY}`, { key: limited });
    for (const path of ['advertiser/2/stats', 'sub-accounts/2', 'user-2/stats', 'clients/acme2', 'adv/2'])
      expect(outcomeOf(await ask(path)), path).toBe(FORBIDDEN);
    expect(shared().simulator.calls).toEqual([]);
    for (const path of ['advertiser/1/stats', 'user/stats', 'advertisers/top-ten'])
      expect((await ask(path)).status, path).not.toBe(403);
  });

  it('may ask for no other by ids, cached or not, while another team may', async () => {
    const all = await shared().addTeam();
    for (const query of [WHOLE, `${WHOLE}&byDate=1`])
      for (const key of [limited, all, limited]) {
        const before = shared().simulator.calls.length;
        const reply = await shared().report(key, `${query}&ids[]=2`);
        expect(outcomeOf(reply)).toBe(key === all ? '200' : '400 undeclared_parameter');
        if (key !== all) expect(shared().simulator.calls).toHaveLength(before);
      }
  });

  it('has its questions explained to the operator as before', async () => {
    const query = encodeURIComponent(`${WHOLE}&ids=2`);
    const explained = await shared().manage('GET', `/cache/explain?endpoint=campaigns/get&query=${query}`);
    expect(explained).toMatchObject({ policy: {} });
  });

  it('is cut in an answer, wherever it stands', async () => {
    const json = { advertiserId: 1, [`advertiser_${'x'.repeat(400_000)}_id`]: 2 };
    const reply = await shared().call(REPORT, { method: 'POST', key: limited, json });
    expect(outcomeOf(reply)).toMatch(/^4\d\d /);
    expect(reply.body.length).toBeLessThan(10_000);
  });
});

describe('what an operator vouches for', () => {
  it('may send what the operator lists', async () => {
    const gateway = await withGateway({
      config: { report: { nonAccountParameters: ['clientTimezone', 'filter', 'ids'] } },
    });
    const key = await gateway.addTeam({ advertisers: [1] });
    for (const extra of ['clientTimezone=UTC', 'filter=user_id', 'ids=7', 'ids[]=7'])
      expect((await gateway.report(key, `${QUERY}&${extra}`)).status).toBe(200);
    expect(outcomeOf(await gateway.report(key, `${QUERY}&clientName=x`))).toBe('400 undeclared_parameter');
  });
});

describe('names that have the platform act as somebody else', () => {
  const NAMES = [
    'impersonate',
    'impersonateUser',
    'actAs',
    'act_as',
    'acting_as',
    'xActAs',
    'x_act_as',
    'on_behalf_of',
    'onBehalfOf',
    'sudo',
    'SUDO',
  ];
  const route = (path: string, method: string, account: string) => ({ method, path, account: [account] });
  async function open(report: object = {}) {
    const routes = [
      route(GET, 'GET', 'query.advertiserId'),
      route(GET, 'POST', 'body.advertiserId'),
      route('/api/v1/advertiser/get', 'GET', 'query.advertiserId'),
    ];
    const scene = await openScene(sends('{"data":[{"date":"2026-11-01","spent":1}]}'), {
      config: { routes, report },
    });
    const limited = await scene.gateway.addTeam({ advertisers: [1] });
    const pass = (query: string, path = GET) =>
      scene.gateway.call(`${path}?advertiserId=1&${query}`, { key: limited });
    return { ...scene, limited, pass };
  }

  it('is refused each of them, whatever the value, and the platform is not asked', async () => {
    const { platform, gateway, limited, pass } = await open();
    for (const name of NAMES)
      for (const extra of [`${name}=2`, `${name}=1`, `${name}=root`, `${name}[user]=2`, `a[${name}]=x`]) {
        const report = await gateway.report(limited, `${WHOLE}&byDate=1&${extra}`);
        expect([extra, report.status]).toEqual([extra, expect.toBeOneOf([400, 403])]);
        expect([extra, outcomeOf(await pass(extra))]).toEqual([extra, FORBIDDEN]);
      }
    expect(platform.requests).toHaveLength(0);
  });

  it('is refused them as members of a body too', async () => {
    const { platform, gateway, limited } = await open();
    for (const name of ['actAs', 'x-act-as', 'xActAs']) {
      const json = { advertiserId: 1, [name]: 'root' };
      expect([name, outcomeOf(await gateway.call(GET, { method: 'POST', key: limited, json }))]).toEqual([
        ...[name, FORBIDDEN],
      ]);
    }
    expect(platform.requests).toHaveLength(0);
  });

  it('may send one that an operator says names no account, and what only looks like one', async () => {
    const { gateway, key, pass } = await open({ nonAccountParameters: ['actAs'] });
    expect((await pass('actAs=fast')).status).toBe(200);
    for (const name of ['actasset', 'xactasset', 'maxactas', 'pseudo', 'action', 'reactAsset'])
      expect((await pass(`${name}=x`)).status, name).toBe(200);
    expect((await gateway.call(`${GET}?sudo=2`, { key })).status).toBe(200);
  });

  it('may pass through no ids where the path says that they are accounts’', async () => {
    const { platform, pass } = await open();
    expect(outcomeOf(await pass('ids[]=2', '/api/v1/advertiser/get'))).toBe(FORBIDDEN);
    expect(platform.requests.length).toBe(0);
    expect((await pass('ids[]=1', '/api/v1/advertiser/get')).status).toBe(200);
    expect((await pass('ids[]=7&id=8')).status).toBe(200);
  });
});

describe('what the platform says', () => {
  const shared = sharedScene(sends('{}'));
  let limited: string;
  beforeEach(async () => {
    limited = await shared().gateway.addTeam({ advertisers: [1] });
    // What one test has the platform say is nothing to the next.
    await shared().gateway.manage('POST', '/cache/purge', { all: true });
  });
  const says = (answer: Handler) => shared().platform.answer(answer);
  const ask = (query: string, call = {}) => shared().gateway.report(limited, query, call);
  const askAll = (query: string) => shared().gateway.report(shared().key, query);
  const rowOf = (row: object) => JSON.stringify({ data: [{ date: '2026-11-02', impressions: 5, ...row }] });

  const QUERIES = [FINAL, 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03'];
  const FORMATS = ['json', 'csv', 'ndjson', 'raw', 'json&_days=1'];

  describe('a row that names another advertiser in words that the configured pattern does not know', () => {
    it.each<object>([
      { advertiser: 2 },
      { advertiser: '2' },
      { advertisers: [1, 2] },
      { advertisers: '1,2' },
      { sub_account_id: 2 },
      { adv_id: '2' },
      { account_no: 2 },
      { parentAccount: { code: 2 } },
      { extra: '{"advertiserId":2}' },
    ])('is not shown to a limited team, fresh or cached: %j', async (row) => {
      says(sends(rowOf(row)));
      for (const query of QUERIES) {
        for (const format of FORMATS)
          expect(outcomeOf(await ask(`${query}&_format=${format}`))).toBe('502 upstream_invalid_response');
        for (const format of FORMATS) {
          const asked = `${query}&_format=${format}`;
          expect((await askAll(asked)).status).toBe(200);
          expect(cacheOf(await askAll(asked))).toMatch(/^hit/);
          const { length } = shared().platform.requests;
          expect(outcomeOf(await ask(asked))).toBe('502 upstream_invalid_response');
          expect((await ask(asked, { method: 'HEAD' })).status).toBe(502);
          expect(shared().platform.requests.length).toBe(length);
        }
      }
    });

    it.each<object>([
      { advertiser: 1, advertisers: ['1'], sub_account_id: 1, extra: '{"advertiserId":1}' },
      { id: 7, campaignId: 8, advertisersCount: 3, users: 120, clients: '1,200', cost_per_user: 2 },
      { advertiser: 'Acme', account_name: '22', agency: null, isClient: true, client: '12.50' },
      { advertiser: { name: 'Acme', campaigns: [{ id: 4 }] }, name: '[2] clients' },
    ])('is shown where it names none: %j', async (row) => {
      says(sends(rowOf(row)));
      for (const query of QUERIES)
        for (const format of FORMATS) expect((await ask(`${query}&_format=${format}`)).status).toBe(200);
    });

    it('is shown where the operator says that the column names none, and the log says how', async () => {
      says(sends(rowOf({ client: 7 })));
      await ask(FINAL);
      expect(shared().gateway.logText).toContain('report.nonAccountParameters');
      const open = await openScene(sends(rowOf({ client: 7 })), {
        config: { report: { nonAccountParameters: ['client'] } },
      });
      const key = await open.gateway.addTeam({ advertisers: [1] });
      expect((await open.gateway.report(key, FINAL)).status).toBe(200);
    });
  });

  describe('a refusal of the platform that names another advertiser', () => {
    const FOREIGN = '{"message":"no","errors":{"advertiserId":["2"]},"data":[{"advertiser_id":2,"spent":5}]}';
    const upstreamOf = async (query: string) => (await ask(query)).json<Problem>().upstream;

    it.each([400, 403, 404, 422])('is told to a limited team without its words (%i)', async (status) => {
      says(sends(FOREIGN, {}, status));
      // The second time it is remembered, and the wide team may see it.
      for (const _ of [1, 2]) {
        const reply = await ask(FINAL);
        expect(outcomeOf(reply)).toBe(`${status} upstream_rejected`);
        expect(reply.json<Problem>().upstream).toEqual({ status, message: null });
        expect(reply.json<Problem>().detail).toContain('withheld');
        const shown = (await askAll(FINAL)).json<Problem>().upstream;
        expect(shown).toEqual({ status, message: 'no', errors: { advertiserId: ['2'] } });
      }
    });

    it('keeps a refusal’s words from a limited team', async () => {
      says(sends('{"message":"no","data":[{"advertiser":2}]}', {}, 422));
      expect(await upstreamOf(FINAL)).toEqual({ status: 422, message: null });
    });

    it('is not given to it as raw bytes', async () => {
      says(sends(FOREIGN, {}, 422));
      const query = `${FINAL}&_format=raw`;
      expect(outcomeOf(await ask(query))).toBe('502 upstream_invalid_response');
      expect((await askAll(query)).text).toBe(FOREIGN);
      expect((await ask(query, { method: 'HEAD' })).status).toBe(502);
    });

    it('is withheld where the totals are what is refused', async () => {
      says((request, response) => {
        const isMain = request.url?.includes('byCampaign');
        sends(isMain ? '{"data":[{"impressions":1}]}' : FOREIGN, {}, isMain ? 200 : 422)(request, response);
      });
      expect(await upstreamOf(`${FINAL}&_totals=1`)).toEqual({ status: 422, message: null });
    });

    it.each([
      '{"message":"The given data was invalid.","errors":{"advertiserId":["The advertiser id must be an integer."]}}',
      '{"message":"no","advertiser_id":1}',
    ])('is told with its words where it names none: %s', async (body) => {
      says(sends(body, {}, 422));
      expect(await upstreamOf(FINAL)).toMatchObject({ status: 422, message: JSON.parse(body).message });
      expect((await ask(`${FINAL}&_format=raw`)).text).toBe(body);
    });

    it('is told with its words where it is no JSON', async () => {
      const message = 'there is no such campaign';
      says(sends(message, { 'content-type': 'text/plain' }, 404));
      expect(await upstreamOf(FINAL)).toEqual({ status: 404, message });
    });
  });
});
