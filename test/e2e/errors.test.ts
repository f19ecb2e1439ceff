/** Every code of the contract's error table that can be produced: status, type, members, and a page that explains it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/errors.js';
import {
  type Answer,
  type Ask,
  admin,
  ask,
  type IssuedKey,
  newTeam,
  REPORT,
  simulatorOf,
} from '../support/ask.js';
import {
  type Gateway,
  type Platform,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';

let platform: Platform;
let gateway: Gateway;
/** Impatient, and with little room: for the codes that need it. */
let small: Gateway;
let full: IssuedKey;
let limited: IssuedKey;
let inSmall: IssuedKey;

/** An admin token that may only look. */
const VIEWER = 'token-of-one-who-looks';

async function settings(text: string): Promise<string> {
  const path = join(await tempFolder(), 'gateway.yaml');
  await writeFile(path, text);
  return path;
}

beforeAll(async () => {
  platform = await startPlatform();
  const retry = 'retry: { attempts: 1, baseMs: 1 }';
  const [roomy, tight] = [
    await settings(
      `platform: { ${retry} }\nauth: { adminTokens: [{ name: watch, role: viewer, tokenFile: ${await settings(VIEWER)} }] }`,
    ),
    await settings(
      `platform: { timeoutMs: 600, maxConcurrent: 1, maxQueued: 0, maxAnswerBytes: 2048, ${retry} }`,
    ),
  ];
  [gateway, small] = await Promise.all([
    startGateway({ ...platform.env, GATEWAY_CONFIG: roomy }),
    startGateway({ ...platform.env, GATEWAY_CONFIG: tight }),
  ]);
  full = await newTeam(gateway, { id: 'full' });
  limited = await newTeam(gateway, { id: 'limited', advertisers: [1, 2] });
  inSmall = await newTeam(small, { id: 'small' });
});

const seen = new Set<string>();

/** The members and headers of a problem, and its page. */
async function expectProblem(
  answer: Answer,
  status: number,
  code: string,
  more: Record<string, unknown> = {},
): Promise<void> {
  const problem = answer.json();
  expect({ status: answer.status, code: problem.code }).toEqual({ status, code });
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(problem).toEqual({
    type: `/docs/errors/${code}`,
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S.*\.$/),
    help: expect.stringMatching(/^[A-Z].*\.$/),
    code,
    requestId: answer.headers['x-request-id'],
    ...more,
  });
  expect(String(problem.requestId)).toMatch(/^[0-9a-f-]{36}$/);
  seen.add(code);
}

/** The same of an answer read byte for byte. */
function expectRawProblem(text: string, status: number, code: string): Promise<void> {
  const [answer, ...others] = readAnswers(text);
  expect(others).toEqual([]);
  const lines = (answer?.head ?? '').split('\r\n').slice(1);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  expect(headers.connection).toBe('close');
  const body = answer?.body ?? '';
  return expectProblem(
    {
      status: answer?.status ?? 0,
      headers,
      text: body,
      bytes: Buffer.from(body),
      json: <T>() => JSON.parse(body) as T,
    },
    status,
    code,
  );
}

const report = (query: string, options: Ask = {}): Promise<Answer> =>
  ask(`${gateway.data}${REPORT}?${query}`, { key: full.key, ...options });
const post = (body: string, options: Ask = {}): Promise<Answer> =>
  report('', { method: 'POST', body, headers: { 'content-type': 'application/json' }, ...options });
const faults = (...params: string[]) => ({
  errors: params.map((param) => ({ param, message: expect.stringMatching(/\S/) })),
});

describe('400', () => {
  it('invalid_query names every parameter at fault', async () => {
    const answer = await report(
      'advertiserId=01&byDate=yes&dateFrom=2026-02-30&Date_To=x&_what=1&_format=xml&campaignIds=a',
    );
    const problem = answer.json<{ errors: { param: string }[] }>();
    expect(new Set(problem.errors.map(({ param }) => param))).toEqual(
      new Set(['advertiserId', 'byDate', 'dateFrom', 'Date_To', '_what', '_format', 'campaignIds']),
    );
    await expectProblem(answer, 400, 'invalid_query', { errors: problem.errors });
  });

  it('invalid_query for a range above the team’s limit names dateTo', async () => {
    const answer = await report('advertiserId=1&dateFrom=2024-01-01&dateTo=2026-01-01');
    await expectProblem(answer, 400, 'invalid_query', faults('dateTo'));
  });

  it('invalid_body', async () => {
    await expectProblem(await post('{"advertiserId":1,"advertiserId":2}'), 400, 'invalid_body');
    await expectProblem(await post('[1]'), 400, 'invalid_body');
    await expectProblem(await post('{"advertiserId":'), 400, 'invalid_body');
  });

  it('invalid_path', async () => {
    for (const path of ['/api/v1/report/campaigns/get/', '/api/v1/%72eport/x', '/API/v1/report/x']) {
      await expectProblem(await ask(gateway.data + path, { key: full.key }), 400, 'invalid_path');
    }
  });

  it('invalid_request', async () => {
    const answer = await report('advertiserId=1', { body: '{}' });
    await expectProblem(answer, 400, 'invalid_request');
  });
});

