/** The admin plane takes a request in one way, or says which part of it can be taken in two. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, type SimulatedGateway, startGateway } from '../../support/start-gateway.js';
import { DAY } from '../../support/test-clock.js';
import { callAdmin } from './admin-calls.js';

const LIMIT_MS = 100 * 366 * DAY;
const WEEK = 'advertiserId=1&byDate=1&dateFrom=2026-11-08&dateTo=2026-11-14';
const REPORT_URL = `/api/v1/report/campaigns/get?${WEEK}`;

let gateway: SimulatedGateway;
beforeAll(async () => {
  gateway = await startGateway({ config: { testClock: true } });
  await gateway.addTeam({ id: 'known', advertisers: [1] });
});
afterAll(() => gateway.close());

type Send = [method: 'POST' | 'PATCH' | 'PUT', path: string, body: unknown, param?: string];

/** Sends what is refused, and looks that nothing was changed. */
async function refused([method, path, body]: Send) {
  const audited = () => gateway.manage('GET', '/audit?limit=1');
  const before = await audited();
  const { status, json } = await callAdmin(gateway, method, path, body);
  expect([status, json.code]).toEqual([422, 'invalid_body']);
  expect(await audited()).toEqual(before);
  return { errors: (json.errors ?? []) as { param: string; message: string }[], detail: json.detail };
}

