/**
 * Teams and their keys, indexed for a request: by team id, by key id, and by key hash.
 *
 * Everything here comes from the registry's copy in memory; no request waits for the store.
 */
import { createHmac, hash } from 'node:crypto';
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

/** What of a key may be shown after it was issued. */
const SHOWN_LENGTH = 'dgw_'.length + 6;

/** @returns a new key with about 190 bits of randomness. */
export function generateApiKey(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomWhole(0, ALPHABET.length)]).join(
    '',
  );
  return `dgw_${random}_${checksum(random)}`;
}

/** Whether a text is formed like a key and its checksum fits; says nothing about whether the key is known. */
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
export function shownPrefix(key: string): string {
  return key.slice(0, SHOWN_LENGTH);
}

/**
 * What is stored of a key: HMAC-SHA-256 under the pepper, base64url. Keys are random, so no slow hash is needed;
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

export interface Directory {
  team(id: string): Team | undefined;
  teams(): Team[];
  key(id: string): KeyRecord | undefined;
  /** Keys of the team's present life, the oldest first. */
  keysOf(teamId: string): KeyRecord[];
  /** The same of all teams. */
  keys(): KeyRecord[];
  /** The life that a key issued now belongs to. */
  life(teamId: string): number;
  /** Whether a key was revoked, by itself or with its team. */
  isRevoked(key: KeyRecord): boolean;
  /** Finds a key by its text; whatever is not known costs the same. */
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
  const found = createFoundKeys();

  function readTeams(): void {
    teams = new Map(
      registry
        .list(TEAM_PREFIX)
        .map(([id, { value }]) => [id.slice(TEAM_PREFIX.length), StoredTeam.read(value, id)]),
    );
  }
  function readKeys(): void {
    const records = registry.list(KEY_PREFIX).map(([id, { value }]) => KeyRecord.read(value, id));
    keys = new Map(records.map((key) => [key.id, key]));
    found.clear();
    byHash = new Map(
      records.flatMap((key) =>
        key.secrets.map((secret): [string, FoundKey] => [secret.hash, { key, secret }]),
      ),
    );
  }
  function readLives(): void {
    const records = registry.list(LIFE_PREFIX);
    lives = new Map(
      records.map(([id, { value }]) => [id.slice(LIFE_PREFIX.length), LifeRecord.read(value, id).life]),
    );
  }
  const life = (teamId: string) => lives.get(teamId) ?? 0;
  const isOfItsTeam = (key: KeyRecord) => (key.life ?? 0) === life(key.teamId);
  const present = (isWanted: (key: KeyRecord) => boolean) =>
    [...keys.values()]
      .filter((key) => isWanted(key) && isOfItsTeam(key))
      .sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id));
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
    keysOf: (teamId) => present((key) => key.teamId === teamId),
    keys: () => present(() => true),
    life,
    isRevoked: (key) => key.revokedAt !== null || !isOfItsTeam(key),
    findKey(text) {
      const now = pepper();
      return found.get(text, now) ?? found.keep(text, now, byHash.get(hashApiKey(text, now)));
    },
    createSecret() {
      const text = generateApiKey();
      return {
        text,
        secret: { hash: hashApiKey(text, pepper()), prefix: shownPrefix(text), validUntil: null },
      };
    },
  };
}

/**
 * Keys that were found before, by a plain digest of their text: one that is used again and again costs a third. Unknown
 * ones are not kept, so there are no more than keys; and neither is what a key may do.
 */
function createFoundKeys() {
  const known = new Map<string, FoundKey>();
  let under: Buffer | null = null;
  const digestOf = (text: string) => hash('sha256', text, 'binary');
  return {
    clear: () => known.clear(),
    get: (text: string, pepper: Buffer) => (under === pepper ? known.get(digestOf(text)) : undefined),
    keep(text: string, pepper: Buffer, key: FoundKey | undefined): FoundKey | undefined {
      if (under !== pepper) known.clear();
      under = pepper;
      if (key !== undefined) known.set(digestOf(text), key);
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