describe('401', () => {
  it('for a key that is missing, unknown, malformed, doubled, rolled away or withdrawn', async () => {
    await expectProblem(await ask(gateway.data + REPORT), 401, 'missing_api_key');
    const wrong: Ask[] = [
      { key: 'dgw_short' },
      { key: inSmall.key },
      { key: `${full.key.slice(0, -1)}${full.key.endsWith('0') ? '1' : '0'}` },
      { key: full.key, bearer: limited.key },
      { headers: { authorization: `Basic ${full.key}` } },
      { headers: { authorization: `Bearer ${full.key}, Bearer ${full.key}` } },
      { headers: { x_api_key: full.key, 'x-api-key': 'x' } },
    ];
    for (const options of wrong) {
      const answer = await ask(gateway.data + REPORT, options);
      await expectProblem(answer, 401, 'invalid_api_key');
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer /);
    }
    // The same key in both headers is one key; a key in the query is none.
    expect((await report('advertiserId=1&_period=today', { bearer: full.key })).status).toBe(200);
    await expectProblem(await ask(`${gateway.data}${REPORT}?x-api-key=${full.key}`), 401, 'missing_api_key');

    const ended = await ask(gateway.data + REPORT, { headers: { cookie: 'dgw_explorer=none' } });
    await expectProblem(ended, 401, 'invalid_session');
    expect(ended.headers['www-authenticate']).toMatch(/^Bearer /);

    const temporary = await newTeam(gateway, { id: 'temporary' });
    await admin(gateway, 'POST', `/keys/${temporary.id}/roll`, {});
    await expectProblem(await ask(gateway.data + REPORT, { key: temporary.key }), 401, 'expired_api_key');
    const other = await newTeam(gateway, { id: 'other' });
    await admin(gateway, 'DELETE', `/keys/${other.id}`);
    await expectProblem(await ask(gateway.data + REPORT, { key: other.key }), 401, 'revoked_api_key');
  });
});

describe('403', () => {
  it('session_forbidden', async () => {
    const headers = { origin: 'https://elsewhere.example' };
    const answer = await ask(`${gateway.data}/gateway/v1/session`, {
      method: 'POST',
      json: { key: full.key },
      headers,
    });
    await expectProblem(answer, 403, 'session_forbidden');
  });

  it('for what the team may not do', async () => {
    const reader = await newTeam(gateway, { id: 'reader', scopes: ['report:read'] });
    const campaign = `${gateway.data}/api/v1/campaign/1`;
    await expectProblem(await ask(campaign, { key: reader.key }), 403, 'scope_missing');
    await expectProblem(await ask(campaign, { key: limited.key }), 403, 'route_forbidden');
    const foreign = await report('advertiserId=3', { key: limited.key });
    await expectProblem(foreign, 403, 'advertiser_forbidden');
    await expectProblem(await report('byDate=1', { key: limited.key }), 403, 'advertiser_required');
    const headers = { origin: 'https://elsewhere.example' };
    const page = await ask(`${gateway.data}/mcp`, { method: 'POST', headers, json: {} });
    await expectProblem(page, 403, 'origin_forbidden');
    const elsewhere = await newTeam(gateway, { id: 'elsewhere', ipAllow: ['10.0.0.0/8'] });
    await expectProblem(await report('advertiserId=1', { key: elsewhere.key }), 403, 'ip_forbidden');
    const off = await newTeam(gateway, { id: 'off', disabled: true });
    await expectProblem(await report('advertiserId=1', { key: off.key }), 403, 'team_disabled');
    await expectProblem(await ask(`${gateway.data}/gateway/v1/me`, { key: off.key }), 403, 'team_disabled');
  });
});

