/** The console while the store is away: who may still read, what is refused, and what comes after. */
import { describe, expect, it } from 'vitest';
import { callsOf } from '../../../src/api/operations/table.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createSessions } from '../../../src/teams/sessions/sessions.js';
import { ADMIN_TOKEN, outcomeOf, withGateway } from '../../support/start-gateway.js';
import { storeThatGoesAway } from '../../support/store-away.js';
import { createStandingClock, MINUTE } from '../../support/test-clock.js';
import { ask, signIn } from './signed-in.js';

const SESSION = '/admin/v1/session';
const READ_ONLY = expect.stringMatching(/^The embedded store is unavailable.*dsp-gateway status\.$/);

async function open() {
  const { state, wrapStore } = storeThatGoesAway();
  const gateway = await withGateway({ wrapStore, clock: createStandingClock() });
  const sign = (json: object) => ask(gateway.admin, SESSION, { method: 'POST', json });
  const audited = async () =>
    ((await gateway.manage('GET', '/audit?action=session.open')) as { entries: object[] }).entries;
  /** A session is looked up anew. */
  const later = (ms = 500) => gateway.clock.pass(ms);
  return { state, gateway, sign, audited, later };
}

const newTeam = { method: 'POST', json: { id: 'b' } } as const;

describe('an admin who signs in while the store is away', () => {
  it('may read what the role may read, and is told why nothing more', async () => {
    const { state, gateway, sign } = await open();
    state.isAway = true;
    const signed = await sign({ token: ADMIN_TOKEN });
    const may = callsOf('owner').filter((call) => call.startsWith('GET '));
    expect([signed.status, signed.json()]).toEqual([
      201,
      expect.objectContaining({ name: 'admin', readOnly: READ_ONLY, may }),
    ]);
    const browser = await signIn(gateway.admin, SESSION, { token: ADMIN_TOKEN });
    const get = (url: string) => ask(gateway.admin, url, { headers: browser.reads });
    expect((await get(SESSION)).json()).toMatchObject({ readOnly: READ_ONLY });
    expect((await get('/admin/v1/status')).status).toBe(200);
    const change = await ask(gateway.admin, '/admin/v1/teams', { ...newTeam, headers: browser.changes });
    expect(outcomeOf(change)).toBe('503 not_ready');
    expect(change.json()).toMatchObject({
      detail: expect.stringMatching(/^Nothing was changed: The embedded store is unavailable/),
    });
    expect(outcomeOf(await sign({ token: `${ADMIN_TOKEN}x` }))).toBe('401 invalid_admin_token');
    const logged = gateway.log.filter(({ msg }) => String(msg).includes('signed in while the store is away'));
    expect(logged).toHaveLength(2);
  });

  it('goes on with all that the role may do when the store is back, and is then in the audit', async () => {
    const { state, gateway, audited, later } = await open();
    state.isAway = true;
    const browser = await signIn(gateway.admin, SESSION, { token: ADMIN_TOKEN });
    state.isAway = false;
    expect(await audited()).toEqual([]);
    later();
    const get = () => ask(gateway.admin, SESSION, { headers: browser.reads });
    expect((await get()).json()).toMatchObject({ name: 'admin', readOnly: null, may: callsOf('owner') });
    expect(await audited()).toHaveLength(1);
    later();
    await get();
    expect(await audited()).toHaveLength(1);
    const change = await ask(gateway.admin, '/admin/v1/teams', { ...newTeam, headers: browser.changes });
    expect(change.status).toBe(201);
  });

  it('can sign out, and is then signed out for good', async () => {
    const { state, gateway, later } = await open();
    state.isAway = true;
    const browser = await signIn(gateway.admin, SESSION, { token: ADMIN_TOKEN });
    const out = await ask(gateway.admin, SESSION, { method: 'DELETE', headers: browser.changes });
    expect(out.status).toBe(204);
    later();
    const get = () => ask(gateway.admin, SESSION, { headers: browser.reads });
    expect(outcomeOf(await get())).toBe('503 not_ready');
    state.isAway = false;
    later();
    expect(outcomeOf(await get())).toBe('401 invalid_session');
  });
});

describe('an admin who was signed in when the store went away', () => {
  it('may go on reading for auth.maxStaleSeconds, if the page was open', async () => {
    const { state, gateway, later } = await open();
    const browser = await signIn(gateway.admin, SESSION, { token: ADMIN_TOKEN });
    const get = () => ask(gateway.admin, SESSION, { headers: browser.reads });
    expect((await get()).json()).toMatchObject({ readOnly: null });
    state.isAway = true;
    later();
    expect((await get()).json()).toMatchObject({ readOnly: READ_ONLY });
    later(14 * MINUTE);
    expect((await get()).json()).toMatchObject({ readOnly: READ_ONLY });
    later(2 * MINUTE);
    const refused = await get();
    expect(outcomeOf(refused)).toBe('503 not_ready');
    expect(refused.json()).toMatchObject({ help: 'On the machine: dsp-gateway status.' });
    state.isAway = false;
    later();
    expect((await get()).json()).toMatchObject({ readOnly: null });
  });

  it('may not, if the session was not used in the minute before: it may have ended elsewhere', async () => {
    const { state, gateway, later } = await open();
    const browser = await signIn(gateway.admin, SESSION, { token: ADMIN_TOKEN });
    const get = () => ask(gateway.admin, SESSION, { headers: browser.reads });
    await get();
    later(2 * MINUTE);
    state.isAway = true;
    expect(outcomeOf(await get())).toBe('503 not_ready');
  });
});

it('a refusal of a session names Redis, and the command that shows what is wrong with it', async () => {
  const away = () => Promise.reject(new StoreUnavailable('away'));
  const documents = { create: away, get: away, replace: away };
  const store = { kind: 'redis', documents, quotas: { take: away, give: away } } as const;
  const sessions = createSessions('dgw_explorer', store, createStandingClock());
  await expect(sessions.find('an id')).rejects.toMatchObject({
    code: 'not_ready',
    options: {
      detail: 'Redis is unavailable, so your sign-in cannot be checked. Reports are still served.',
      help: 'Try again in a minute; your operator sees the cause with dsp-gateway status.',
    },
  });
});
