/** What a running gateway answers is what its OpenAPI documents say: each status, type, header and member. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/simulator.js';
import type { RegistryCommit, Store } from '../../../src/store/port.js';
import { daysBefore } from '../../support/ask.js';
import { prove } from '../../support/prove.js';
import { ADMIN_TOKEN, gatewayAt, REPORT } from '../../support/start-gateway.js';
import { type DescribedGateway, describedGateway, unseen } from './described-gateway.js';
import { Description, type Document } from './document.js';

const BY_DATE = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const CREATE = '/api/v1/campaign/create';
const CAMPAIGN = {
  userId: 1,
  name: 'Autumn',
  adDomain: 'shop.example',
  clickUrl: 'https://shop.example/',
  country: 'DE',
  dates: { from: '2027-01-01', to: '2027-02-01' },
  bid: 1.5,
  budget: { daily: 10, total: 300 },
  creativeSetIds: [1],
};
const TEAM = {
  id: 'a',
  name: 'A',
  scopes: [
    'report:read',
    'report:pin',
    'report:watch',
    'platform:read',
    'platform:write',
    'cache:refresh',
    'mcp',
  ],
  advertisers: '*',
};

const JSON_TYPE = { 'content-type': 'application/json' };
/** As they are shipped, and a GET that is declared beside them. */
const ROUTES = [
  { method: 'POST', path: CREATE, account: ['body.userId', 'body.advertiserId'] },
  { method: 'POST', path: '/api/v1/campaign/get', read: true, account: ['body.userId'] },
  { method: 'GET', path: '/api/v1/campaign/*' },
];

/** A store of which no replica confirms a change. */
/** Copied as far as anybody sees it here. */
const copied = (store: Store): Store =>
  Object.assign(Object.create(store) as Store, {
    backup: async (_folder, _withHistory, begin) => begin(),
  } satisfies Partial<Store>);

function unconfirming(store: Store): Store {
  const registry: Store['registry'] = Object.assign(Object.create(store.registry), {
    commit: async (change: RegistryCommit) => ({
      ...(await store.registry.commit(change)),
      unconfirmed: { replicas: 0, wanted: 1 },
    }),
  });
  return Object.assign(Object.create(store) as Store, { registry });
}

/** A team `a` and a key of it. */
async function withTeam(options?: Parameters<typeof describedGateway>[0]) {
  const world = await describedGateway(options);
  await world.admin.call('POST', '/admin/v1/teams', { json: TEAM });
  const issued = await world.admin.call('POST', '/admin/v1/teams/a/keys', { json: { label: 'dashboards' } });
  const { id, key } = issued.json<{ id: string; key: string }>();
  return { ...world, keyId: id, key };
}

/** A request, a notification, and a request that the protocol refuses. */
async function speakMcp({ call }: DescribedGateway['data'], key: string) {
  const headers = { ...JSON_TYPE, accept: 'application/json, text/event-stream' };
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const statuses = [];
  for (const [json, revision] of [
    [ping, '2025-11-25'],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, '2025-11-25'],
    [ping, '2024-10-07'],
  ] as const) {
    const versioned = { ...headers, 'mcp-protocol-version': revision };
    statuses.push((await call('POST', '/mcp', { key, json, headers: versioned })).status);
  }
  expect(statuses).toEqual([200, 202, 400]);
}

/** As a browser does it, without a key or token in a header. */
async function signInAndOut({ call, url }: DescribedGateway['data'], path: string, json: object) {
  const signed = await call('POST', path, { json });
  const cookie = String(signed.headers['set-cookie']).split(';', 1)[0] ?? '';
  const byCookie = { cookie, origin: url, 'x-csrf-token': signed.json<{ csrf: string }>().csrf };
  const options = { bearer: undefined, headers: byCookie };
  for (const method of ['GET', 'HEAD'] as const) expect((await call(method, path, options)).status).toBe(200);
  expect((await call('DELETE', path, options)).status).toBe(204);
  expect((await call('GET', path, options)).status).toBe(401);
}

/** As catch-up, again, and as events, which end with their reader. */
async function followChanges({ call, url }: DescribedGateway['data'], key: string) {
  const target = '/gateway/v1/changes?offset=-1';
  const first = await call('GET', target, { key });
  expect(first.json()).toHaveProperty('0.headers.kind');
  const same = { key, headers: { 'if-none-match': String(first.headers.etag) } };
  expect((await call('GET', target, same)).status).toBe(304);
  expect((await call('HEAD', target, { key })).status).toBe(200);
  const events = await fetch(`${url}${target}&live=sse`, { headers: { 'x-api-key': key } });
  expect(events.headers.get('content-type')).toContain('text/event-stream');
  await events.body?.cancel();
}

