/** Keys of teams: their form, what is kept of them, and how they are found. */

import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createDirectory,
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
  newKeyId,
  TEAM_PREFIX,
} from '../../../src/teams/auth/directory.js';
import { openReplica } from '../../support/shared-registry.js';
import { openKeys, PEPPER } from './keys.js';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const key = fc.noShrink(fc.nat().map(generateApiKey));
/** What somebody may type or paste instead of a character; unicode look-alikes, too. */
const character = fc.oneof(
  fc.constantFrom(...LETTERS),
  fc.constantFrom('_', '-', ' ', '.', 'О', 'Ｏ', '０', 'ı', '\u0000', '\n'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
);

describe('a team key', () => {
  it('has the form dgw_<random>_<checksum>, of all letters, each about as often as any other', () => {
    const count = new Map<string, number>();
    for (let index = 0; index < 2000; index++) {
      const text = generateApiKey();
      expect(text).toMatch(/^dgw_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/);
      expect(isWellFormedApiKey(text)).toBe(true);
      for (const letter of text.slice(4, 36)) count.set(letter, (count.get(letter) ?? 0) + 1);
    }
    expect([...count.keys()].toSorted().join('')).toBe([...LETTERS].toSorted().join(''));
    // 64,000 letters, so 1032 of each with a deviation of 32: this fails by chance once in 10^20 runs.
    for (const found of count.values()) expect(Math.abs(found - 1032)).toBeLessThan(320);
  });

  it('is refused when any one character is another', () => {
    fc.assert(
      fc.property(key, fc.nat(42), character, (text, at, other) => {
        fc.pre(text[at] !== other);
        expect(isWellFormedApiKey(text.slice(0, at) + other + text.slice(at + 1))).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused when a character is missing, doubled or added, or two neighbours changed places', () => {
    fc.assert(
      fc.property(key, fc.nat(42), character, (text, at, other) => {
        const [before, after] = [text.slice(0, at), text.slice(at)];
        expect(isWellFormedApiKey(before + after.slice(1))).toBe(false);
        expect(isWellFormedApiKey(before + other + after)).toBe(false);
        expect(isWellFormedApiKey(text + other)).toBe(false);
        const swapped = before + (after[1] ?? '') + after[0] + after.slice(2);
        if (swapped !== text) expect(isWellFormedApiKey(swapped)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused in another case, with spaces around it, or as part of a longer text', () => {
    const text = generateApiKey();
    for (const other of [text.toUpperCase(), ` ${text}`, `${text}\n`, `${text},${text}`, '', 'dgw__'])
      expect(isWellFormedApiKey(other), JSON.stringify(other)).toBe(false);
  });

  it('keeps its checksum from release to release', () => {
    // Keys that were issued must stay valid.
    expect(isWellFormedApiKey('dgw_00000000000000000000000000000000_2wjyrI')).toBe(true);
    expect(isWellFormedApiKey('dgw_0123456789ABCDEFGHIJabcdefghijKL_18ptLK')).toBe(true);
  });
});

describe('what is kept and shown of a key', () => {
  it('is an HMAC under the pepper', () => {
    fc.assert(
      fc.property(key, fc.uint8Array({ minLength: 32, maxLength: 32 }), (text, bytes) => {
        const pepper = Buffer.from(bytes);
        const hash = hashApiKey(text, pepper);
        expect(hash).toBe(createHmac('sha256', pepper).update(text).digest('base64url'));
        const other = Buffer.from(pepper);
        other[0] = (other[0] ?? 0) ^ 1;
        expect(hashApiKey(text, other)).not.toBe(hash);
      }),
    );
  });

  it('is a hash under the pepper and its first ten characters', async () => {
    const { directory, registry, issue } = await openKeys();
    const { text, secret } = directory.createSecret();
    expect(secret).toEqual({ hash: hashApiKey(text, PEPPER), prefix: text.slice(0, 10), validUntil: null });
    const key = await issue();
    expect(JSON.stringify(registry.list(''))).not.toContain(key.slice(10));
  });
});

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
  const ids = Array.from({ length: 500 }, newKeyId);
  for (const id of ids) expect(id).toMatch(/^key_[A-Za-z0-9]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
