/** Every change is audited, with who, from where, before and after, in the commit that makes it; and never a secret. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { AUDIT_ACTIONS } from '../../../src/api/operations/audit-sentence.js';
import { startSimulator } from '../../../src/simulator/simulator.js';
import { type RegistryCommit, type Store, StoreUnavailable } from '../../../src/store/port.js';
import { MILLIONTHS } from '../../../src/teams/write-guard/amount.js';
import type { AuditRecord } from '../../../src/telemetry/audit.js';
import {
  ADMIN_TOKEN,
  type GatewayOptions,
  gatewayAt,
  REPORT,
  type SimulatedGateway,
  type TestGateway,
  withGateway,
} from '../../support/start-gateway.js';
import { createTestClock } from '../../support/test-clock.js';
import { adminRoutes, callAdmin } from './admin-calls.js';

type Entry = AuditRecord & { readonly id: string };

const PASTED = 'pasted-platform-token';
/** A call that proves a token. */
const PROBE = `${REPORT}?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01`;

/** A change by one route, in a gateway with a team `a`, whose writes are stopped, a key of it, a pending token and
 * a previous one, and a write of unknown outcome. */
interface Change {
  readonly json?: object;
  /** Made of the present state. */
  readonly jsonOf?: (world: World) => Promise<object>;
  /** Stands for `:id`. */
  readonly id?: (world: World) => string;
  /** What the audit says of it, newest first. */
  readonly actions: readonly string[];
  readonly subject?: (world: World) => string;
  readonly before?: unknown;
  readonly after?: unknown;
}

interface World {
  readonly gateway: SimulatedGateway;
  readonly keyId: string;
  readonly key: string;
  /** Of a write of unknown outcome. */
  readonly writeId: string;
}

const aTeam = () => 'a';
const theKey = ({ keyId }: World) => keyId;