describe('404, 405, 406, 413, 414, 415, 431', () => {
  it('not_found and method_not_allowed', async () => {
    for (const path of ['/nowhere', '/admin/v1/teams', '/api/v2/report', '/console']) {
      await expectProblem(await ask(gateway.data + path, { key: full.key }), 404, 'not_found');
    }
    for (const path of ['/', '/healthz', '/readyz', '/gateway/v1/me', '/openapi.json']) {
      const answer = await ask(gateway.data + path, { method: 'DELETE', key: full.key });
      await expectProblem(answer, 405, 'method_not_allowed');
      expect(answer.headers.allow).toBe('GET, HEAD');
    }
  });

  it('not_acceptable', async () => {
    const answer = await report('advertiserId=1', { headers: { accept: 'image/png' } });
    await expectProblem(answer, 406, 'not_acceptable');
  });

  it('body_too_large, by the length that is said, or else by what has come', async () => {
    const limit = 1_048_576;
    const start = (path: string, key: string, length: string) =>
      head(`POST ${path} HTTP/1.1`, [
        ...['host: gateway', `x-api-key: ${key}`, 'content-type: application/json', length],
      ]);
    const [said, chunked] = [`content-length: ${limit + 1}`, 'transfer-encoding: chunked'];
    const chunk = `${(limit + 1).toString(16)}\r\n${' '.repeat(limit + 1)}\r\n`;
    const create = '/api/v1/campaign/create';
    // No more is sent than what has to be read: bytes left over would reset the connection under the answer.
    for (const bytes of [
      start(REPORT, full.key, said),
      start(REPORT, full.key, chunked) + chunk,
      start(create, limited.key, chunked) + chunk,
      start(create, limited.key, said) + ' '.repeat(limit + 1),
    ]) {
      await expectRawProblem(await exchange(gateway.data, bytes), 413, 'body_too_large');
    }
  });

  it('uri_too_long and headers_too_large', async () => {
    await expectProblem(await report(`x=${'y'.repeat(8200)}`), 414, 'uri_too_long');
    const long = head(`GET ${REPORT} HTTP/1.1`, ['host: x', `x-long: ${'y'.repeat(32_768)}`]);
    await expectRawProblem(await exchange(gateway.data, long), 431, 'headers_too_large');
  });

  it('unsupported_media_type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', '']) {
      const answer = await post('{"advertiserId":1}', {
        headers: type === '' ? {} : { 'content-type': type },
      });
      await expectProblem(answer, 415, 'unsupported_media_type');
    }
    const packed = await post('{}', {
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    });
    await expectProblem(packed, 415, 'unsupported_media_type');
  });
});

