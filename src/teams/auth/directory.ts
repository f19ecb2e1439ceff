/**
 * Teams and their keys, indexed for a request: by team id, by key id, and by key hash.
 *
 * Everything here comes from the registry's copy in memory; no request waits for the store.
 */
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { randomBuffer, randomWhole } from '../../lib/chance.js';
import type { Registry } from '../../store/registry/replica.js';
import { KEY_PREFIX, KeyRecord, type KeySecret, LIFE_PREFIX, LifeRecord } from './key-record.js';
import { StoredTeam, type Team } from './team.js';

// Team keys: `dgw_<32 random characters>_<6 characters of checksum>`.
//
// The prefix lets secret scanners find leaked keys; the checksum refuses mistyped ones without a look-up.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Value of a character in base 62, by its code. */
const DIGIT = Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^dgw_[0-9A-Za-z]{${RANDOM_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`);

/** The first characters of a key, which may be shown after it was issued. */
const SHOWN_LENGTH = 'dgw_'.length + 6;

/** @returns a new key with about 190 bits of randomness. */
export function generateApiKey(): string {
  const characters = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomWhole(0, ALPHABET.length)]);
  const random = characters.join('');
  return `dgw_${random}_${checksum(random)}`;
}

/** Whether a text has the form and checksum of a key, known or not. */
export function isWellFormedApiKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const random = text.slice(4, 4 + RANDOM_LENGTH);
  return crc32(random) === readChecksum(text.slice(-CHECKSUM_LENGTH));
}

/** @returns the number that six characters in base 62 stand for */
function readChecksum(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at++) value = value * 62 + (DIGIT[text.charCodeAt(at)] as number);
  return value;
}

/** CRC-32 in base 62: 62^6 exceeds 2^32, so nothing is cut. */
function checksum(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    text = ALPHABET[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** The first characters of a key, enough to tell keys apart in a list and far too few to guess the rest. */
function shownPrefix(key: string): string {
  return key.slice(0, SHOWN_LENGTH);
}

/**
 * The stored hash of a key: HMAC-SHA-256 under the pepper, base64url. Keys are random, so no slow hash is needed;
 * the pepper keeps a stolen registry from confirming a guess.
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

/**
 * @param pepper the unsealed pepper of key hashes, read at each use
 */
export function createDirectory(registry: Registry, pepper: () => Buffer) {
  let teams = new Map<string, Team>();
  let keys = new Map<string, KeyRecord>();
  let byHash = new Map<string, FoundKey>();
  let lives = new Map<string, number>();
  const found = createFoundKeys();

  function readTeams(): void {
    const records = registry.list(TEAM_PREFIX);
    teams = new Map(
      records.map(([id, { value }]) => [id.slice(TEAM_PREFIX.length), StoredTeam.read(value, id)]),
    );
  }
  function readKeys(): void {
    const records = registry.list(KEY_PREFIX).map(([id, { value }]) => KeyRecord.read(value, id));
    keys = new Map(records.map((key) => [key.id, key]));
    found.clear();
    const all = records.flatMap((key) => key.secrets.map((secret): FoundKey => ({ key, secret })));
    byHash = new Map(all.map((one) => [one.secret.hash, one]));
  }
  function readLives(): void {
    const records = registry.list(LIFE_PREFIX);
    lives = new Map(
      records.map(([id, { value }]) => [id.slice(LIFE_PREFIX.length), LifeRecord.read(value, id).life]),
    );
  }
  readTeams();
  readLives();
  readKeys();
  registry.onChange(TEAM_PREFIX, readTeams);
  registry.onChange(KEY_PREFIX, readKeys);
  registry.onChange(LIFE_PREFIX, readLives);

  /** The life that a key issued now belongs to. */
  const life = (teamId: string): number => lives.get(teamId) ?? 0;
  const isOfItsTeam = (key: KeyRecord) => (key.life ?? 0) === life(key.teamId);
  /** Keys of the present life of a team, or of all teams, the oldest first. */
  const presentKeys = (teamId?: string): KeyRecord[] =>
    [...keys.values()]
      .filter((key) => (teamId === undefined || key.teamId === teamId) && isOfItsTeam(key))
      .sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id));

  return {
    team: (id: string): Team | undefined => teams.get(id),
    teams: (): Team[] => [...teams.values()].sort((a, b) => compare(a.id, b.id)),
    key: (id: string): KeyRecord | undefined => keys.get(id),
    keys: (): KeyRecord[] => presentKeys(),
    keysOf: (teamId: string): KeyRecord[] => presentKeys(teamId),
    life,
    /** Whether a key was revoked, alone or with its team. */
    isRevoked: (key: KeyRecord): boolean => key.revokedAt !== null || !isOfItsTeam(key),
    /** Whether a text may be a key: it was found before, or has the form and checksum of one. */
    mayBeKey: (text: string): boolean => found.get(text, pepper()) !== undefined || isWellFormedApiKey(text),
    /** Finds a key by its text; an unknown one is hashed each time. */
    findKey(text: string): FoundKey | undefined {
      const now = pepper();
      return found.get(text, now) ?? found.keep(text, now, byHash.get(hashApiKey(text, now)));
    },
    /** A new secret for a key: the text to be shown once, and the stored secret. */
    createSecret(): { readonly text: string; readonly secret: KeySecret } {
      const text = generateApiKey();
      const hash = hashApiKey(text, pepper());
      return { text, secret: { hash, prefix: shownPrefix(text), validUntil: null } };
    },
  };
}

/**
 * Keys that were found before, by their text, in memory alone: a digest of each would cost 5 % of a hit. Unknown keys are
 * not remembered, so the map is no larger than the list of keys; nor are a key's rights.
 */
function createFoundKeys() {
  const known = new Map<string, FoundKey>();
  let under: Buffer | null = null;
  return {
    clear: () => known.clear(),
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

/** @returns a new key id. */
export function newKeyId(): string {
  return `key_${randomBuffer(9).toString('base64url').replaceAll(/[-_]/g, 'x')}`;
}
