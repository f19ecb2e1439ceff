/** What the store holds of a session, what is remembered of it, and what happens while the store is away. */
import { describe, expect, it } from 'vitest';
import { type Documents, type Store, StoreUnavailable } from '../../../src/store/port.js';
import { ADMIN_TOKEN, outcomeOf, withGateway } from '../../support/start-gateway.js';
import { createStandingClock } from '../../support/test-clock.js';
import { ask, signIn } from './signed-in.js';

const SESSION = '/gateway/v1/session';

/** Watches the documents of a store, and takes them away. */
function watched() {
  const state = { isAway: false, reads: 0, written: [] as string[] };
  const wrapStore = (store: Store): Store => {
    const { documents } = store;
    const through = <T>(work: () => Promise<T>) =>
      state.isAway ? Promise.reject(new StoreUnavailable('away')) : work();
    const own: Documents = {
      create: (key, text, ttlMs) => {
        state.written.push(key, text);
        return through(() => documents.create(key, text, ttlMs));
      },
      get: (key) => {
        state.reads += 1;
        return through(() => documents.get(key));
      },
      replace: (key, before, after, ttlMs) => {
        state.written.push(key, after ?? '');
        return through(() => documents.replace(key, before, after, ttlMs));
      },
    };
    return Object.assign(Object.create(store) as Store, { documents: own });
  };
  return { state, wrapStore };
}

async function open() {
  const { state, wrapStore } = watched();
  const gateway = await withGateway({ wrapStore, clock: createStandingClock() });
  const key = await gateway.addTeam({ id: 'growth' });
  const browser = await signIn(gateway.data, SESSION, { key });
  const get = (url = SESSION) => ask(gateway.data, url, { headers: browser.reads });
  return { state, gateway, key, browser, get };
}

describe('the store', () => {
  it('holds neither the session’s id, nor what signed in', async () => {
    const { state, gateway, key, browser } = await open();
    const admin = await signIn(gateway.admin, '/admin/v1/session', { token: ADMIN_TOKEN });
    const text = state.written.join('\n');
    expect(text).toContain('session:dgw_explorer:');
    const secret = gateway.services.directory.findKey(key)?.secret.hash;
    for (const one of [browser, admin]) {
      expect(text).not.toContain(one.cookie.split('=')[1]);
      expect(text).not.toContain(one.csrf);
    }
    for (const one of [key, secret, ADMIN_TOKEN]) expect(text).not.toContain(one);
    expect(gateway.logText).not.toContain(browser.cookie.split('=')[1]);
  });

  it('is asked once for what a page asks at once, and again half a second later', async () => {
    const { state, gateway, get } = await open();
    state.reads = 0;
    await Promise.all(Array.from({ length: 10 }, () => get('/gateway/v1/me')));
    expect(state.reads).toBe(1);
    gateway.clock.advanceMonotonic(500);
    await get();
    expect(state.reads).toBe(2);
  });

  it('that is away lets nobody in, says so, and ends no session', async () => {
    const { state, gateway, key, browser, get } = await open();
    state.isAway = true;
    const refused = await get('/gateway/v1/me');
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['503 not_ready', '5']);
    expect(refused.json()).toMatchObject({
      detail: expect.stringContaining('sessions'),
      help: expect.stringContaining('need no session'),
    });
    expect((await gateway.call('/gateway/v1/me', { key })).status).toBe(200);
    const sign = () => ask(gateway.data, SESSION, { method: 'POST', json: { key } });
    expect(outcomeOf(await sign())).toBe('503 not_ready');
    const out = () => ask(gateway.data, SESSION, { method: 'DELETE', headers: browser.changes });
    expect(outcomeOf(await out())).toBe('503 not_ready');
    const token = { json: { token: ADMIN_TOKEN } };
    expect(outcomeOf(await ask(gateway.admin, '/admin/v1/session', { method: 'POST', ...token }))).toBe(
      '503 not_ready',
    );
    state.isAway = false;
    expect((await get()).status).toBe(200);
    expect((await out()).status).toBe(204);
  });

  it('lets nobody in by a record of another form', async () => {
    const { gateway, browser, get } = await open();
    const { documents } = gateway.store;
    const { sessionDocument } = await import('../../../src/teams/sessions/sessions.js');
    const name = sessionDocument('dgw_explorer', browser.cookie.split('=')[1] ?? '');
    const text = await documents.get(name);
    await documents.replace(name, text ?? '', '{"holder":1}', 60_000);
    expect(outcomeOf(await get())).toBe('401 invalid_session');
  });
});
