/** Keys that people make for themselves, and what ends them. */
import { describe, expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
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
  const browser = await signIn();
  const revokeAll = async () => {
    const { keys } = (await browser.ask(KEYS)).json<{ keys: { maker: string }[] }>();
    return manage('POST', `/admin/v1/persons/${keys[0]?.maker}/revoke-keys`);
  };
  return { ...opened, signIn, report, manage, browser, revokeAll };
}

/** @param before called before each change of the registry reaches the store */
const beforeCommits =
  (before: () => Promise<void>) =>
  (store: Store): Store => ({
    ...store,
    registry: {
      ...store.registry,
      async commit(change) {
        await before();
        return store.registry.commit(change);
      },
    },
  });

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
      errors: [{ param: 'days', message: 'is no member of this name; known: label, expiresInDays' }],
    });
    expect((await browser.write('POST', KEYS, { label: 7, expiresInDays: 0 })).json()).toMatchObject({
      errors: [
        { param: 'label', message: 'must be text of 0 to 200 characters' },
        { param: 'expiresInDays', message: 'must be a whole number from 1 to 10' },
      ],
    });
  });

  it('is not rolled by a wrong body, whose fault names the member and its values', async () => {
    const { browser } = await person();
    const { id } = await make(browser);
    expect((await browser.write('POST', `${KEYS}/${id}/roll`, { overlapSeconds: -1 })).json()).toMatchObject({
      code: 'invalid_body',
      errors: [{ param: 'overlapSeconds', message: 'must be a whole number from 0 to 31536000' }],
    });
  });

  it('is listed with the limits of keys, and with what refuses it now', async () => {
    const { browser, gateway, clock, manage } = await person();
    await make(browser);
    expect((await browser.ask(KEYS)).json()).toMatchObject({
      keys: [{ refused: null }],
      limits: { keysPerPerson: 5, maxKeyDays: 90, keysNeedSignInDays: 30 },
      scopes: ['report:read'],
    });
    const refused = async () => {
      const { keys } = (await manage('GET', '/admin/v1/keys')).json<{
        keys: { maker?: string; refused: string | null }[];
      }>();
      return keys.map(({ maker, refused: why }) => (maker === undefined ? why : `own: ${why}`));
    };
    expect((await refused()).sort()).toEqual([null, null, 'own: null']);
    clock.advance(31 * DAY);
    expect((await refused()).sort()).toEqual([null, null, 'own: long-ago']);
    await gateway.manage('PATCH', '/teams/data', { disabled: true });
    expect((await refused()).sort()).toEqual([null, 'own: team-disabled', 'team-disabled']);
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
    expect((await other.ask(KEYS)).json()).toMatchObject({ keys: [] });
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
    const { browser, report, manage, revokeAll } = await person();
    const made = [await make(browser), await make(browser)];
    expect((await revokeAll()).json()).toEqual({ revoked: 2 });
    for (const { key } of made) expect(await report(key)).toBe('401 revoked_api_key');
    expect((await revokeAll()).json()).toEqual({ revoked: 0 });
    const { entries } = (await manage('GET', '/admin/v1/audit?action=key.revoke')).json<{
      entries: { actor: string; subject: string }[];
    }>();
    expect(entries.map(({ actor, subject }) => `${actor} ${subject}`).sort()).toEqual(
      made.map(({ id }) => `admin ${id}`).sort(),
    );
  });

  it('stays with all others of its maker if the store fails, and all end together once it answers', async () => {
    const broken = { commits: Number.POSITIVE_INFINITY };
    const { browser, report, revokeAll } = await person('ada', ['data'], {
      wrapStore: beforeCommits(async () => {
        broken.commits -= 1;
        if (broken.commits < 0) throw new StoreUnavailable('not connected');
      }),
    });
    const made = [await make(browser), await make(browser), await make(browser)];
    broken.commits = 0;
    expect(codeOf(await revokeAll())).toBe('503 not_ready');
    for (const { key } of made) expect(await report(key)).toBe('200');
    // One commit is all that it takes.
    broken.commits = 1;
    expect((await revokeAll()).json()).toEqual({ revoked: 3 });
    for (const { key } of made) expect(await report(key)).toBe('401 revoked_api_key');
  });

  it('is revoked with all others of its maker also when it is made at the same time', async () => {
    let meanwhile: (() => Promise<unknown>) | null = null;
    const { browser, revokeAll, report } = await person('ada', ['data'], {
      wrapStore: beforeCommits(async () => {
        const now = meanwhile;
        meanwhile = null;
        await now?.();
      }),
    });
    const made = [await make(browser)];
    meanwhile = async () => made.push(await make(browser));
    expect((await revokeAll()).json()).toEqual({ revoked: 2 });
    expect(made).toHaveLength(2);
    for (const { key } of made) expect(await report(key)).toBe('401 revoked_api_key');
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
