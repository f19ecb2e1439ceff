/** Contract, section 3, from the outside: teams, keys, the audit, and what a team is told of itself. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Ask, admin, ask, type IssuedKey, newTeam, REPORT } from '../support/ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';

let platform: Platform;
let gateway: Gateway;
beforeAll(async () => {
  platform = await startPlatform();
  gateway = await startGateway({ ...platform.env, PLATFORM_BASE_URL: platform.url });
});

const operate = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  json?: unknown,
): Promise<Answer> =>
  ask(`${gateway.admin}/admin/v1${path}`, {
    method,
    bearer: gateway.adminToken,
    ...(json === undefined ? {} : { json }),
  });
const report = (options: Ask, query = 'advertiserId=1&_period=yesterday'): Promise<Answer> =>
  ask(`${gateway.data}${REPORT}?${query}`, options);
const code = async (key: string): Promise<unknown> => {
  const answer = await report({ key });
  return answer.status === 200 ? 200 : answer.json().code;
};

const DEFAULTS = {
  scopes: ['report:read'],
  advertisers: [],
  limits: { requestsPerMinute: 600, upstreamCallsPerDay: 5000, maxRangeDays: 400, maxConcurrent: 32 },
  ipAllow: [],
  defaultFormat: 'json',
  disabled: false,
};

describe('teams', () => {
  it('need an id alone, and see nobody until they are told whom', async () => {
    const made = await operate('POST', '/teams', { id: 'bare' });
    expect([made.status, made.json()]).toEqual([201, { id: 'bare', name: 'bare', ...DEFAULTS }]);
    expect((await operate('GET', '/teams/bare')).json()).toEqual(made.json());
    const { key } = await admin<IssuedKey>(gateway, 'POST', '/teams/bare/keys', {});
    expect(await code(key)).toBe('advertiser_forbidden');
  });

  it('are changed member by member, at once in force', async () => {
    const { key } = await newTeam(gateway, { id: 'changing', advertisers: [1], limits: DEFAULTS.limits });
    expect(await code(key)).toBe(200);
    const changed = await operate('PATCH', '/teams/changing', {
      name: 'Changed',
      advertisers: [2],
      limits: { maxRangeDays: 7 },
    });
    expect(changed.json()).toMatchObject({
      name: 'Changed',
      advertisers: [2],
      limits: { ...DEFAULTS.limits, maxRangeDays: 7 },
    });
    // Also for what lies in the cache.
    expect(await code(key)).toBe('advertiser_forbidden');
    const long = await report({ key }, 'advertiserId=2&_period=last_8_days');
    expect(long.json()).toMatchObject({ code: 'invalid_query', errors: [{ param: 'dateTo' }] });
    expect((await report({ key }, 'advertiserId=2&_period=last_7_days')).status).toBe(200);
    await admin(gateway, 'PATCH', '/teams/changing', { disabled: true });
    expect(await code(key)).toBe('team_disabled');
    expect((await operate('PATCH', '/teams/changing', { id: 'other' })).status).toBe(422);
  });

  it('that are deleted take their keys with them, for good', async () => {
    const { key } = await newTeam(gateway, { id: 'gone' });
    expect(await code(key)).toBe(200);
    expect((await operate('DELETE', '/teams/gone')).status).toBe(204);
    expect((await operate('GET', '/teams/gone')).status).toBe(404);
    expect(await code(key)).toBe('revoked_api_key');
    await newTeam(gateway, { id: 'gone' });
    expect(await code(key)).toBe('revoked_api_key');
  });

  it('may be limited to addresses', async () => {
    const { key } = await newTeam(gateway, { id: 'addresses', ipAllow: ['127.0.0.0/8', '::1'] });
    expect(await code(key)).toBe(200);
    await admin(gateway, 'PATCH', '/teams/addresses', { ipAllow: ['10.1.2.3'] });
    expect(await code(key)).toBe('ip_forbidden');
    // What a caller says of its address is not believed.
    const forged = await report({
      key,
      headers: { 'x-forwarded-for': '10.1.2.3', forwarded: 'for=10.1.2.3' },
    });
    expect(forged.json()).toMatchObject({ code: 'ip_forbidden' });
  });
});

describe('keys', () => {
  it('are shown once, listed by their first characters, and revoked', async () => {
    await admin(gateway, 'POST', '/teams', { id: 'keys', advertisers: '*' });
    const made = await operate('POST', '/teams/keys/keys', { label: 'laptop', expiresAt: '2031-01-01' });
    expect(made.status).toBe(201);
    const issued = made.json<IssuedKey>();
    expect(issued).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^dgw_[0-9A-Za-z]+_[0-9A-Za-z]+$/),
      prefix: issued.key.slice(0, issued.prefix.length),
      teamId: 'keys',
      createdAt: expect.stringMatching(/Z$/),
      expiresAt: '2031-01-01T00:00:00.000Z',
    });
    expect(issued.prefix.length).toBeLessThan(12);
    const list = await operate('GET', '/teams/keys/keys');
    expect(list.text).not.toContain(issued.key);
    expect(list.json()).toEqual({
      keys: [
        expect.objectContaining({ id: issued.id, label: 'laptop', prefix: issued.prefix, revokedAt: null }),
      ],
    });
    expect(await code(issued.key)).toBe(200);
    expect((await operate('DELETE', `/keys/${issued.id}`)).status).toBe(204);
    expect(await code(issued.key)).toBe('revoked_api_key');
    // Again is no fault, and changes nothing.
    expect((await operate('DELETE', `/keys/${issued.id}`)).status).toBe(204);
    expect((await operate('POST', `/keys/${issued.id}/roll`, {})).json()).toMatchObject({ code: 'conflict' });
  });

  it('are rolled: the new one now, the old one for as long as was said', async () => {
    const { id, key } = await newTeam(gateway, { id: 'rolling' });
    const rolled = await admin<IssuedKey>(gateway, 'POST', `/keys/${id}/roll`, { overlapSeconds: 3600 });
    expect([rolled.id, await code(key), await code(rolled.key)]).toEqual([id, 200, 200]);
    const next = await admin<IssuedKey>(gateway, 'POST', `/keys/${id}/roll`, {});
    expect([await code(key), await code(rolled.key), await code(next.key)]).toEqual([
      'invalid_api_key',
      'expired_api_key',
      200,
    ]);
    await admin(gateway, 'DELETE', `/keys/${id}`);
    expect(await code(next.key)).toBe('revoked_api_key');
  });

  it('that expire in the past are refused', async () => {
    for (const expiresAt of ['2020-01-01', '2031-02-30', 'soon', '2031-01-01T00:00:00']) {
      const answer = await operate('POST', '/teams/keys/keys', { expiresAt });
      expect([expiresAt, answer.status, answer.json().code]).toEqual([expiresAt, 422, 'invalid_body']);
    }
  });
});

describe('the audit', () => {
  it('holds who changed what, when and from where, newest first, page by page', async () => {
    await admin(gateway, 'POST', '/teams', { id: 'audited' });
    await admin(gateway, 'PATCH', '/teams/audited', { name: 'Audited' });
    await admin(gateway, 'POST', '/cache/purge', { advertiserId: 7, from: '2026-01-01' });
    await operate('POST', '/teams', { id: 'audited' });
    await admin(gateway, 'DELETE', '/teams/audited');
    interface Entry {
      readonly id: string;
      readonly action: string;
      readonly subject: string;
    }
    const read = async (query: string) =>
      (await admin<{ entries: Entry[] }>(gateway, 'GET', `/audit?${query}`)).entries;
    const entries = await read('limit=4');
    // What was refused changed nothing, and is not there.
    expect(entries.map(({ action, subject }) => [action, subject])).toEqual([
      ['team.delete', 'audited'],
      ['cache.purge', expect.stringContaining('advertiser 7')],
      ['team.update', 'audited'],
      ['team.create', 'audited'],
    ]);
    for (const entry of entries) {
      expect(entry).toMatchObject({ actor: 'admin', address: '127.0.0.1', at: expect.stringMatching(/Z$/) });
    }
    expect(entries[2]).toMatchObject({ before: { name: 'audited' }, after: { name: 'Audited' } });
    const [first, second] = entries;
    expect((await read(`limit=1&before=${first?.id}`))[0]).toEqual(second);
    expect((await operate('GET', '/audit?limit=0')).status).toBe(400);
  });
});

describe('status', () => {
  it('tells version, store, credential, cache and platform', async () => {
    expect(await admin(gateway, 'GET', '/status')).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      uptimeSeconds: expect.any(Number),
      ready: true,
      store: { kind: 'embedded', state: 'ok' },
      credential: { state: expect.stringMatching(/^(ok|unproven)$/) },
      worst: { store: 'ok', platform: 'ok' },
      processes: [{ pid: gateway.pid, store: 'ok', platform: 'ok' }],
      cache: { l1Bytes: expect.any(Number), l1Entries: expect.any(Number) },
      platform: { state: 'ok' },
    });
  });
});

describe('a change of one limit', () => {
  it('leaves the others as they are', async () => {
    const limits = { requestsPerMinute: 3, upstreamCallsPerDay: 2, maxRangeDays: 7, maxConcurrent: 1 };
    await newTeam(gateway, { id: 'bounded', limits });
    const changed = await admin(gateway, 'PATCH', '/teams/bounded', { limits: { requestsPerMinute: 4 } });
    expect(changed).toMatchObject({ limits: { ...limits, requestsPerMinute: 4 } });
    expect(await admin(gateway, 'PATCH', '/teams/bounded', { limits: {} })).toMatchObject({
      limits: { ...limits, requestsPerMinute: 4 },
    });
  });
});

describe('/gateway/v1/me', () => {
  it('tells a team what it may, and nothing of the credential but its state', async () => {
    const { id, key } = await newTeam(gateway, {
      id: 'me',
      name: 'Me',
      scopes: ['report:read'],
      advertisers: [3],
      limits: DEFAULTS.limits,
    });
    const answer = await ask(`${gateway.data}/gateway/v1/me`, { bearer: key });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('private, no-store');
    expect(answer.json()).toMatchObject({
      team: { id: 'me', name: 'Me' },
      key: { id, expiresAt: null },
      scopes: ['report:read'],
      advertisers: [3],
      limits: DEFAULTS.limits,
      credential: { state: expect.stringMatching(/^(ok|unproven)$/), expiresAt: expect.stringMatching(/Z$/) },
    });
    expect(answer.text).not.toContain(platform.token);
  });
});
