import { randomBytes } from 'node:crypto';
import { createDirectory, TEAM_PREFIX } from '../../../src/teams/auth/directory.js';
import { KEY_PREFIX, type KeyRecord } from '../../../src/teams/auth/key-record.js';
import { completeTeam, type NewTeam } from '../../../src/teams/auth/team.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';

export const PEPPER = randomBytes(32);

/** A registry with one team, `growth`, and the directory over it. */
export async function openKeys() {
  const store = withoutBus(await openInMemory());
  const { registry } = await openReplica(store);
  const directory = createDirectory(registry, () => PEPPER);
  const write = (id: string, value: object) =>
    registry.commit({ writes: new Map([[id, JSON.stringify(value)]]) });
  const save = (key: KeyRecord) => write(KEY_PREFIX + key.id, key);
  const addTeam = (team: NewTeam) => write(TEAM_PREFIX + team.id, completeTeam(team));
  await addTeam({ id: 'growth' });
  let issued = 0;
  return {
    store,
    registry,
    directory,
    addTeam,
    save,
    /** @returns the text of a new key of a team */
    async issue(key: Partial<KeyRecord> = {}) {
      issued += 1;
      const { text, secret } = directory.createSecret();
      await save({
        id: `key_${issued}`,
        teamId: 'growth',
        label: '',
        createdAt: '2026-11-01T00:00:00.000Z',
        expiresAt: null,
        revokedAt: null,
        secrets: [secret],
        ...key,
      });
      return text;
    },
  };
}