const CHANGES: Readonly<Record<string, Change>> = {
  'POST /admin/v1/teams': {
    json: { id: 'b' },
    actions: ['team.create'],
    subject: () => 'b',
    after: { id: 'b', advertisers: [], disabled: false },
  },
  'PATCH /admin/v1/teams/:id': {
    id: aTeam,
    json: { disabled: true },
    actions: ['team.update'],
    subject: aTeam,
    before: { id: 'a', disabled: false },
    after: { id: 'a', disabled: true },
  },
  'DELETE /admin/v1/teams/:id': {
    id: aTeam,
    actions: ['team.delete'],
    subject: aTeam,
    before: { id: 'a' },
  },
  'POST /admin/v1/teams/apply': {
    json: { teams: [{ id: 'c' }] },
    actions: ['team.create'],
    subject: () => 'c',
    after: { id: 'c' },
  },
  'POST /admin/v1/teams/:id/keys': {
    id: aTeam,
    json: { label: 'new' },
    actions: ['key.issue'],
    after: { teamId: 'a', label: 'new', revokedAt: null },
  },
  'DELETE /admin/v1/keys/:id': {
    id: theKey,
    actions: ['key.revoke'],
    subject: theKey,
    before: { revokedAt: null },
    after: { revokedAt: '2026-11-21T12:00:00.000Z' },
  },
  'POST /admin/v1/keys/:id/roll': {
    id: theKey,
    json: { overlapSeconds: 60 },
    actions: ['key.roll'],
    subject: theKey,
    before: { previous: null },
    after: { previous: { validUntil: '2026-11-21T12:01:00.000Z' } },
  },
  'POST /admin/v1/token/stage': {
    json: { token: `${PASTED}-2` },
    actions: ['token.stage'],
    after: { pending: { source: 'staged' } },
  },
  'POST /admin/v1/token/verify': {
    actions: ['token.verify'],
    before: { pending: { verifiedAt: null } },
    after: { pending: { verifiedAt: '2026-11-21T12:00:00.000Z' } },
  },
  'POST /admin/v1/token/activate': {
    json: { force: true },
    actions: ['token.activate'],
    before: { pending: { source: 'staged' } },
    after: { pending: null, active: { source: 'staged' } },
  },
  'POST /admin/v1/token/rollback': {
    actions: ['token.rollback'],
  },
  'POST /admin/v1/token/discard': {
    actions: ['token.discard'],
    after: { pending: null },
  },
  'POST /admin/v1/token/rotate': {
    json: { token: `${PASTED}-3`, force: true },
    actions: ['token.activate', 'token.stage'],
  },
  'POST /admin/v1/token/mint': {
    actions: ['token.mint'],
    after: { pending: { source: 'minted' } },
  },
  'POST /admin/v1/token/reseal': {
    actions: ['token.reseal'],
    after: { records: ['meta/pepper', 'vault'] },
  },
  'POST /admin/v1/registry/import': {
    jsonOf: async ({ gateway }) => ({ ...(await gateway.manage('GET', '/registry/export')), replace: true }),
    actions: ['registry.import'],
    before: { teams: 1, keys: 1 },
    after: { teams: 1, keys: 1 },
  },
  'POST /admin/v1/store/backup': {
    json: { folder: '/backup/today', history: false },
    actions: ['store.backup'],
    subject: () => 'store',
    after: { folder: '/backup/today', history: false },
  },
  'POST /admin/v1/cache/purge': {
    json: { advertiserId: 1, from: '2026-11-01' },
    actions: ['cache.purge'],
    subject: () => 'advertiser 1, days 2026-11-01 to any',
    after: { advertiserId: '1', from: '2026-11-01' },
  },
  'POST /admin/v1/history/accept-empty': {
    json: { advertiserId: 1, before: '2026-01-01' },
    actions: ['history.accept-empty'],
    subject: () => 'advertiser 1, days before 2026-01-01',
    after: { advertiserId: '1', before: '2026-01-01' },
  },
  'POST /admin/v1/history/erase': {
    json: { advertiserId: 1 },
    actions: ['history.erase'],
    subject: () => 'advertiser 1',
    after: { advertiserId: '1' },
  },
  'POST /admin/v1/writes/stop': {
    json: { reason: 'budgets look wrong' },
    actions: ['writes.stop'],
    subject: () => 'all teams',
    after: { reason: 'budgets look wrong' },
  },
  'POST /admin/v1/writes/resume': {
    json: { team: 'a', reason: 'fixed' },
    actions: ['writes.resume'],
    subject: () => 'the team a',
    after: { teamId: 'a', reason: 'fixed' },
  },
  'POST /admin/v1/writes/settle': {
    jsonOf: async ({ writeId }) => ({ id: writeId, outcome: 'not' }),
    actions: ['writes.settle'],
    subject: ({ writeId }) => writeId,
    after: { teamId: 'a', amount: 1, outcome: 'not' },
  },
  'PUT /admin/v1/clock': {
    json: { offsetMs: 5 },
    actions: ['clock.move'],
    after: { offsetMs: 5 },
  },
};

/** Sees every commit, and can refuse them all. */
function watched() {
  const state: { commits: RegistryCommit[]; broken: boolean } = { commits: [], broken: false };
  const wrapStore = (store: Store): Store => {
    const registry: Store['registry'] = Object.assign(Object.create(store.registry), {
      commit: (change: RegistryCommit) => {
        if (state.broken) return Promise.reject(new StoreUnavailable('away'));
        state.commits.push(change);
        return store.registry.commit(change);
      },
    });
    const backup: Store['backup'] = (_folder, _withHistory, begin) => begin();
    return Object.assign(Object.create(store) as Store, { registry, backup });
  };
  return { state, wrapStore };
}

async function open(options: GatewayOptions = {}): Promise<World> {
  const clock = createTestClock();
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const { clientId, ...account } = simulator.account;
  const platform = { probe: PROBE, ...account, clientId: String(clientId) };
  const config = { testClock: true, platform };
  const gateway = Object.assign(await gatewayAt(simulator, { ...options, clock, config }), { simulator });
  await gateway.manage('POST', '/teams', { id: 'a' });
  const { id, key } = await gateway.manage('POST', '/teams/a/keys', {});
  const token = gateway.simulator.issueToken();
  await gateway.manage('POST', '/token/rotate', { token, force: true });
  await gateway.manage('POST', '/token/stage', { token: gateway.simulator.issueToken() });
  await gateway.manage('POST', '/writes/stop', { team: 'a', reason: 'at first' });
  const { reservations } = gateway.services;
  const asked = { team: 'a', route: 'POST /api/v1/campaign/create', amount: MILLIONTHS, max: MILLIONTHS };
  const reserved = await reservations.reserve(asked);
  if (reserved.kind === 'over') throw new Error('there was room');
  await reservations.keepUnknown(reserved.reservation, 'nobody knows');
  return { gateway, keyId: String(id), key: String(key), writeId: reserved.reservation.id };
}

