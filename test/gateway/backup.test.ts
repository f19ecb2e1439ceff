/** A registry exported from one gateway, and imported into another. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Backup } from '../../src/api/admin/registry.js';
import type { Store } from '../../src/store/port.js';
import { sharedGateway } from '../support/scene.js';
import {
  ADMIN_TOKEN,
  gatewayAt,
  REPORT,
  type SimulatedGateway,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';

const ME = '/gateway/v1/me';

const exported = async (gateway: TestGateway) =>
  (await gateway.manage('GET', '/registry/export')) as unknown as Backup;

/** @returns status and body of an import */
async function restore(gateway: TestGateway, body: object) {
  const response = await gateway.admin.inject({
    method: 'POST',
    url: '/admin/v1/registry/import',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    payload: body,
  });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
}

/** A gateway with two teams, three keys (one revoked, one rolled), and a token that was rotated to. */
async function fill(gateway: SimulatedGateway) {
  const [first, second] = [await gateway.addTeam({ advertisers: [1, 2] }), await gateway.addTeam()];
  const revoked = await gateway.manage('POST', '/teams/team-1/keys', { label: 'leaked' });
  await gateway.manage('DELETE', `/keys/${revoked.id}`);
  const { keys } = (await gateway.manage('GET', '/teams/team-2/keys')) as { keys: { id: string }[] };
  const rolled = await gateway.manage('POST', `/keys/${keys[0]?.id}/roll`, { overlapSeconds: 3600 });
  const token = gateway.simulator.issueToken();
  await gateway.manage('POST', '/token/rotate', { token, force: true });
  return { gateway, token, valid: [first, second, String(rolled.key)], revoked: String(revoked.key) };
}

const openFilled = async () => fill(await withGateway());

/** The vault with its active and previous token in each other's place. */
function swapped(vault: string): string {
  const { active, previous, ...rest } = JSON.parse(vault) as Record<string, object>;
  return JSON.stringify({ ...rest, active: previous, previous: active });
}

const stateOf = async (gateway: TestGateway) => ({
  teams: await gateway.manage('GET', '/teams'),
  keys: [
    await gateway.manage('GET', '/teams/team-1/keys'),
    await gateway.manage('GET', '/teams/team-2/keys'),
  ].map(({ keys }) => (keys as object[]).map((key) => ({ ...key, lastUsedAt: null }))),
  token: await gateway.manage('GET', '/token'),
});

describe('a backup', () => {
  it('restored into an empty store gives the same teams, keys and tokens', async () => {
    const { gateway, token, valid, revoked } = await openFilled();
    const backup = JSON.parse(JSON.stringify(await exported(gateway))) as Backup;
    const other: SimulatedGateway = await withGateway();
    expect(await restore(other, backup)).toEqual({
      status: 200,
      body: { imported: { teams: 2, keys: 3, replaced: false } },
    });
    expect(await stateOf(other)).toEqual(await stateOf(gateway));
    for (const key of valid) expect((await other.call(ME, { key })).status).toBe(200);
    expect((await other.call(ME, { key: revoked })).json()).toMatchObject({ code: 'revoked_api_key' });
    expect(other.services.keeper.active().secret).toBe(token);
    // Keys issued there are hashed under the pepper that came with it.
    const issued = await other.manage('POST', '/teams/team-1/keys', {});
    expect((await other.call(ME, { key: String(issued.key) })).status).toBe(200);
    const { entries } = (await other.manage('GET', '/audit?limit=5')) as { entries: { action: string }[] };
    expect(entries).toContainEqual(
      expect.objectContaining({
        action: 'registry.import',
        actor: 'admin',
        before: { teams: 0, keys: 0 },
        after: { teams: 2, keys: 3, exportedAt: '2026-11-21T12:00:00.000Z' },
      }),
    );
  });

  it('holds no secret in the open', async () => {
    const { gateway, token, valid, revoked } = await openFilled();
    const text = JSON.stringify(await exported(gateway));
    for (const secret of [token, gateway.simulator.token, ...valid, revoked])
      expect(text).not.toContain(secret);
  });

  it('is not put over teams or keys unless that is said, and then nothing of them is left', async () => {
    const { gateway, valid } = await openFilled();
    const backup = await exported(gateway);
    const other = await withGateway();
    await other.manage('POST', '/teams', { id: 'only-here' });
    const { key: lost } = (await other.manage('POST', '/teams/only-here/keys', {})) as { key: string };
    const refused = await restore(other, backup);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect((await other.call(ME, { key: lost })).status).toBe(200);

    expect(await restore(other, { ...backup, replace: true })).toEqual({
      status: 200,
      body: { imported: { teams: 2, keys: 3, replaced: true } },
    });
    expect((await other.call(ME, { key: lost })).json()).toMatchObject({ code: 'invalid_api_key' });
    expect((await other.call(ME, { key: valid[0] as string })).status).toBe(200);
    expect(await stateOf(other)).toEqual(await stateOf(gateway));
  });

  it('without tokens leaves the token that is there', async () => {
    const { gateway } = await openFilled();
    const backup = await exported(gateway);
    const other = await withGateway();
    const records = backup.records.filter(({ id }) => id !== 'vault');
    expect((await restore(other, { ...backup, records })).status).toBe(200);
    expect(other.services.keeper.active().secret).toBe(other.simulator.token);
  });
});

