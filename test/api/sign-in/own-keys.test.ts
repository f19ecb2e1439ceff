/** Keys that people make for themselves, and what ends them. */
import { describe, expect, it } from 'vitest';
import { Browser, codeOf, type SignInOptions, withSignIn } from '../../support/signed-in.js';
import { ADMIN_TOKEN } from '../../support/start-gateway.js';
import { DAY } from '../../support/test-clock.js';

const KEYS = '/gateway/v1/keys';
const REPORT = '/api/v1/report/campaigns/get?dateFrom=2026-11-01&dateTo=2026-11-02&advertiserId=1';
const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };

interface Issued {
  readonly id: string;
  readonly key: string;
  readonly expiresAt: string;
}

async function person(sub = 'ada', groups = ['data'], options: SignInOptions = {}) {
  const opened = await withSignIn(options);
  const { gateway, provider } = opened;
  const signIn = async (as = sub, of = groups) => {
    provider.claims = { sub: as, name: `${as} of data`, groups: of };
    const browser = new Browser(gateway.data, 'data');
    await browser.signIn(provider);
    await browser.session();
    return browser;
  };
  const report = async (key: string, url = REPORT) =>
    codeOf(await gateway.data.inject({ url, headers: { 'x-api-key': key } }));
  const manage = async (method: 'GET' | 'POST', url: string) =>
    gateway.admin.inject({ method, url, headers: ADMIN });
  return { ...opened, signIn, report, manage, browser: await signIn() };
}

const make = async (browser: Browser, body: object = {}): Promise<Issued> =>
  (await browser.write('POST', KEYS, body)).json();