/** Makes the call of a route. */
async function make(route: string, { json = {}, jsonOf, id }: Change, world: World) {
  const [method = '', url = ''] = route.split(' ');
  return world.gateway.admin.inject({
    method: method as 'POST',
    url: url.replace(':id', id?.(world) ?? ''),
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    payload: JSON.stringify((await jsonOf?.(world)) ?? json),
    remoteAddress: '192.0.2.7',
  });
}

const auditOf = async (gateway: TestGateway, query = ''): Promise<Entry[]> =>
  (await gateway.manage('GET', `/audit${query}`)).entries as Entry[];

/** What an operator sees of the state that changes are about. */
async function stateOf({ gateway }: World): Promise<unknown> {
  const [teams, keys, token] = [
    await gateway.manage('GET', '/teams'),
    await gateway.manage('GET', '/teams/a/keys'),
    await gateway.manage('GET', '/token'),
  ];
  const writes = [await gateway.manage('GET', '/writes'), await gateway.manage('GET', '/writes/unknown')];
  return { teams, keys, token, writes, offsetMs: gateway.clock.offsetMs };
}

/** A POST, for it asks the platform; nothing is changed by it. */
const LOOKS_ALONE = 'POST /admin/v1/doctor';
/** See test/teams/sessions/console.test.ts: what it makes is no record of the registry. */
const OF_SESSIONS = '/admin/v1/session';
/** See test/api/sign-in/own-keys.test.ts and command-line.test.ts: they need what a person has. */
const OF_PERSONS = [
  'POST /admin/v1/persons/:id/revoke-keys',
  'POST /admin/v1/persons/:id/revoke-sessions',
  'DELETE /admin/v1/sessions/:id',
];

describe('every route that changes something', () => {
  it('is in the table below', async () => {
    const { gateway } = await open();
    const routes = (await adminRoutes(gateway.admin)).filter(
      (route) =>
        route.includes('/admin/v1/') &&
        !route.startsWith('GET ') &&
        !route.endsWith(OF_SESSIONS) &&
        !OF_PERSONS.includes(route) &&
        route !== LOOKS_ALONE,
    );
    expect(Object.keys(CHANGES).sort()).toEqual(routes.sort());
  });
});

describe.each(Object.entries(CHANGES))('%s', (route, change) => {
  it('is audited, in the commit that makes it, without a secret', async () => {
    const { state, wrapStore } = watched();
    const world = await open({ wrapStore });
    const { gateway } = world;
    const earlier = await auditOf(gateway);
    state.commits = [];
    const answer = await make(route, change, world);
    expect([route, answer.statusCode < 300, answer.payload]).toEqual([route, true, answer.payload]);
    const all = await auditOf(gateway);
    const added = all.slice(0, all.length - earlier.length);
    expect(added.map(({ action }) => action)).toEqual(expect.arrayContaining([...change.actions]));
    expect(added.filter(({ actor, address }) => actor !== 'admin' || address !== '192.0.2.7')).toEqual([]);
    expect(AUDIT_ACTIONS).toEqual(expect.arrayContaining([...change.actions]));
    const [entry] = added.filter(({ action }) => action === change.actions[0]);
    if (change.subject !== undefined) expect(entry?.subject).toBe(change.subject(world));
    if (change.before !== undefined) expect(entry?.before).toMatchObject(change.before as object);
    if (change.after !== undefined) expect(entry?.after).toMatchObject(change.after as object);
    expect(state.commits.length).toBeGreaterThan(0);
    for (const { audit = [] } of state.commits) expect(audit.length).toBeGreaterThan(0);
    const text = JSON.stringify(all);
    const issued = (JSON.parse(answer.payload || '{}') as { key?: string }).key;
    const secrets = [PASTED, ADMIN_TOKEN, world.key, issued, gateway.simulator.token];
    for (const secret of secrets) if (secret !== undefined) expect(text).not.toContain(secret);
  });
});