describe('a backup that is older than what it is put over', () => {
  it('gives back no key that was revoked since, nor one of a team that was deleted since', async () => {
    const { gateway, valid } = await openFilled();
    const backup = await exported(gateway);
    const { keys } = (await gateway.manage('GET', '/teams/team-1/keys')) as { keys: { id: string }[] };
    for (const { id } of keys) await gateway.manage('DELETE', `/keys/${id}`);
    await gateway.manage('DELETE', '/teams/team-2');
    const { status, body } = await restore(gateway, { ...backup, replace: true });
    expect([status, body]).toEqual([
      200,
      { imported: { teams: 2, keys: 3, replaced: true, stillRevoked: 2 } },
    ]);
    for (const key of valid) {
      expect((await gateway.call(ME, { key })).json()).toMatchObject({ code: 'revoked_api_key' });
    }
    // Nor by a detour over a backup that does not know the key.
    const without = backup.records.filter(({ id }) => !id.startsWith('key/'));
    await restore(gateway, { ...backup, records: without, replace: true });
    await restore(gateway, { ...backup, replace: true });
    for (const key of valid) {
      expect((await gateway.call(ME, { key })).json()).toMatchObject({ code: 'revoked_api_key' });
    }
    const issued = await gateway.manage('POST', '/teams/team-2/keys', {});
    expect((await gateway.call(ME, { key: String(issued.key) })).status).toBe(200);
  });

  it('and holds no tokens lets no later start undo a rotation', async () => {
    const { gateway } = await openFilled();
    const backup = await exported(gateway);
    const other = await withGateway();
    const seed = other.simulator.token;
    for (const _ of [1, 2]) {
      const token = other.simulator.issueToken();
      await other.manage('POST', '/token/rotate', { token, force: true });
    }
    const rotated = other.services.keeper.active().secret;
    const records = backup.records.filter(({ id }) => id !== 'vault');
    expect((await restore(other, { ...backup, records })).status).toBe(200);
    const restarted = await gatewayAt(
      { url: other.simulator.url, token: seed },
      {
        sharedStore: other.store,
        clock: other.clock,
        config: { platform: { probe: `${REPORT}?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01` } },
      },
    );
    expect(restarted.services.keeper.active().secret).toBe(rotated);
    // Everything still opens after the master key was changed.
    expect(await other.manage('POST', '/token/reseal', {})).toMatchObject({
      records: ['meta/pepper', 'vault', 'meta/token-pepper'],
    });
    await other.manage('GET', '/token');
    // And by the way of a further backup.
    const further = await withGateway();
    expect((await restore(further, await exported(other))).status).toBe(200);
    expect(further.services.keeper.active().secret).toBe(rotated);
  });
});

/** A record of a backup with some members replaced. */
function changed(backup: Backup, prefix: string, members: object): Backup {
  const at = backup.records.findIndex(({ id }) => id.startsWith(prefix));
  const { id, text } = backup.records[at] as Backup['records'][0];
  const records = backup.records.with(at, { id, text: JSON.stringify({ ...JSON.parse(text), ...members }) });
  return { ...backup, records };
}