describe('what the platform does', () => {
  /** A report nobody asked for before, so that nothing cached stands in. */
  let fresh = 0;
  const unasked = (options: Ask = {}, at: Gateway = gateway, advertiser = 1): Promise<Answer> => {
    fresh += 1;
    const day = new Date(Date.UTC(2025, 0, fresh)).toISOString().slice(0, 10);
    const query = `advertiserId=${advertiser}&dateFrom=${day}&dateTo=${day}`;
    return ask(`${at.data}${REPORT}?${query}`, { key: at === small ? inSmall.key : full.key, ...options });
  };

  it('upstream_error for 5xx and broken connections, after one more try of a read', async () => {
    const sim = simulatorOf(platform.url);
    await sim.forget();
    await sim.fault({ kind: 'status', status: 500 });
    await expectProblem(await unasked(), 502, 'upstream_error');
    expect(await sim.calls()).toHaveLength(1);
    await sim.fault({ kind: 'status', status: 503, times: 2 });
    await expectProblem(await unasked(), 502, 'upstream_error');
    await sim.fault({ kind: 'reset', times: 2 });
    await expectProblem(await unasked(), 502, 'upstream_error');
    expect(await sim.calls()).toHaveLength(5);
    await sim.fault({ kind: 'status', status: 502 });
    expect((await unasked()).status).toBe(200);
  });

  it('upstream_invalid_response for what is no report', async () => {
    const sim = simulatorOf(platform.url);
    const planned: object[] = [
      { kind: 'html' },
      { kind: 'garbage' },
      { kind: 'redirect' },
      { kind: 'redirect', status: 307, location: 'http://127.0.0.1:1/' },
    ];
    for (const fault of planned) {
      await sim.fault(fault);
      await expectProblem(await unasked(), 502, 'upstream_invalid_response');
    }
    await sim.set({ contentEncoding: 'chain' });
    await expectProblem(await unasked(), 502, 'upstream_invalid_response');
    await sim.set({ contentEncoding: 'none', foreignRows: true });
    // The second row belongs to advertiser 3, which this team may not see.
    await expectProblem(await unasked({ key: limited.key }, gateway, 2), 502, 'upstream_invalid_response');
    await sim.set({ foreignRows: false });
    // A cut answer breaks off under its content-length: as good as unreachable, and tried again.
    await sim.fault({ kind: 'truncate', times: 2 });
    const cut = await unasked();
    expect([502, cut.json().code]).toEqual([cut.status, expect.stringMatching(/^upstream_/)]);
  });

  it('upstream_too_large by the decoded size', async () => {
    const sim = simulatorOf(platform.url);
    await sim.fault({ kind: 'oversize', bytes: 1_000_000 });
    await expectProblem(await unasked({}, small), 502, 'upstream_too_large');
    await sim.set({ contentEncoding: 'bomb' });
    await sim.forget();
    await expectProblem(await unasked({}, small), 502, 'upstream_too_large');
    await expectProblem(await unasked(), 502, 'upstream_too_large');
    // Asked once each: the same again would not be smaller.
    expect(await sim.calls()).toHaveLength(2);
    await sim.set({ contentEncoding: 'none' });
    expect((await unasked({}, small)).status).toBe(200);
  });

  it('upstream_timeout for every way of not finishing, by one deadline', async () => {
    const sim = simulatorOf(platform.url);
    for (const fault of [
      { kind: 'hang' },
      { kind: 'slow', latencyMs: 100 },
      { kind: 'hang-headers', latencyMs: 50 },
    ]) {
      await sim.fault(fault);
      await expectProblem(await unasked({}, small), 504, 'upstream_timeout');
    }
    await sim.fault({ kind: 'status', status: 408 });
    await expectProblem(await unasked(), 504, 'upstream_timeout');
  });

  it('overloaded when too many wait, with retry-after', async () => {
    const sim = simulatorOf(platform.url);
    await sim.set({ latencyMs: 300 });
    const answers = await Promise.all([unasked({}, small), unasked({}, small), unasked({}, small)]);
    await sim.set({ latencyMs: 0 });
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(1);
    for (const answer of refused) {
      await expectProblem(answer, 503, 'overloaded');
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }
  });

  it('upstream_rejected keeps the platform’s status and its scrubbed words', async () => {
    const sim = simulatorOf(platform.url);
    const forbidden = await report('advertiserId=999999&_period=yesterday');
    await expectProblem(forbidden, 403, 'upstream_rejected', {
      upstream: { status: 403, message: 'This action is unauthorized.' },
    });
    const refused = await report('advertiserId=1&_period=yesterday&spentBased=gold');
    await expectProblem(refused, 422, 'upstream_rejected', {
      upstream: {
        status: 422,
        message: expect.any(String),
        errors: { spentBased: [expect.stringContaining('usd, local')] },
      },
    });
    for (const status of [400, 402, 404, 409, 410, 418, 451]) {
      await sim.fault({ kind: 'status', status, message: `no: ${platform.token} ${'x'.repeat(3000)}` });
      const answer = await unasked();
      await expectProblem(answer, status, 'upstream_rejected', {
        upstream: { status, message: expect.stringMatching(/^no: \[redacted\] x+$/) },
      });
      expect(answer.bytes.length).toBeLessThan(1700);
    }
    // Without a message there is none to show.
    await sim.fault({ kind: 'html', status: 404 });
    const page = await unasked();
    await expectProblem(page, 404, 'upstream_rejected', { upstream: { status: 404, message: null } });
  });

  it('upstream_rate_limited for as long as the platform asked, with retry-after', async () => {
    const sim = simulatorOf(platform.url);
    await sim.forget();
    await sim.fault({ kind: 'status', status: 429, retryAfterS: 60 });
    for (const path of [REPORT, '/api/v1/campaign/1', '/api/v1/report/creatives/get']) {
      const answer = await ask(`${small.data}${path}?advertiserId=1`, { key: inSmall.key });
      await expectProblem(answer, 503, 'upstream_rate_limited');
      const wait = Number(answer.headers['retry-after']);
      expect(wait).toBeGreaterThan(50);
      expect(wait).toBeLessThanOrEqual(60);
    }
    expect(await sim.calls()).toHaveLength(1);
    const ready = (await ask(`${small.data}/readyz`)).json<{ platform: string }>();
    expect(ready.platform).toMatch(/^paused for \d+ s$/);
  });
});

