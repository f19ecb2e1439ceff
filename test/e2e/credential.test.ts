/** The platform's credential from the outside: both ways to get one, losing it, and the steps of a rotation. */
import { describe, expect, it } from 'vitest';
import { type Answer, admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';

const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=last_7_days`;
const PROBE = `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-01`;

interface Shown {
  readonly id: string;
  readonly fingerprint: string;
  readonly source: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly expiryKnown: boolean;
  readonly verifiedAt: string | null;
}
type Vault = Record<'active' | 'pending' | 'previous', Shown | null>;

const vaultOf = (gateway: Gateway) => admin<Vault>(gateway, 'GET', '/token');
const rotate = (gateway: Gateway, step: string, json: object = {}): Promise<Answer> =>
  ask(`${gateway.admin}/admin/v1/token/${step}`, { method: 'POST', bearer: gateway.adminToken, json });

/** The tokens that platform calls below /api/ carried. */
async function tokensUsed(url: string): Promise<string[]> {
  const calls = await simulatorOf(url).calls();
  return calls
    .filter(({ path }) => path.includes('/api/v1/'))
    .map(({ headers }) => headers.authorization ?? 'none');
}

function expectUnavailable(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expect(answer.json()).toMatchObject({ code: 'credential_unavailable', status: 503 });
}

describe.concurrent('way 1, a pasted token', () => {
  it('is planted, shown without its text, and lasts a year unless told otherwise', async ({ expect }) => {
    const platform = await startPlatform();
    const gateway = await startGateway(platform.env);
    const { active, pending, previous } = await vaultOf(gateway);
    expect([pending, previous]).toEqual([null, null]);
    expect(active).toEqual({
      id: expect.stringMatching(/^tok_/),
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      source: 'seed',
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      expiryKnown: false,
      verifiedAt: null,
    });
    const { createdAt = '', expiresAt = '' } = active ?? {};
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(365 * 86_400_000);
    const { key } = await newTeam(gateway, { id: 'seeded' });
    expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
    expect(await tokensUsed(platform.url)).toEqual([`Bearer ${platform.token}`]);

    const dated = await startGateway({ ...platform.env, PLATFORM_TOKEN_EXPIRES_AT: '2031-05-01' });
    expect((await vaultOf(dated)).active).toMatchObject({
      expiresAt: '2031-05-01T00:00:00.000Z',
      expiryKnown: true,
    });
  });

  it('is not used when the platform refuses it at the start, and the gateway says so', async ({ expect }) => {
    const platform = await startPlatform();
    const gateway = await startGateway({
      ...platform.env,
      PLATFORM_TOKEN: 'a-token-nobody-issued',
      PLATFORM_PROBE: PROBE,
    });
    expect(await vaultOf(gateway)).toMatchObject({ active: null, pending: { source: 'seed' } });
    const ready = await ask(`${gateway.data}/readyz`);
    expect([ready.status, ready.json()]).toEqual([503, expect.objectContaining({ credential: 'missing' })]);
  });

  it('that the platform revokes leads to 503, cached reports go on, and a new one is taken at once', async ({
    expect,
  }) => {
    const platform = await startPlatform();
    const gateway = await startGateway(platform.env);
    const { key } = await newTeam(gateway, { id: 'revoked' });
    expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
    const sim = simulatorOf(platform.url);
    await sim.revoke();
    expectUnavailable(await ask(`${gateway.data}${REPORT}?advertiserId=2&_period=yesterday`, { key }));
    expectUnavailable(await ask(`${gateway.data}/api/v1/campaign/1`, { key }));
    const readiness = (await ask(`${gateway.data}/readyz`)).json();
    expect(readiness).toMatchObject({ credential: 'refused' });
    const kept = await ask(gateway.data + QUERY, { key, headers: { 'cache-control': 'no-cache' } });
    expect(kept.status).toBe(200);
    expect(kept.headers['cache-status']).toMatch(/^dsp-gateway; hit; ttl=-?\d+; detail=stale-if-error$/);

    const token = await sim.issueToken();
    expect((await rotate(gateway, 'rotate', { token, force: true })).status).toBe(200);
    const after = await ask(`${gateway.data}${REPORT}?advertiserId=2&_period=yesterday`, { key });
    expect(after.status).toBe(200);
  });
});

describe.concurrent('way 2, the token request', () => {
  it('asks as the document says, below the path prefix, and only once', async ({ expect }) => {
    const platform = await startPlatform([
      ...['--base-path', '/dsp', '--switch', 'tokenPath=/custom/token', '--switch', 'clientId=number'],
    ]);
    const gateway = await startGateway({
      ...platform.mintEnv,
      PLATFORM_TOKEN_PATH: '/custom/token',
      PLATFORM_GRANT_TYPE: 'platform_dsp',
    });
    const [request, ...others] = await simulatorOf(platform.url).calls();
    expect(others).toEqual([]);
    expect(request).toMatchObject({ method: 'POST', url: '/dsp/custom/token', status: 200 });
    expect(request?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/json',
    });
    expect(request?.headers.authorization).toBeUndefined();
    expect(JSON.parse(request?.body ?? '')).toEqual({
      grant_type: 'platform_dsp',
      username: platform.username,
      password: platform.password,
      client_id: Number(platform.clientId),
      client_secret: platform.clientSecret,
    });
    const { active } = await vaultOf(gateway);
    expect(active).toMatchObject({ source: 'minted', verifiedAt: expect.any(String) });
    const { key } = await newTeam(gateway, { id: 'minted' });
    expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
    expect(await tokensUsed(platform.url)).toHaveLength(1);
  });

  it('recovers a token that the platform refuses: callers see no error, one token is asked for', async ({
    expect,
  }) => {
    const platform = await startPlatform();
    const gateway = await startGateway(platform.mintEnv);
    const { key } = await newTeam(gateway, { id: 'recovered' });
    const sim = simulatorOf(platform.url);
    const before = (await vaultOf(gateway)).active;
    await sim.revoke();
    await sim.forget();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        ask(`${gateway.data}${REPORT}?advertiserId=${(index % 6) + 1}&_period=yesterday`, { key }),
      ),
    );
    expect(answers.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
    expect((await sim.calls()).filter(({ path }) => path === '/oauth/token')).toHaveLength(1);
    expect((await vaultOf(gateway)).active?.id).not.toBe(before?.id);
    // The same for what is passed through, as long as it only reads: the platform did nothing on its 401.
    await sim.set({ unauthenticated: 'redirect' });
    await sim.revoke();
    expect((await ask(`${gateway.data}/api/v1/campaign/999999999`, { key })).status).toBe(404);
    await sim.revoke();
    await sim.forget();
    const write = await ask(`${gateway.data}/api/v1/campaign/create`, {
      method: 'POST',
      key,
      json: { userId: 1 },
    });
    expect(write.json()).toMatchObject({ code: 'credential_unavailable' });
    expect((await sim.calls()).filter(({ path }) => path.endsWith('/create'))).toHaveLength(1);
  });

  it('that yields nothing usable leaves the gateway alive and unready, and is not hammered', async ({
    expect,
  }) => {
    const platform = await startPlatform(['--switch', 'tokenAnswer=nonsense']);
    const gateway = await startGateway(platform.mintEnv);
    const { key } = await newTeam(gateway, { id: 'nonsense' });
    expect((await ask(`${gateway.data}/healthz`)).status).toBe(200);
    expect((await ask(`${gateway.data}/readyz`)).json()).toMatchObject({
      ready: false,
      credential: 'missing',
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(gateway.data + QUERY, { key })));
    for (const answer of answers) expectUnavailable(answer);
    const sim = simulatorOf(platform.url);
    expect((await sim.calls()).length).toBeLessThanOrEqual(4);
    await sim.set({ tokenAnswer: 'token' });
    expect((await rotate(gateway, 'rotate')).status).toBe(200);
    expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
    expect((await ask(`${gateway.data}/readyz`)).status).toBe(200);
  });
});

describe.concurrent('no credential at all', () => {
  it('is 503 until an operator gives one', async ({ expect }) => {
    const platform = await startPlatform();
    const gateway = await startGateway({ PLATFORM_BASE_URL: platform.url });
    const { key } = await newTeam(gateway, { id: 'none' });
    expect(await vaultOf(gateway)).toEqual({ active: null, pending: null, previous: null });
    expect((await ask(`${gateway.data}/healthz`)).status).toBe(200);
    const ready = await ask(`${gateway.data}/readyz`);
    expect([ready.status, ready.json()]).toEqual([
      503,
      expect.objectContaining({ ready: false, store: 'ok', credential: 'missing', platform: 'ok' }),
    ]);
    expectUnavailable(await ask(gateway.data + QUERY, { key }));
    expectUnavailable(
      await ask(`${gateway.data}/api/v1/campaign/create`, { method: 'POST', key, json: { userId: 1 } }),
    );
    expect(await simulatorOf(platform.url).calls()).toEqual([]);
    const me = await ask(`${gateway.data}/gateway/v1/me`, { key });
    expect(me.json()).toMatchObject({ credential: { state: 'missing' } });

    const minting = await rotate(gateway, 'mint');
    expect([minting.status, minting.json()]).toEqual([409, expect.objectContaining({ code: 'conflict' })]);
    expect((await rotate(gateway, 'rotate', { token: platform.token, force: true })).status).toBe(200);
    expect((await ask(`${gateway.data}/readyz`)).status).toBe(200);
    expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
  });
});

describe.concurrent('a rotation', () => {
  it('with a token the platform does not take, or a body that is none, is refused and changes nothing', async ({
    expect,
  }) => {
    const platform = await startPlatform();
    const gateway = await startGateway({ ...platform.env, PLATFORM_PROBE: PROBE });
    const { key } = await newTeam(gateway, { id: 'wrong' });
    const before = await vaultOf(gateway);
    expect(before.active?.verifiedAt).toEqual(expect.any(String));
    const refused = await rotate(gateway, 'rotate', { token: 'a-wrong-token-from-the-dashboard' });
    expect(refused.status).toBe(409);
    expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(refused.json()).toMatchObject({ code: 'verification_failed' });
    expect(refused.text).not.toContain('a-wrong-token-from-the-dashboard');
    // Nor has it for a body that is none.
    const bodies: [string, object][] = [
      ['stage', {}],
      ['stage', { token: 'with a space' }],
      ['stage', { token: 'x', expiresAt: '2020-01-01' }],
      ['stage', { token: 'x', expiresAt: 'tomorrow' }],
      ['rotate', { expiresAt: '2031-01-01' }],
      ['rotate', { token: 'x', forced: true }],
      ['mint', { token: 'x' }],
    ];
    for (const [step, body] of bodies) {
      const answer = await rotate(gateway, step, body);
      expect([step, body, answer.status, answer.json()]).toEqual([
        step,
        body,
        422,
        expect.objectContaining({ code: 'invalid_body', errors: expect.any(Array) }),
      ]);
    }
    expect(await vaultOf(gateway)).toEqual(before);
    const sim = simulatorOf(platform.url);
    await sim.forget();
    expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
    expect(await tokensUsed(platform.url)).toEqual([`Bearer ${platform.token}`]);
  });

  it('can be gone step by step, and back', async ({ expect }) => {
    const platform = await startPlatform();
    const gateway = await startGateway({ ...platform.env, PLATFORM_PROBE: PROBE });
    const { key } = await newTeam(gateway, { id: 'steps' });
    const sim = simulatorOf(platform.url);
    const [first, second] = [platform.token, await sim.issueToken()];
    const used = async (): Promise<string[]> => {
      await sim.forget();
      const answer = await ask(`${gateway.data}/api/v1/campaign/999999999`, { key });
      expect(answer.status).toBe(404);
      return tokensUsed(platform.url);
    };
    const { active } = await vaultOf(gateway);

    expect((await rotate(gateway, 'verify')).json()).toMatchObject({ code: 'conflict' });
    expect((await rotate(gateway, 'activate')).json()).toMatchObject({ code: 'conflict' });
    const expiresAt = '2031-05-01T00:00:00Z';
    const staged = await rotate(gateway, 'stage', { token: second, expiresAt });
    expect(staged.json<Vault>().pending).toMatchObject({
      source: 'staged',
      expiresAt: '2031-05-01T00:00:00.000Z',
      verifiedAt: null,
    });
    expect(await used()).toEqual([`Bearer ${first}`]);
    const early = await rotate(gateway, 'activate');
    expect([early.status, early.json()]).toEqual([
      409,
      expect.objectContaining({ code: 'verification_failed' }),
    ]);
    expect((await rotate(gateway, 'verify')).json<Vault>().pending?.verifiedAt).toEqual(expect.any(String));
    const activated = (await rotate(gateway, 'activate')).json<Vault>();
    expect(activated.pending).toBeNull();
    expect(activated.previous?.id).toBe(active?.id);
    expect(await used()).toEqual([`Bearer ${second}`]);
    expect((await rotate(gateway, 'rollback')).json<Vault>().active?.id).toBe(active?.id);
    expect(await used()).toEqual([`Bearer ${first}`]);

    await rotate(gateway, 'stage', { token: 'to-be-discarded' });
    expect((await rotate(gateway, 'discard')).json<Vault>().pending).toBeNull();
    const again = await rotate(gateway, 'stage', { token: first });
    expect([again.status, again.json()]).toEqual([409, expect.objectContaining({ code: 'conflict' })]);

    const { entries } = await admin<{ entries: { action: string; actor: string; address: string }[] }>(
      gateway,
      'GET',
      '/audit?limit=20',
    );
    const actions = entries.filter(({ actor }) => actor === 'admin').map(({ action }) => action);
    expect(actions.filter((action) => action.startsWith('token.'))).toEqual([
      'token.discard',
      'token.stage',
      'token.rollback',
      'token.activate',
      'token.verify',
      'token.stage',
    ]);
    expect(JSON.stringify(entries)).not.toContain(second);
  });
});