describe('a key of a person', () => {
  it('is shown once, reads reports with the scopes of auth.oidc.keyScopes, and is listed with its maker', async () => {
    const { browser, report, manage } = await person();
    const answer = await browser.write('POST', KEYS, { label: 'notebook', expiresInDays: 7 });
    const { id, key } = answer.json<Issued>();
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([201, 'private, no-store']);
    expect(await report(key)).toBe('200');
    const own = await browser.ask(KEYS);
    expect(own.json()).toMatchObject({
      keys: [{ id, label: 'notebook', teamId: 'data', scopes: ['report:read'], makerName: 'ada of data' }],
    });
    expect(own.body).not.toContain(key);
    expect((await manage('GET', '/admin/v1/keys')).json<{ keys: object[] }>().keys).toContainEqual(
      expect.objectContaining({ id, makerName: 'ada of data', maker: expect.stringMatching(/^person_/) }),
    );
    expect((await manage('GET', '/admin/v1/audit?action=key.issue&limit=1')).json()).toMatchObject({
      entries: [{ actor: 'person', sub: 'ada', name: 'ada of data', subject: id }],
    });
  });

  it('lasts auth.oidc.maxKeyDays at most, and by default', async () => {
    const { browser, clock } = await person('ada', ['data'], { oidc: { maxKeyDays: 10 } });
    expect(Date.parse((await make(browser)).expiresAt)).toBe(clock.now() + 10 * DAY);
    for (const expiresInDays of [0, 11, 1.5, 'x'])
      expect((await browser.write('POST', KEYS, { expiresInDays })).json()).toMatchObject({
        code: 'invalid_body',
        errors: [{ param: 'expiresInDays', message: 'must be a whole number from 1 to 10' }],
      });
    expect((await browser.write('POST', KEYS, { days: 1 })).json()).toMatchObject({
      errors: [{ param: 'days', message: 'is unknown; known are label, expiresInDays' }],
    });
  });

  it('is one of auth.oidc.keysPerPerson at most, also when many are made at once', async () => {
    const { browser } = await person('ada', ['data'], { oidc: { keysPerPerson: 2 } });
    const codes = (await Promise.all([1, 2, 3, 4].map(() => browser.write('POST', KEYS, {})))).map(codeOf);
    const { keys } = (await browser.ask(KEYS)).json<{ keys: { id: string }[] }>();
    expect(keys.length).toBe(codes.filter((code) => code === '201').length);
    expect(keys.length).toBeLessThanOrEqual(2);
    while ((await browser.write('POST', KEYS, {})).statusCode === 201);
    expect((await browser.write('POST', KEYS, {})).json()).toMatchObject({
      code: 'conflict',
      detail: 'You have 2 valid keys; a person may have 2.',
    });
    expect((await browser.ask(KEYS)).json<{ keys: unknown[] }>().keys).toHaveLength(2);
    expect(codeOf(await browser.write('DELETE', `${KEYS}/${keys[0]?.id}`))).toBe('204');
    expect(codeOf(await browser.write('POST', KEYS, {}))).toBe('201');
  });

  it('is rolled and revoked by its maker only', async () => {
    const { browser, signIn, report, manage } = await person();
    const { id, key } = await make(browser);
    const other = await signIn('bob');
    expect((await other.ask(KEYS)).json()).toEqual({ keys: [] });
    for (const [method, url] of [
      ['POST', `${KEYS}/${id}/roll`],
      ['DELETE', `${KEYS}/${id}`],
    ] as const)
      expect(codeOf(await other.write(method, url, method === 'POST' ? {} : undefined))).toBe(
        '404 not_found',
      );
    expect(codeOf(await manage('POST', `/admin/v1/keys/${id}/roll`))).toBe('409 conflict');
    const rolled = (await browser.write('POST', `${KEYS}/${id}/roll`, {})).json<Issued>();
    expect([rolled.id, await report(key), await report(rolled.key)]).toEqual([
      id,
      '401 expired_api_key',
      '200',
    ]);
    expect(codeOf(await browser.write('DELETE', `${KEYS}/${id}`))).toBe('204');
    expect(await report(rolled.key)).toBe('401 revoked_api_key');
  });

  it('ends when a sign-in of its maker gives no keys any more, and does not come back', async () => {
    const { browser, signIn, report } = await person();
    const { key } = await make(browser);
    await signIn('ada', ['two']);
    expect(await report(key)).toBe('401 revoked_api_key');
    await signIn('ada', ['data']);
    expect(await report(key)).toBe('401 revoked_api_key');
  });

  it('works until auth.oidc.keysNeedSignInDays after the last sign-in, and again after the next one', async () => {
    const { browser, signIn, report, clock } = await person();
    const { key } = await make(browser);
    clock.advance(30 * DAY);
    expect(await report(key)).toBe('200');
    clock.advance(DAY);
    expect(await report(key)).toBe('401 expired_api_key');
    await signIn();
    expect(await report(key)).toBe('200');
  });

  it('is revoked with all others of its maker by an operator', async () => {
    const { browser, report, manage } = await person();
    const made = [await make(browser), await make(browser)];
    const { keys } = (await browser.ask(KEYS)).json<{ keys: { maker: string }[] }>();
    const revoke = () => manage('POST', `/admin/v1/persons/${keys[0]?.maker}/revoke-keys`);
    expect((await revoke()).json()).toEqual({ revoked: 2 });
    for (const { key } of made) expect(await report(key)).toBe('401 revoked_api_key');
    expect((await revoke()).json()).toEqual({ revoked: 0 });
    const { entries } = (await manage('GET', '/admin/v1/audit?action=key.revoke')).json<{
      entries: { actor: string; subject: string }[];
    }>();
    expect(entries.map(({ actor, subject }) => `${actor} ${subject}`).sort()).toEqual(
      made.map(({ id }) => `admin ${id}`).sort(),
    );
  });

  it('is not made by who has no keys, by a key, without the csrf token', async () => {
    const { gateway, browser, signIn } = await person();
    const { key } = await make(browser);
    const two = await signIn('eve', ['two']);
    await two.write('PUT', '/gateway/v1/session/team', { team: 'sales' });
    expect(codeOf(await two.write('POST', KEYS, {}))).toBe('403 no_access');
    const byKey = await gateway.data.inject({
      method: 'POST',
      url: KEYS,
      headers: { 'x-api-key': key },
      payload: {},
    });
    expect(codeOf(byKey)).toBe('403 session_forbidden');
    expect(codeOf(await browser.ask(KEYS, {}, true, { method: 'POST', payload: {} }))).toBe(
      '403 session_forbidden',
    );
  });
});
