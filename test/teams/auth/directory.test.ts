import { describe, expect, it } from 'vitest';
import {
  createDirectory,
  hashApiKey,
  isWellFormedApiKey,
  newKeyId,
  shownPrefix,
  TEAM_PREFIX,
} from '../../../src/teams/auth/directory.js';
import { openReplica } from '../../support/shared-registry.js';
import { openKeys, PEPPER } from './keys.js';

describe('the directory', () => {
  it('lists teams by id and keys by age', async () => {
    const { directory, addTeam, issue } = await openKeys();
    for (const id of ['zebra', 'apes']) await addTeam({ id, name: id.toUpperCase() });
    expect(directory.teams().map(({ id }) => id)).toEqual(['apes', 'growth', 'zebra']);
    expect(directory.team('apes')).toMatchObject({ name: 'APES', scopes: ['report:read'] });
    expect(directory.team('ape')).toBeUndefined();
    await issue({ id: 'key_new', createdAt: '2026-11-03T00:00:00.000Z' });
    await issue({ id: 'key_old', createdAt: '2026-11-01T00:00:00.000Z' });
    await issue({ id: 'key_other', teamId: 'apes' });
    expect(directory.keysOf('growth').map(({ id }) => id)).toEqual(['key_old', 'key_new']);
    expect(directory.keysOf('zebra')).toEqual([]);
  });

  it('finds a key by its text, and by nothing else', async () => {
    const { directory, issue } = await openKeys();
    const [one, two] = [await issue(), await issue()];
    expect(directory.findKey(one)?.key.id).toBe('key_1');
    expect(directory.findKey(two)?.key.id).toBe('key_2');
    const { secrets } = directory.key('key_1') ?? { secrets: [] };
    expect(directory.findKey(secrets[0]?.hash ?? '')).toBeUndefined();
    expect(directory.findKey('')).toBeUndefined();
  });

  it('keeps of a new secret a hash under the pepper and the first characters', async () => {
    const { directory, registry, issue } = await openKeys();
    const { text, secret } = directory.createSecret();
    expect(isWellFormedApiKey(text)).toBe(true);
    expect(secret).toEqual({ hash: hashApiKey(text, PEPPER), prefix: shownPrefix(text), validUntil: null });
    const key = await issue();
    expect(JSON.stringify(registry.list(''))).not.toContain(key.slice(10));
  });

  it('follows what another replica does', async () => {
    const { store, registry, directory } = await openKeys();
    const other = await openReplica(store);
    const theirs = createDirectory(other.registry, () => PEPPER);
    expect(theirs.team('growth')).toEqual(directory.team('growth'));
    await registry.commit({ writes: new Map([[`${TEAM_PREFIX}growth`, null]]) });
    await other.registry.refresh();
    expect(theirs.teams()).toEqual([]);
  });

  it('keeps what it knew when a record is damaged', async () => {
    const { registry, directory } = await openKeys();
    await registry.commit({ writes: new Map([[`${TEAM_PREFIX}bad`, '{"id":']]) });
    expect(directory.team('growth')?.id).toBe('growth');
    expect(directory.team('bad')).toBeUndefined();
  });
});

it('key ids are short, plain and never the same', () => {
  const ids = Array.from({ length: 2000 }, newKeyId);
  for (const id of ids) expect(id).toMatch(/^key_[A-Za-z0-9]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