describe('a body', () => {
  it.each<Send>([
    ['POST', 'teams', '{"id":"a","advertisers":[1],"advertisers":"*"}', 'advertisers'],
    ['POST', 'teams', '{"id":"a","advertisers":[1],"\\u0061dvertisers":"*"}', 'advertisers'],
    ['PATCH', 'teams/known', '{"limits":{"maxConcurrent":1,"maxConcurrent":32}}', 'limits.maxConcurrent'],
    ['POST', 'teams/apply', '{"teams":[{"id":"a"},{"id":"b","id":"c"}]}', 'teams.1.id'],
    ['POST', 'teams/known/keys', '{"expiresAt":"2030-01-01","expiresAt":null}', 'expiresAt'],
    ['POST', 'cache/purge', '{"all":true,"all":true}', 'all'],
    ['POST', 'token/stage', '{"token":"one","token":"two"}', 'token'],
    ['POST', 'registry/import', '{"replace":false,"replace":true}', 'replace'],
  ])('of %s %s that has a member twice changes nothing, and the member is named', async (...sent) => {
    const { errors } = await refused(sent);
    expect(errors).toEqual([{ param: sent[3], message: expect.stringContaining('more than once') }]);
  });

  it.each<Send>([
    ['PUT', 'clock', {}, 'offsetMs'],
    ['PUT', 'clock', { offsetMs: '1' }, 'offsetMs'],
    ['PUT', 'clock', { offsetMs: 1.5 }, 'offsetMs'],
    ['PUT', 'clock', { offsetMs: null }, 'offsetMs'],
    ['PUT', 'clock', { offsetMs: LIMIT_MS + 1 }, 'offsetMs'],
    ['PUT', 'clock', { offsetMs: -LIMIT_MS - 1 }, 'offsetMs'],
    ['PUT', 'clock', { offsetMs: 1, now: 2 }, 'now'],
    ['POST', 'cache/purge', { dryRun: true }, 'all'],
    ['POST', 'cache/purge', { advertiserId: 1, query: WEEK }, 'query'],
    ['POST', 'cache/purge', { advertiserId: 1, query: WEEK, dryRun: true }, 'query'],
    ['POST', 'cache/purge', { from: '2026-11-09', to: '2026-11-08', dryRun: true }, 'to'],
    ['POST', 'writes/stop', {}, 'reason'],
    ['POST', 'writes/stop', { reason: '' }, 'reason'],
    ['POST', 'writes/stop', { reason: ' ' }, 'reason'],
    ['POST', 'writes/stop', { reason: 'two\nlines' }, 'reason'],
    ['POST', 'writes/stop', { reason: 'x'.repeat(301) }, 'reason'],
    ['POST', 'writes/stop', { reason: 'x', tema: 'y' }, 'tema'],
    ['POST', 'teams', '', 'id'],
  ])('of %s %s is refused, and changes nothing: %j, by %s', async (...sent) => {
    const { errors } = await refused(sent);
    expect(errors.map(({ param }) => param)).toEqual([sent[3]]);
    expect(gateway.clock.offsetMs).toBe(0);
  });

  it.each<[string, string | Buffer, string]>([
    ['no UTF-8', Buffer.from('{"id":"a","name":"\xff"}', 'latin1'), 'The body is not UTF-8.'],
    ['no JSON', '{"id":', 'The body is not JSON'],
  ])('that is %s is refused, and is not altered', async (_what, body, detail) => {
    expect((await refused(['POST', 'teams', body])).detail).toContain(detail);
    expect(gateway.services.directory.team('a')).toBeUndefined();
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'as %s is refused for its type, not for its members',
    async (type) => {
      const { statusCode, body } = await gateway.admin.inject({
        method: 'POST',
        url: '/admin/v1/teams',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': type },
        payload: '{"id":"a"}',
      });
      expect([statusCode, JSON.parse(body).code]).toEqual([415, 'unsupported_media_type']);
      expect(gateway.services.directory.team('a')).toBeUndefined();
    },
  );
});

describe('a query', () => {
  it.each([
    ['audit?before=nope', 'before'],
    ['audit?before=', 'before'],
    ['audit?before=1&before=2', 'before'],
    ['audit?before=1%0a', 'before'],
    ['audit?limit=0', 'limit'],
    ['audit?limit=1001', 'limit'],
    ['audit?limit=ten', 'limit'],
    ['audit?limit=1&limit=2', 'limit'],
    ['audit?since=2026-02-30', 'since'],
    ['audit?since=2026-02-30T10:00:00Z', 'since'],
    ['audit?since=2026-02-01&since=2026-02-02', 'since'],
    ['audit?search=', 'search'],
    [`audit?search=${'x'.repeat(201)}`, 'search'],
    ['audit?search=a&search=b', 'search'],
    ['audit?actor=', 'actor'],
    ['usage?team=No%20Team', 'team'],
    ['usage?from=nope', 'from'],
    ['series', 'range'],
    ['tail?team=No%20Team', 'team'],
    ['tail?outcome=luck', 'outcome'],
    ['requests?outcome=luck', 'outcome'],
    ['requests?since=2026-02-30', 'since'],
    ['requests?until=now', 'until'],
    ['requests?limit=0', 'limit'],
    ['tail?seconds=3601', 'seconds'],
    ['series?range=1h&range=1h', 'range'],
    ['series?range=1h&team=No%20Team', 'team'],
    ['series/teams?range=1d', 'range'],
  ])('%s is refused by the name of its parameter', async (path, param) => {
    const { status, json } = await callAdmin(gateway, 'GET', path);
    expect([status, json.code, json.errors]).toMatchObject([400, 'invalid_query', [{ param }]]);
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
    [{ url: 'https://gateway.example/api/v1/campaign/get?id=1' }, 'url'],
    [{ url: 'advertiserId=1' }, 'url'],
    [{ url: '/api/v1/report/campaigns/../get?advertiserId=1' }, 'url'],
    [{ url: REPORT_URL, endpoint: 'campaigns/get' }, 'url'],
    [{ url: REPORT_URL, query: WEEK }, 'url'],
  ])('to explain %j is refused by the name of what is wrong', async (params, param) => {
    const { status, json } = await callAdmin(gateway, 'GET', `cache/explain?${new URLSearchParams(params)}`);
    expect([status, json.code, json.errors]).toMatchObject([400, 'invalid_query', [{ param }]]);
  });
});

it('a key that has expired cannot be rolled: the new secret would be dead, too', async () => {
  const expiresAt = new Date(gateway.clock.now() + 60_000).toISOString();
  const { id } = await gateway.manage('POST', '/teams/known/keys', { expiresAt });
  gateway.clock.advance(60_000);
  const { status, json } = await callAdmin(gateway, 'POST', `keys/${id}/roll`, {});
  expect([status, json.code, json.detail]).toEqual([409, 'conflict', expect.stringContaining('expired')]);
});