describe('what a team has used up', () => {
  it('rate_limited and upstream_budget_exhausted, with retry-after and RateLimit fields', async () => {
    const slow = await newTeam(gateway, {
      id: 'slow',
      limits: { requestsPerMinute: 2, upstreamCallsPerDay: 1 },
    });
    const asked = (of: number) =>
      ask(`${gateway.data}${REPORT}?advertiserId=1&dateFrom=2024-06-01&dateTo=2024-06-0${of}`, {
        key: slow.key,
      });
    expect((await asked(1)).status).toBe(200);
    const exhausted = await asked(2);
    await expectProblem(exhausted, 429, 'upstream_budget_exhausted');
    expect(Number(exhausted.headers['retry-after'])).toBeLessThanOrEqual(86_400);
    const limited = await asked(1);
    await expectProblem(limited, 429, 'rate_limited');
    expect(limited.headers['retry-after']).toMatch(/^(2[0-9]|30)$/);
    expect(limited.headers['ratelimit-policy']).toBe('"team";q=2;w=60');
    expect(limited.headers.ratelimit).toMatch(/^"team";r=0;t=(2[0-9]|30)$/);
  });
});

it('upstream_circuit_open once the platform has failed often enough in a row', async () => {
  const own = await startPlatform();
  const config = await settings('platform: { circuit: { failures: 2 }, retry: { attempts: 0 } }');
  const careful = await startGateway({ ...own.env, GATEWAY_CONFIG: config });
  const { key } = await newTeam(careful, { id: 'careful' });
  await simulatorOf(own.url).fault({ kind: 'status', status: 500, times: 10 });
  const asked = () => ask(`${careful.data}${REPORT}?advertiserId=1&_period=yesterday`, { key });
  for (const _ of [1, 2]) await expectProblem(await asked(), 502, 'upstream_error');
  const refused = await asked();
  await expectProblem(refused, 503, 'upstream_circuit_open');
  expect(refused.headers['retry-after']).toMatch(/^([1-9]|10)$/);
  expect(await simulatorOf(own.url).calls()).toHaveLength(2);
});

it('idempotency_mismatch and idempotency_in_flight', async () => {
  const sim = simulatorOf(platform.url);
  const create = (name: string) =>
    ask(`${gateway.data}/api/v1/campaign/create`, {
      method: 'POST',
      key: full.key,
      json: { userId: 1, name },
      headers: { 'idempotency-key': 'in-doubt' },
    });
  await sim.fault({ kind: 'status', status: 500, path: '/campaign/create' });
  await expectProblem(await create('one'), 502, 'upstream_error');
  await expectProblem(await create('one'), 409, 'idempotency_in_flight');
  await expectProblem(await create('two'), 422, 'idempotency_mismatch');
});

it('not_known_then for a moment of which nothing was written down', async () => {
  const days = 'advertiserId=1&byDate=1&dateFrom=2020-01-01&dateTo=2020-01-02';
  const answer = await ask(`${gateway.data}${REPORT}?${days}&_asOf=2020-02-01`, full);
  await expectProblem(answer, 404, 'not_known_then');
});

it('not_final for days that may still change', async () => {
  const answer = await ask(
    `${gateway.data}${REPORT}?advertiserId=1&byDate=1&_period=yesterday&_final=require`,
    full,
  );
  await expectProblem(answer, 409, 'not_final');
});

it('not_cached for only-if-cached on a miss', async () => {
  const sim = simulatorOf(platform.url);
  await sim.forget();
  const only = { headers: { 'cache-control': 'only-if-cached' } };
  const answer = await report('advertiserId=1&dateFrom=2024-05-05&dateTo=2024-05-05', only);
  await expectProblem(answer, 504, 'not_cached');
  expect(await sim.calls()).toEqual([]);
  expect((await report('advertiserId=1&dateFrom=2024-05-05&dateTo=2024-05-05')).status).toBe(200);
  const kept = await report('advertiserId=1&dateFrom=2024-05-05&dateTo=2024-05-05', only);
  expect(kept.status).toBe(200);
});

