/**
 * Teams and their keys, indexed for a request: by team id, by key id, and by key hash.
 *
 * Everything here comes from the registry's copy in memory; no request waits for the store.
 */
import { randomBytes } from 'node:crypto';
import type { Registry } from '../registry/mirror.js';
import { generateApiKey, hashApiKey, shownPrefix } from './api-key.js';
import type { Team } from './team.js';

export const TEAM_PREFIX = 'team/';
export const KEY_PREFIX = 'key/';
/**
 * How often a team of this id was deleted. A key belongs to one life of a team: so a deletion holds for every key
 * there is, those included that were not known to whoever deleted it.
 */
export const LIFE_PREFIX = 'team-life/';

/** One secret of a key: a key has two while it is being rolled. */
export interface KeySecret {
  readonly hash: string;
  readonly prefix: string;
  /** ISO time after which this secret is no longer valid; null: as long as the key. */
  readonly validUntil: string | null;
}

/** A key as stored. The id stays when the key is rolled. */
export interface KeyRecord {
  readonly id: string;
  readonly teamId: string;
  /** The team's life it was issued in, as {@link LIFE_PREFIX} counts them; absent: the first one, 0. */
  readonly life?: number;
  readonly label: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** How often it was rolled; absent: never, or by a release that did not count. */
  readonly rolls?: number;
  /** Newest first. */
  readonly secrets: readonly KeySecret[];
}

export interface FoundKey {
  readonly key: KeyRecord;
  readonly secret: KeySecret;
}

export interface Directory {
  team(id: string): Team | undefined;
  teams(): Team[];
  key(id: string): KeyRecord | undefined;
  /** Keys of the team's present life. */
  keysOf(teamId: string): KeyRecord[];
  /** The life that a key issued now belongs to. */
  life(teamId: string): number;
  /** Whether a key was revoked, by itself or with its team. */
  isRevoked(key: KeyRecord): boolean;
  /** Finds a key by its text; the hash is computed whatever the text, so that known and unknown cost the same. */
  findKey(text: string): FoundKey | undefined;
  /** A new secret for a key: the text to be shown once, and what is stored of it. */
  createSecret(): { readonly text: string; readonly secret: KeySecret };
}

/**
 * @param pepper the unsealed pepper of key hashes, read anew at each use
 */
export function createDirectory(registry: Registry, pepper: () => Buffer): Directory {
  let teams = new Map<string, Team>();
  let keys = new Map<string, KeyRecord>();
  let byHash = new Map<string, FoundKey>();
  let lives = new Map<string, number>();

  function readTeams(): void {
    teams = new Map(
      registry
        .list(TEAM_PREFIX)
        .map(([id, { value }]) => [id.slice(TEAM_PREFIX.length), JSON.parse(value) as Team]),
    );
  }
  function readKeys(): void {
    const records = registry.list(KEY_PREFIX).map(([, { value }]) => JSON.parse(value) as KeyRecord);
    keys = new Map(records.map((key) => [key.id, key]));
    byHash = new Map(
      records.flatMap((key) =>
        key.secrets.map((secret): [string, FoundKey] => [secret.hash, { key, secret }]),
      ),
    );
  }
  function readLives(): void {
    const records = registry.list(LIFE_PREFIX);
    lives = new Map(records.map(([id, { value }]) => [id.slice(LIFE_PREFIX.length), lifeOf(value)]));
  }
  const life = (teamId: string) => lives.get(teamId) ?? 0;
  const isOfItsTeam = (key: KeyRecord) => (key.life ?? 0) === life(key.teamId);
  readTeams();
  readLives();
  readKeys();
  registry.onChange(TEAM_PREFIX, readTeams);
  registry.onChange(KEY_PREFIX, readKeys);
  registry.onChange(LIFE_PREFIX, readLives);

  return {
    team: (id) => teams.get(id),
    teams: () => [...teams.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    key: (id) => keys.get(id),
    keysOf: (teamId) =>
      [...keys.values()]
        .filter((key) => key.teamId === teamId && isOfItsTeam(key))
        .sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id)),
    life,
    isRevoked: (key) => key.revokedAt !== null || !isOfItsTeam(key),
    findKey: (text) => byHash.get(hashApiKey(text, pepper())),
    createSecret() {
      const text = generateApiKey();
      return {
        text,
        secret: { hash: hashApiKey(text, pepper()), prefix: shownPrefix(text), validUntil: null },
      };
    },
  };
}

/** @returns how often a team was deleted, by its record's text */
export function lifeOf(text: string): number {
  const { life } = JSON.parse(text) as { life: number };
  return life;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @returns a new key id. */
export function newKeyId(): string {
  return `key_${randomBytes(9).toString('base64url').replaceAll(/[-_]/g, 'x')}`;
}