/** Every GET, as a HEAD too. */
async function read(plane: DescribedGateway['data'], target: string, options = {}) {
  const answer = await plane.call('GET', target, options);
  expect((await plane.call('HEAD', target, options)).status).toBe(answer.status);
  return answer;
}

describe('the data plane', () => {
  it('answers every operation as it is described', async () => {
    const { gateway, data, key } = await withTeam({ config: { routes: ROUTES } });
    for (const open of ['/healthz', '/readyz', '/openapi.json'])
      expect((await read(data, open)).status).toBe(200);
    const report = await read(data, `${REPORT}?${BY_DATE}&_totals=1&_days=1`, { key });
    expect(report.json()).toHaveProperty('meta.days.6');
    const { etag = '' } = report.headers;
    const again = { key, headers: { 'if-none-match': etag } };
    expect((await read(data, `${REPORT}?${BY_DATE}&_totals=1&_days=1`, again)).status).toBe(304);
    for (const format of ['csv', 'ndjson'])
      expect((await read(data, `${REPORT}?${BY_DATE}&_format=${format}`, { key })).status).toBe(200);
    expect((await read(data, REPORT, { key })).json()).toMatchObject({ meta: { period: null } });
    const posted = await data.call('POST', REPORT, { key, json: { advertiserId: 1, byCampaign: true } });
    expect(posted.json()).toHaveProperty('meta.split.0', 'campaign');
    const order = { key, json: CAMPAIGN, headers: { 'idempotency-key': 'once' } };
    const created = await data.call('POST', CREATE, order);
    const replayed = await data.call('POST', CREATE, order);
    expect([created.status, replayed.status, replayed.text]).toEqual([201, 201, created.text]);
    expect(replayed.headers['idempotency-replayed']).toBe('true');
    await data.call('POST', '/api/v1/campaign/get', { key, json: { userId: 1 } });
    const about = `endpoint=campaigns/get&query=${encodeURIComponent(BY_DATE)}`;
    await prove(gateway, key);
    await gateway.report(key, BY_DATE);
    await gateway.services.settled();
    expect((await read(data, `/gateway/v1/revisions?${about}`, { key })).json()).toHaveProperty('data.6');
    for (const format of ['json', 'csv'])
      await read(data, `/gateway/v1/diff?${about}&from=first&to=latest&_format=${format}`, { key });
    expect((await read(data, '/gateway/v1/advertisers', { key })).json()).toHaveProperty(
      'advertisers.0.id',
      1,
    );
    expect((await read(data, `/gateway/v1/explain?${about}`, { key })).json()).toHaveProperty('days.6');
    for (const of of ['finality', 'truth'])
      expect((await read(data, `/gateway/v1/${of}?${about}`, { key })).json()).toHaveProperty('data.0.ages');
    const body = { endpoint: 'campaigns/get', query: BY_DATE, note: 'November' };
    const pin = (await data.call('POST', '/gateway/v1/pins', { key, json: body })).json<{ id: string }>();
    const learn = { endpoint: 'campaigns/get', query: BY_DATE };
    const learning = await data.call('POST', '/gateway/v1/learn', { key, json: learn });
    expect([learning.status, learning.json()]).toEqual([
      202,
      { state: expect.any(String), started: expect.any(Boolean) },
    ]);
    const watch = { key, json: learn };
    for (const [path, status] of [
      ['w?dryRun=1', 200],
      ['w', 201],
      ['w', 200],
    ] as const)
      expect((await data.call('PUT', `/gateway/v1/watches/${path}`, watch)).status).toBe(status);
    expect((await read(data, '/gateway/v1/watches', { key })).json()).toHaveProperty('data.0.id', 'w');
    expect((await read(data, '/gateway/v1/watches/w', { key })).json()).toHaveProperty('days', 7);
    expect((await data.call('DELETE', '/gateway/v1/watches/w', { key })).status).toBe(204);
    for (const format of ['json', 'csv', 'ndjson'])
      await read(data, `/gateway/v1/pins/${pin.id}?_format=${format}`, { key });
    expect((await read(data, '/gateway/v1/pins', { key })).json()).toHaveProperty('data.0.id', pin.id);
    expect((await data.call('DELETE', `/gateway/v1/pins/${pin.id}`, { key })).status).toBe(204);
    await gateway.services.tally.flush();
    expect((await read(data, '/gateway/v1/me', { bearer: key })).json()).toHaveProperty('usage.0.requests');
    await signInAndOut(data, '/gateway/v1/session', { key });
    await speakMcp(data, key);
    await followChanges(data, key);
    expect((await read(data, '/gateway/v1/series?range=30d', { key })).json()).toHaveProperty('points', 720);
    // The first needs a company account: test/api/sign-in/persons-sessions.test.ts.
    expect(unseen(data)).toEqual(['chooseTeam', 'getCampaignSegment']);
    expect((await read(data, '/api/v1/campaign/nothing', { key })).status).toBe(404);
  });

  it('answers what it refuses as it is described', async () => {
    const { admin, data, key, gateway, simulator } = await withTeam();
    const refused = async (call: string, options: object = {}) => {
      const [method = '', target = ''] = call.split(' ');
      const { status, text } = await data.call(method as 'GET', target, options);
      return `${status} ${(JSON.parse(text) as { code: string }).code}`;
    };
    const get = `GET ${REPORT}`;
    expect(await refused(`${get}?${BY_DATE}`)).toBe('401 missing_api_key');
    expect(await refused(`${get}?${BY_DATE}`, { key: 'nonsense' })).toBe('401 invalid_api_key');
    expect(await refused('GET /gateway/v1/me')).toBe('401 missing_api_key');
    expect(await refused(`${get}?DateFrom=2026-11-01&dateTo=1`, { key })).toBe('400 invalid_query');
    expect(await refused(`${get}?${BY_DATE}`, { key, headers: { accept: 'image/png' } })).toBe(
      '406 not_acceptable',
    );
    const cached = { key, headers: { 'cache-control': 'only-if-cached' } };
    expect(await refused(`${get}?${BY_DATE}`, cached)).toBe('504 not_cached');
    expect(await refused(`POST ${REPORT}`, { key, body: 'x' })).toBe('415 unsupported_media_type');
    expect(await refused(`POST ${REPORT}`, { key, json: [] })).toBe('400 invalid_body');
    simulator.fault({ kind: 'status', status: 422, message: 'no' });
    expect(await refused(`${get}?advertiserId=2`, { key })).toBe('422 upstream_rejected');
    simulator.fault({ kind: 'html' });
    expect(await refused(`${get}?advertiserId=3`, { key })).toBe('502 upstream_invalid_response');
    const once = { key, headers: { 'idempotency-key': 'k' } };
    await data.call('POST', CREATE, { ...once, json: { userId: 1, name: 'x' } });
    expect(await refused(`POST ${CREATE}`, { ...once, json: { userId: 2, name: 'x' } })).toBe(
      '422 idempotency_mismatch',
    );
    await admin.call('PATCH', '/admin/v1/teams/a', { json: { advertisers: [1] } });
    expect(await refused(`${get}?advertiserId=2`, { key })).toBe('403 advertiser_forbidden');
    expect(await refused(get, { key })).toBe('403 advertiser_required');
    expect(await refused(`POST ${CREATE}`, { key, json: { userId: 2 } })).toBe('403 advertiser_forbidden');
    const slow = { key: await gateway.addTeam({ limits: { requestsPerMinute: 1 } }) };
    await data.call('GET', `${REPORT}?advertiserId=1`, slow);
    expect(await refused(`${get}?advertiserId=1`, slow)).toBe('429 rate_limited');
    await admin.call('PATCH', '/admin/v1/teams/a', { json: { scopes: [] } });
    expect(await refused(`${get}?${BY_DATE}`, { key })).toBe('403 scope_missing');
    await admin.call('PATCH', '/admin/v1/teams/a', { json: { disabled: true } });
    expect(await refused('GET /gateway/v1/me', { key })).toBe('403 team_disabled');
    simulator.fault({ kind: 'status', status: 429, retryAfterS: 30 });
    const other = await gateway.addTeam();
    await refused(`${get}?advertiserId=5`, { key: other });
    expect(await refused(`${get}?advertiserId=6`, { key: other })).toBe('503 upstream_rate_limited');
  });
});