it('changes nothing when it cannot be audited', async () => {
  const { state, wrapStore } = watched();
  const world = await open({ wrapStore });
  const before = await stateOf(world);
  state.broken = true;
  const answers = [];
  for (const [route, change] of Object.entries(CHANGES))
    answers.push([route, (await make(route, change, world)).statusCode]);
  expect(answers).toEqual(Object.keys(CHANGES).map((route) => [route, 503]));
  state.broken = false;
  await world.gateway.services.registry.refresh();
  expect(await stateOf(world)).toEqual(before);
});

describe('GET /admin/v1/audit', () => {
  interface Page {
    readonly entries: readonly Entry[];
    readonly next: string | null;
  }

  async function scene() {
    const gateway = await withGateway();
    for (const id of ['one', 'two', 'three'])
      await gateway.manage('POST', '/teams', { id, name: `Team ${id === 'two' ? 'ÉTOILE <b>' : id}` });
    const page = async (query: string) => (await gateway.manage('GET', `/audit?${query}`)) as unknown as Page;
    const subjects = async (query: string) => (await page(query)).entries.map(({ subject }) => subject);
    return { page, subjects, gateway };
  }

  it('finds a text anywhere in an entry, however it is written', async () => {
    const { subjects } = await scene();
    expect(await subjects('search=THREE')).toEqual(['three']);
    expect(await subjects(`search=${encodeURIComponent('étoile <B>')}`)).toEqual(['two']);
    expect(await subjects('search=nobody-said-that')).toEqual([]);
    expect(await subjects('action=team&actor=admin')).toEqual(['three', 'two', 'one']);
    expect(await subjects('action=team&actor=gateway')).toEqual([]);
  });

  it('finds the words that console and command line show of an entry', async () => {
    const { subjects, gateway } = await scene();
    await gateway.manage('POST', '/teams/two/keys', { label: 'nightly' });
    const [key = ''] = await subjects('action=key.issue');
    await gateway.manage('POST', `/keys/${key}/roll`, { overlapSeconds: 0 });
    await gateway.manage('PATCH', '/teams/one', { limits: { requestsPerMinute: 30 } });
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    const found = async (text: string) =>
      (await subjects(`search=${encodeURIComponent(text)}`)).map((one) => (one === key ? 'key' : one));
    expect(await found('rolled')).toEqual(['key']);
    expect(await found('ended at once')).toEqual(['key']);
    expect(await found('requests per minute')).toEqual(['one']);
    expect(await found('Purged advertiser')).toEqual(['advertiser 1']);
  });

  it('refuses an action that does not exist, with the one meant, or with those that there are', async () => {
    const { gateway } = await scene();
    const messageOf = async (action: string) =>
      (await callAdmin(gateway, 'GET', `audit?action=${action}`)).json.errors;
    expect(await messageOf('key.rol')).toMatchObject([
      { param: 'action', message: 'is no action: did you mean `key.roll`?' },
    ]);
    expect(await messageOf('key.changed')).toMatchObject([
      { message: 'must be one of key.issue, key.revoke, key.roll' },
    ]);
    expect(await messageOf('nothing')).toMatchObject([
      { message: expect.stringContaining('must be one of team, key, token, cache,') },
    ]);
  });

  it('goes page by page, newest first, without a gap or an entry twice', async () => {
    const { page } = await scene();
    const all = await page('limit=1000');
    expect(all.entries.slice(0, 3).map(({ subject }) => subject)).toEqual(['three', 'two', 'one']);
    expect(all.next).toBeNull();
    const count = all.entries.length;
    expect([(await page(`limit=${count}`)).next, (await page(`limit=${count - 1}`)).next]).toEqual([
      null,
      all.entries.at(-2)?.id,
    ]);
    const paged: Entry[] = [];
    for (let at: string | null = ''; at !== null; ) {
      const { entries, next }: Page = await page(`limit=2${at === '' ? '' : `&before=${at}`}`);
      expect(entries.length).toBeLessThanOrEqual(2);
      paged.push(...entries);
      at = next;
    }
    expect(paged).toEqual(all.entries);
  });
});