describe('the admin plane', () => {
  const operate = (path: string, options: Ask = {}): Promise<Answer> =>
    ask(`${gateway.admin}/admin/v1${path}`, { bearer: gateway.adminToken, ...options });

  it('asks for its own token, whatever the path', async () => {
    for (const path of ['/teams', '/status', '/token', '/audit', '/teams/full']) {
      await expectProblem(await ask(`${gateway.admin}/admin/v1${path}`), 401, 'missing_admin_token');
      for (const bearer of [full.key, `${gateway.adminToken}x`]) {
        await expectProblem(await operate(path, { bearer }), 401, 'invalid_admin_token');
      }
    }
    // The other header is the data plane's.
    const wrongHeader = await ask(`${gateway.admin}/admin/v1/teams`, { key: gateway.adminToken });
    await expectProblem(wrongHeader, 401, 'missing_admin_token');
    // And the admin token is no team key.
    const crossed = await ask(gateway.data + REPORT, { bearer: gateway.adminToken });
    await expectProblem(crossed, 401, 'invalid_api_key');
  });

  it('forbidden for a token whose role does not reach', async () => {
    expect((await operate('/teams', { bearer: VIEWER })).status).toBe(200);
    const denied = await operate('/teams', { bearer: VIEWER, method: 'POST', json: { id: 'denied' } });
    await expectProblem(denied, 403, 'forbidden');
  });

  it('not_found, conflict and invalid_body', async () => {
    await expectProblem(await operate('/teams/nobody'), 404, 'not_found');
    await expectProblem(await operate('/nothing'), 404, 'not_found');
    await expectProblem(await operate('/keys/key_x', { method: 'DELETE' }), 404, 'not_found');
    await expectProblem(await operate('/teams/nobody/keys', { method: 'POST', json: {} }), 404, 'not_found');
    await expectProblem(await operate('/teams', { method: 'POST', json: { id: 'full' } }), 409, 'conflict');
    const bodies: [object, string[]][] = [
      [{ id: 'Upper' }, ['id']],
      [{}, ['id']],
      [{ id: 'x', colour: 'red' }, ['colour']],
      [{ id: 'x', ipAllow: ['10.0.0.0/33'] }, ['ipAllow.0']],
      [{ id: 'x', scopes: ['everything'] }, ['scopes.0']],
      [{ id: 'x', limits: { requestsPerMinute: 0 } }, ['limits.requestsPerMinute']],
    ];
    for (const [json, params] of bodies) {
      const answer = await operate('/teams', { method: 'POST', json });
      const { errors } = answer.json<{ errors: { param: string }[] }>();
      expect(errors.map(({ param }) => param)).toEqual(expect.arrayContaining(params));
      await expectProblem(answer, 422, 'invalid_body', { errors });
    }
    const broken = await operate('/teams', {
      method: 'POST',
      body: '{"id":',
      headers: { 'content-type': 'application/json' },
    });
    await expectProblem(broken, 422, 'invalid_body');
    const unproven = await operate('/token/rotate', { method: 'POST', json: { token: 'unproven-token' } });
    await expectProblem(unproven, 409, 'verification_failed');
  });
});

describe('the page of a problem', () => {
  it('is there for every code, on both planes, and says what to do', async () => {
    for (const base of [gateway.data, gateway.admin]) {
      for (const [code, { status, title }] of Object.entries(CATALOGUE)) {
        const answer = await ask(`${base}/docs/errors/${code}`);
        expect([code, answer.status, answer.headers['content-type']]).toEqual([
          code,
          200,
          'text/html; charset=utf-8',
        ]);
        // Its status is whichever the platform chose; bodies of the admin plane are refused with another one.
        const own = code === 'invalid_body' && base === gateway.admin ? 422 : status;
        const shown = code === 'upstream_rejected' ? '4xx' : String(own);
        for (const text of [code, shown, title, 'What to do']) expect(answer.text).toContain(text);
      }
      expect((await ask(`${base}/docs/errors/no_such_code`)).status).toBe(404);
    }
  });

  it('was produced above for every code that this version can produce', () => {
    // Elsewhere: credential_unavailable (credential), not_ready (redis), those of writes (write-guard), cursor_expired (mcp). Without a defect there is no internal_error.
    const guarded = ['write_guard_refused', 'write_guard_unavailable', 'writes_stopped'];
    const elsewhere = ['credential_unavailable', 'not_ready', 'internal_error', 'cursor_expired', ...guarded];
    expect([...seen].sort()).toEqual(
      Object.keys(CATALOGUE)
        .filter((code) => !elsewhere.includes(code))
        .sort(),
    );
  });
});