it('a gateway that is not ready says so as it is described', async () => {
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  const gateway = await gatewayAt({ url: simulator.url, token: '' });
  const description = new Description((await gateway.data.inject('/openapi.json')).json<Document>());
  const { status, headers, text } = await gateway.call('/readyz');
  expect([status, JSON.parse(text)]).toMatchObject([503, { ready: false, credential: 'missing' }]);
  const exchange = { method: 'GET', target: '/readyz', status, headers, text };
  expect(description.faultsOf(exchange)).toEqual([]);
});

describe('the admin plane', () => {
  it('answers every operation as it is described', async () => {
    const { admin, data, gateway, simulator, key, keyId } = await withTeam({ wrapStore: copied });
    const change = (method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, json?: object) =>
      admin.call(method, path, json === undefined ? {} : { json });
    await data.call('GET', `${REPORT}?${BY_DATE}`, { key });
    await gateway.services.tally.flush();
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/metrics'])
      expect((await read(admin, path)).status).toBe(200);
    const explained = encodeURIComponent(BY_DATE);
    for (const path of [
      '/status',
      '/teams',
      '/teams/a',
      '/teams/a/keys',
      '/keys',
      '/token',
      '/usage',
      '/advertisers?search=1&limit=5',
      '/series?range=24h',
      '/tail?seconds=1',
      '/series?range=24h&team=a',
      '/series/teams?range=1h',
      '/divisibility',
      '/changes?limit=5',
      `/finality?endpoint=campaigns/get&query=${explained}`,
      '/truth?advertiserId=1',
      `/usage?from=${daysBefore('2026-11-21', 3)}&to=2026-11-21&team=a`,
      `/cache/explain?endpoint=campaigns/get&query=${explained}`,
      `/cache/explain?url=${encodeURIComponent(`/api/v1/report/campaigns/get?${BY_DATE}`)}`,
      '/cache/explain?endpoint=campaigns/get&query=advertiserId%3D1%26_totals%3D1',
    ]) {
      expect([path, (await read(admin, `/admin/v1${path}`)).status]).toEqual([path, 200]);
    }
    const failed = await data.call('GET', `${REPORT}?dateFrom=nonsense`, { key });
    const { requestId } = JSON.parse(failed.text) as { requestId: string };
    for (const path of [`/${requestId}`, '?outcome=error&team=a&since=2026-11-01&limit=5'])
      expect((await read(admin, `/admin/v1/requests${path}`)).status).toBe(200);
    await change('PATCH', '/admin/v1/teams/a', { name: 'Another' });
    const declared = { teams: [{ id: 'declared' }] };
    await change('POST', '/admin/v1/teams/apply', { ...declared, dryRun: true });
    await change('POST', '/admin/v1/teams/apply', declared);
    await change('POST', `/admin/v1/keys/${keyId}/roll`, { overlapSeconds: 60 });
    await read(admin, '/admin/v1/teams/a/keys');
    await change('DELETE', `/admin/v1/keys/${keyId}`);
    const ofPerson = '/admin/v1/persons/person_0123456789abcdef01234567';
    for (const what of ['keys', 'sessions']) await change('POST', `${ofPerson}/revoke-${what}`);
    await admin.call('POST', '/admin/v1/session', { json: { token: ADMIN_TOKEN } });
    const { sessions } = (await read(admin, '/admin/v1/sessions')).json<{ sessions: { id: string }[] }>();
    expect((await change('DELETE', `/admin/v1/sessions/${sessions[0]?.id}`)).status).toBe(204);
    expect((await read(admin, '/admin/v1/me')).json()).toMatchObject({ by: 'token', role: 'owner' });
    const stage = (name: string, json: object = {}) => change('POST', `/admin/v1/token/${name}`, json);
    for (const [name, json] of [
      ['stage', { token: simulator.issueToken(), expiresAt: '2027-11-01' }],
      ['verify'],
      ['activate'],
      ['rollback'],
      ['mint'],
      ['discard'],
      ['rotate', { token: simulator.issueToken() }],
      ['reseal'],
    ] as const) {
      expect([name, (await stage(name, json)).status]).toEqual([name, 200]);
    }
    const backup = (await read(admin, '/admin/v1/registry/export')).json();
    await change('POST', '/admin/v1/registry/import', { ...backup, replace: true });
    await change('POST', '/admin/v1/store/backup', { folder: '/backup/today' });
    await change('POST', '/admin/v1/doctor');
    await change('POST', '/admin/v1/cache/purge', { all: true, dryRun: true });
    for (const soft of [true, false])
      await change('POST', '/admin/v1/cache/purge', { advertiserId: 1, soft });
    await change('POST', '/admin/v1/history/erase', { advertiserId: 1 });
    for (const dryRun of [true, false])
      await change('POST', '/admin/v1/history/accept-empty', {
        advertiserId: 1,
        endpoint: 'campaigns/get',
        before: '2026-01-01',
        dryRun,
      });
    for (const team of [{}, { team: 'a' }]) {
      const order = { ...team, reason: 'budgets look wrong' };
      await change('POST', '/admin/v1/writes/stop', order);
      expect((await read(admin, '/admin/v1/writes')).status).toBe(200);
      await change('POST', '/admin/v1/writes/resume', order);
    }
    const { reservations } = gateway.services;
    const budget = { field: 'body.total', maxPerDay: 1 };
    await change('PATCH', '/admin/v1/teams/a', {
      writeGuard: { 'POST /api/v1/campaign/create': { budget } },
    });
    expect((await read(admin, '/admin/v1/teams/a/write-budgets')).json()).toHaveProperty('budgets.0.left', 1);
    const asked = { team: 'a', route: 'POST /api/v1/campaign/create', amount: 1, max: 1 };
    const reserved = await reservations.reserve(asked);
    if (reserved.kind === 'over') throw new Error('there was room');
    await reservations.keepUnknown(reserved.reservation, 'nobody knows');
    expect((await read(admin, '/admin/v1/writes/unknown')).json()).toHaveProperty('writes.0.day');
    const settled = { id: reserved.reservation.id, outcome: 'happened' };
    expect((await change('POST', '/admin/v1/writes/settle', settled)).status).toBe(200);
    await change('PUT', '/admin/v1/clock', { offsetMs: 5 });
    expect((await change('DELETE', '/admin/v1/teams/a')).status).toBe(204);
    const { entries } = (await read(admin, '/admin/v1/audit')).json<{ entries: object[] }>();
    expect(entries.length).toBeGreaterThan(10);
    await signInAndOut(admin, '/admin/v1/session', { token: ADMIN_TOKEN });
    expect(unseen(admin)).toEqual([]);
  });

  it('answers what it refuses as it is described', async () => {
    const { admin, keyId } = await withTeam();
    const refused = async (call: string, options: object = {}) => {
      const [method = '', path = ''] = call.split(' ');
      const { status, text } = await admin.call(method as 'GET', `/admin/v1${path}`, options);
      return `${status} ${(JSON.parse(text) as { code: string }).code}`;
    };
    const calls = admin.description.operations().map(({ call }) => call);
    for (const call of calls.filter((one) => one.includes(' /admin/v1/') && !one.startsWith('HEAD'))) {
      const path = call.replace('/admin/v1', '').replace(/\{\w+\}/, 'x');
      // What signs in is in the body.
      if (path !== 'POST /session')
        expect(await refused(path, { bearer: 'nonsense' })).toBe('401 invalid_admin_token');
      if (!path.startsWith('GET')) {
        expect([call, await refused(path, { body: '[', headers: JSON_TYPE })]).toEqual([
          call,
          '422 invalid_body',
        ]);
      }
    }
    for (const path of [
      '/audit?limit=0',
      '/usage?from=x',
      '/tail?seconds=0',
      '/requests?limit=201',
      '/series',
      '/series/teams',
      '/cache/explain',
    ])
      expect(await refused(`GET ${path}`)).toBe('400 invalid_query');
    for (const call of [
      'GET /requests/x',
      'GET /teams/x',
      'PATCH /teams/x',
      'DELETE /teams/x',
      'GET /teams/x/keys',
    ])
      expect(await refused(call)).toBe('404 not_found');
    expect(await refused('POST /teams', { json: { id: 'a' } })).toBe('409 conflict');
    await admin.call('DELETE', `/admin/v1/keys/${keyId}`);
    expect(await refused(`POST /keys/${keyId}/roll`)).toBe('409 conflict');
    for (const step of ['verify', 'activate', 'rollback', 'discard'])
      expect(await refused(`POST /token/${step}`)).toBe('409 conflict');
    const junk = { json: { token: 'junk' } };
    expect(await refused('POST /token/rotate', junk)).toBe('409 verification_failed');
    expect(await refused('POST /teams', { body: 'x', headers: { 'content-type': 'image/png' } })).toBe(
      '415 unsupported_media_type',
    );
  });

  it('says of changes that too few replicas have confirmed what is described', async () => {
    const { admin, keyId } = await withTeam({ wrapStore: unconfirming });
    const { unconfirmed } = (await admin.call('POST', '/admin/v1/teams', { json: { id: 'b' } })).json();
    expect(unconfirmed).toEqual({ replicas: 0, wanted: 1 });
    expect((await admin.call('DELETE', `/admin/v1/keys/${keyId}`)).json()).toEqual({ unconfirmed });
    expect((await admin.call('POST', '/admin/v1/cache/purge', { json: { all: true } })).json()).toEqual({
      purged: 'all',
      unconfirmed,
    });
  });
});
