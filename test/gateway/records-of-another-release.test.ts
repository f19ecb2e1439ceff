/**
 * Two releases share a store: a record that a newer one wrote has members that this one does not know. It is read as
 * far as it is understood, and keeps those members when it is written again.
 */
import { describe, expect, it } from 'vitest';
import { VAULT_RECORD } from '../../src/platform/credential/keeper.js';
import { PURGES_RECORD } from '../../src/reports/cache/purges.js';
import { TEAM_PREFIX } from '../../src/teams/auth/directory.js';
import { KEY_PREFIX, LIFE_PREFIX } from '../../src/teams/auth/key-record.js';
import { type TestGateway, withGateway } from '../support/start-gateway.js';

const NEWER = { of: 'a newer release', list: [1, { two: 2 }] };

const read = ({ services }: TestGateway, id: string) =>
  JSON.parse(services.registry.get(id)?.value ?? 'null');

/** Puts the record into the registry as a newer release would. */
async function rewrite(gateway: TestGateway, id: string, change: (record: never) => unknown) {
  const text = JSON.stringify(change(read(gateway, id) as never));
  await gateway.services.registry.commit({ writes: new Map([[id, text]]) });
}

const withMember = (record: object) => ({ ...record, newer: NEWER });

describe('a record that a newer release wrote', () => {
  it('of a team keeps what is not known of it when it is changed, applied from a file, or released', async () => {
    const gateway = await withGateway();
    const id = `${TEAM_PREFIX}shared`;
    await gateway.addTeam({ id: 'shared', scopes: ['report:read'], advertisers: [1] });
    await rewrite(gateway, id, (team: { limits: object; scopes: string[] }) => ({
      ...withMember(team),
      scopes: [...team.scopes, 'newer:scope'],
      limits: withMember(team.limits),
    }));

    await gateway.manage('PATCH', '/teams/shared', { name: 'Renamed' });
    expect(read(gateway, id)).toMatchObject({
      name: 'Renamed',
      newer: NEWER,
      scopes: ['report:read', 'newer:scope'],
      limits: { newer: NEWER },
    });

    const declared = { teams: [{ id: 'shared', advertisers: [2] }] };
    await gateway.manage('POST', '/teams/apply', declared);
    expect(read(gateway, id)).toMatchObject({
      advertisers: [2],
      managedBy: 'file',
      newer: NEWER,
      limits: { newer: NEWER },
    });
    const again = await gateway.manage('POST', '/teams/apply', declared);
    expect(again).toMatchObject({ changes: [{ id: 'shared', action: 'none' }] });

    await gateway.manage('POST', '/teams/apply', { teams: [], removed: 'release' });
    expect(read(gateway, id)).toMatchObject({ advertisers: [2], newer: NEWER });
    expect(read(gateway, id)).not.toHaveProperty('managedBy');
  });

  it('of a key keeps what is not known of it when the key is rolled and revoked, or its team deleted', async () => {
    const gateway = await withGateway();
    await gateway.addTeam({ id: 'shared', scopes: ['report:read'], advertisers: [1] });
    const issue = async () => String((await gateway.manage('POST', '/teams/shared/keys', {})).id);
    const [rolled, left] = [await issue(), await issue()];
    for (const id of [rolled, left])
      await rewrite(gateway, KEY_PREFIX + id, (key: { secrets: object[] }) => ({
        ...withMember(key),
        secrets: key.secrets.map(withMember),
      }));

    await gateway.manage('POST', `/keys/${rolled}/roll`, { overlapSeconds: 60 });
    expect(read(gateway, KEY_PREFIX + rolled)).toMatchObject({
      newer: NEWER,
      secrets: [{}, { newer: NEWER }],
    });
    await gateway.manage('DELETE', `/keys/${rolled}`);
    expect(read(gateway, KEY_PREFIX + rolled)).toMatchObject({
      newer: NEWER,
      revokedAt: expect.any(String),
    });

    const life = `${LIFE_PREFIX}shared`;
    await gateway.services.registry.commit({
      writes: new Map([[life, JSON.stringify({ life: 0, newer: NEWER })]]),
    });
    await gateway.manage('DELETE', '/teams/shared');
    expect(read(gateway, life)).toEqual({ life: 1, newer: NEWER });
    expect(read(gateway, KEY_PREFIX + left)).toMatchObject({
      newer: NEWER,
      revokedAt: expect.any(String),
      secrets: [{ newer: NEWER }],
    });
  });

  it('of the token vault keeps what is not known of it through every step of a rotation', async () => {
    const gateway = await withGateway();
    await rewrite(gateway, VAULT_RECORD, (vault: { active: object }) => ({
      ...withMember(vault),
      active: withMember(vault.active),
    }));
    const token = 'another-token-of-the-platform';
    await gateway.manage('POST', '/token/stage', { token });
    expect(read(gateway, VAULT_RECORD)).toMatchObject({ newer: NEWER, active: { newer: NEWER } });
    await gateway.manage('POST', '/token/activate', { force: true });
    expect(read(gateway, VAULT_RECORD)).toMatchObject({ newer: NEWER, previous: { newer: NEWER } });
    await gateway.manage('POST', '/token/rollback');
    expect(read(gateway, VAULT_RECORD)).toMatchObject({ newer: NEWER, active: { newer: NEWER } });
  });

  it('of purges keeps what is not known of them when another is added', async () => {
    const gateway = await withGateway();
    await gateway.manage('POST', '/cache/purge', { all: true });
    await rewrite(gateway, PURGES_RECORD, (purges: object[]) => purges.map(withMember));
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    expect(read(gateway, PURGES_RECORD)).toMatchObject([{ newer: NEWER }, { advertiserId: '1' }]);
  });
});
