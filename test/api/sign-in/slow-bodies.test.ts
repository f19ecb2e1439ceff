/** What was taken away while the body of a call for a key was still on its way. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Browser, codeOf, withSignIn } from '../../support/signed-in.js';
import { ADMIN_TOKEN } from '../../support/start-gateway.js';

const KEYS = '/gateway/v1/keys';

async function maker() {
  const opened = await withSignIn();
  const { gateway, provider } = opened;
  const signIn = async (group: string) => {
    provider.claims = { sub: 'ada', name: 'Ada', groups: [group] };
    const browser = new Browser(gateway.data, 'data');
    await browser.signIn(provider);
    await browser.session();
    return browser;
  };
  const browser = await signIn('data');
  const id = gateway.services.persons.list()[0]?.id;
  const end = (what: 'keys' | 'sessions') =>
    gateway.admin.inject({
      method: 'POST',
      url: `/admin/v1/persons/${id}/revoke-${what}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
  /** The gateway asks for the body when it has let the caller in. */
  const meanwhile = (url: string, act: () => Promise<unknown>) => {
    async function* body() {
      await act();
      yield '{}';
    }
    const payload = Readable.from(body(), { objectMode: false });
    const headers = {
      origin: browser.origin,
      'x-csrf-token': browser.csrf,
      'content-type': 'application/json',
    };
    return browser.ask(url, headers, true, { method: 'POST', payload });
  };
  return { ...opened, browser, signIn, end, meanwhile };
}

describe('a key', () => {
  it('that an operator revokes while it is being rolled stays revoked', async () => {
    const { browser, end, meanwhile, gateway } = await maker();
    const { id } = (await browser.write('POST', KEYS, {})).json<{ id: string }>();
    const answer = await meanwhile(`${KEYS}/${id}/roll`, () => end('keys'));
    expect(codeOf(answer)).toBe('409 conflict');
    expect(gateway.services.directory.key(id)?.revokedAt).not.toBeNull();
  });

  it('is not made by a person who loses the right meanwhile', async () => {
    const { signIn, meanwhile } = await maker();
    expect(codeOf(await meanwhile(KEYS, () => signIn('two')))).toBe('403 no_access');
  });

  it('is not made in a session that an operator ends meanwhile', async () => {
    const { clock, end, meanwhile } = await maker();
    const answer = await meanwhile(KEYS, async () => {
      await end('sessions');
      // Until then this process accepts a session it has checked.
      clock.pass(1000);
    });
    expect(codeOf(answer)).toBe('401 invalid_session');
  });
});
