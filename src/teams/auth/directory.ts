/** Index of teams and keys by id and hash, from the registry's copy in memory: no request waits for the store. */
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { randomBuffer, randomWhole } from '../../lib/chance.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Grant, isOfTeam } from '../sign-in/people.js';
import { KEY_PREFIX, KeyRecord, type KeySecret, LIFE_PREFIX, LifeRecord } from './key-record.js';
import { StoredTeam, type Team } from './team.js';

// Team keys: `dgw_<32 random characters>_<6 characters of checksum>`. The prefix is for secret scanners; the checksum
// refuses mistyped keys without a look-up.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Value of a character in base 62, by its code. */
const DIGIT = Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^dgw_[0-9A-Za-z]{${RANDOM_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`);

/** Length of the prefix in lists: enough to distinguish keys, too short to guess the rest. */
const SHOWN_LENGTH = 'dgw_'.length + 6;

/** @returns a new key with about 190 bits of randomness */
export function generateApiKey(): string {
  const characters = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomWhole(0, ALPHABET.length)]);
  const random = characters.join('');
  return `dgw_${random}_${checksum(random)}`;
}

/** Whether a text has the form and checksum of a key. */
export function isWellFormedApiKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const random = text.slice(4, 4 + RANDOM_LENGTH);
  return crc32(random) === readChecksum(text.slice(-CHECKSUM_LENGTH));
}

/** Parses base 62. */
function readChecksum(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at++) value = value * 62 + (DIGIT[text.charCodeAt(at)] as number);
  return value;
}

/** CRC-32 in base 62; 62^6 exceeds 2^32. */
function checksum(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    text = ALPHABET[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/**
 * The stored hash of a key: HMAC-SHA-256 with the pepper, base64url. Random keys need no slow hash; the pepper prevents
 * that a stolen registry confirms a guess.
 */
export function hashApiKey(key: string, pepper: Buffer): string {
  return createHmac('sha256', pepper).update(key).digest('base64url');
}

export const TEAM_PREFIX = 'team/';
export interface FoundKey {
  readonly key: KeyRecord;
  readonly secret: KeySecret;
}

export type Directory = ReturnType<typeof createDirectory>;

/** @param pepper the decrypted pepper, read at each use */
export function createDirectory(registry: Registry, pepper: () => Buffer) {
  let teams = new Map<string, Team>();
  let keys = new Map<string, KeyRecord>();
  let byHash = new Map<string, FoundKey>();
  let lives = new Map<string, LifeRecord>();
  const found = createFoundKeys();

  const readAll = <T>(prefix: string, { read }: { readonly read: (text: string, id: string) => T }) =>
    new Map(registry.list(prefix).map(([id, { value }]) => [id.slice(prefix.length), read(value, id)]));
  function readTeams(): void {
    teams = readAll(TEAM_PREFIX, StoredTeam);
  }
  function readKeys(): void {
    const records = [...readAll(KEY_PREFIX, KeyRecord).values()];
    keys = new Map(records.map((key) => [key.id, key]));
    found.clear();
    const all = records.flatMap((key) => key.secrets.map((secret): FoundKey => ({ key, secret })));
    byHash = new Map(all.map((one) => [one.secret.hash, one]));
  }
  function readLives(): void {
    lives = readAll(LIFE_PREFIX, LifeRecord);
  }
  readTeams();
  readLives();
  readKeys();
  registry.onChange(TEAM_PREFIX, readTeams);
  registry.onChange(KEY_PREFIX, readKeys);
  registry.onChange(LIFE_PREFIX, readLives);

  /** The present life of a team, which new keys belong to. */
  const life = (teamId: string): number => lives.get(teamId)?.life ?? 0;
  const isOfItsTeam = (key: KeyRecord) => (key.life ?? 0) === life(key.teamId);
  /** Keys of the present life of a team, or of all teams, oldest first. */
  const presentKeys = (teamId?: string): KeyRecord[] =>
    [...keys.values()]
      .filter((key) => (teamId === undefined || key.teamId === teamId) && isOfItsTeam(key))
      .sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id));

  return {
    team: (id: string): Team | undefined => teams.get(id),
    teams: (): Team[] => [...teams.values()].sort((a, b) => compare(a.id, b.id)),
    /** The teams as which a person may act. */
    teamsOf: (grant: Grant): Team[] => [...teams.values()].filter(({ id }) => isOfTeam(grant, id)),
    key: (id: string): KeyRecord | undefined => keys.get(id),
    keys: (): KeyRecord[] => presentKeys(),
    keysOf: (teamId: string): KeyRecord[] => presentKeys(teamId),
    life,
    /** Whether a key was revoked, by itself or with its team. */
    isRevoked: (key: KeyRecord): boolean => key.revokedAt !== null || !isOfItsTeam(key),
    /** Whether a text may be a key: it was found before, or has the form and checksum of one. */
    mayBeKey: (text: string): boolean => found.has(text) || isWellFormedApiKey(text),
    /** An unknown key is hashed each time. */
    findKey(text: string): FoundKey | undefined {
      const now = pepper();
      return found.get(text, now) ?? found.keep(text, now, byHash.get(hashApiKey(text, now)));
    },
    /** @returns the text, which is shown once, and the stored secret */
    createSecret(): { readonly text: string; readonly secret: KeySecret } {
      const text = generateApiKey();
      const hash = hashApiKey(text, pepper());
      return { text, secret: { hash, prefix: text.slice(0, SHOWN_LENGTH), validUntil: null } };
    },
  };
}

/**
 * Cache of found keys by their text, in memory only: a digest of each would cost 5 % of a hit. Unknown keys are not cached,
 * so the map is no larger than the list of keys; nor are rights.
 */
function createFoundKeys() {
  const known = new Map<string, FoundKey>();
  let under: Buffer | null = null;
  return {
    clear: () => known.clear(),
    has: (text: string) => known.has(text),
    get: (text: string, pepper: Buffer) => (under === pepper ? known.get(text) : undefined),
    keep(text: string, pepper: Buffer, key: FoundKey | undefined): FoundKey | undefined {
      if (under !== pepper) known.clear();
      under = pepper;
      if (key !== undefined) known.set(text, key);
      return key;
    },
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function newKeyId(): string {
  return `key_${randomBuffer(9).toString('base64url').replaceAll(/[-_]/g, 'x')}`;
}