/** A backup with each record changed, or left out where nothing is made of it. */
const each = (backup: Backup, change: (record: Backup['records'][0]) => Backup['records'][0] | null) => ({
  ...backup,
  records: backup.records.flatMap((record) => change(record) ?? []),
});

describe('a backup that is refused', () => {
  const [source, target] = [sharedGateway(), sharedGateway()];
  let backup: Backup;
  beforeAll(async () => {
    await fill(source());
    backup = await exported(source());
  });

  it.each<[string, string, object, string]>([
    ['a team whose addresses are none', 'team/', { ipAllow: ['10.0.0.1', 'nonsense'] }, '.ipAllow.1'],
    ['a key that expires at no date', 'key/', { expiresAt: 'garbage' }, '.expiresAt'],
    ['a key that was revoked at no date', 'key/', { revokedAt: 'garbage' }, '.revokedAt'],
    ['a key made on no day', 'key/', { createdAt: '2026-02-30' }, '.createdAt'],
    ['a key without a team', 'key/', { teamId: 'nobody', revokedAt: null }, '.teamId'],
    ['a key without a secret', 'key/', { secrets: [] }, 'key/'],
    [
      'a key whose old secret ends at no date',
      'key/',
      { secrets: [{ hash: 'h', prefix: 'p', validUntil: 'soon' }] },
      '.secrets.0.validUntil',
    ],
  ])('for %s is told the record and the place in it', async (_what, prefix, members, place) => {
    const { status, body } = await restore(target(), changed(backup, prefix, members));
    expect([status, body.code]).toEqual([422, 'invalid_body']);
    const [{ param } = { param: '' }] = body.errors as { param: string }[];
    expect(param.startsWith(prefix)).toBe(true);
    expect(param).toContain(place);
    expect(await target().manage('GET', '/teams')).toEqual({ teams: [] });
  });

  it.each<[string, (backup: Backup) => object, string]>([
    ['of a newer release', (backup) => ({ ...backup, schema: 99 }), 'schema'],
    ['of something else', (backup) => ({ ...backup, format: 'other' }), 'format'],
    [
      'with a token moved elsewhere',
      (backup) => each(backup, (one) => (one.id === 'vault' ? { ...one, text: swapped(one.text) } : one)),
      'vault',
    ],
    [
      'with a vault that is none',
      (backup) => each(backup, (one) => (one.id === 'vault' ? { ...one, text: '{}' } : one)),
      'vault',
    ],
    [
      'with a damaged team',
      (backup) => ({ ...backup, records: [...backup.records, { id: 'team/bad', text: '{"id":"bad"}' }] }),
      'team/bad',
    ],
    [
      'with a team under the id of another',
      (backup) => each(backup, (one) => (one.id === 'team/team-1' ? { ...one, id: 'team/other' } : one)),
      'team/other',
    ],
    [
      'without its pepper',
      (backup) => each(backup, (one) => (one.id === 'meta/pepper' ? null : one)),
      'meta/pepper',
    ],
    [
      'with an id twice',
      (backup) => ({ ...backup, records: [...backup.records, ...backup.records] }),
      'records',
    ],
    [
      'with a record that is no part of a backup',
      (backup) => ({ ...backup, records: [...backup.records, { id: 'clock', text: '{}' }] }),
      'records',
    ],
  ])('%s is refused, names what is wrong, and changes nothing', async (_what, spoil, param) => {
    const { registry } = target().services;
    const before = new Map(registry.list(''));
    const { status, body } = await restore(target(), spoil(backup));
    expect([status, body.code]).toEqual([422, 'invalid_body']);
    expect(JSON.stringify(body.errors)).toContain(param);
    expect(new Map(registry.list(''))).toEqual(before);
  });
});

it('a store of Redis is not copied by the gateway: the refusal names what copies it', async () => {
  const inRedis = (store: Store) => Object.assign(Object.create(store) as Store, { backup: undefined });
  const gateway = await withGateway({ wrapStore: inRedis });
  const response = await gateway.admin.inject({
    method: 'POST',
    url: '/admin/v1/store/backup',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    payload: { folder: '/backup/today' },
  });
  expect(response.statusCode).toBe(409);
  expect(response.json()).toMatchObject({
    code: 'conflict',
    detail: 'The store is Redis, which has its own means of backup.',
    help: expect.stringContaining('GET /admin/v1/registry/export'),
  });
});
