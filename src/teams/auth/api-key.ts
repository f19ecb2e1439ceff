/**
 * Team keys: `dgw_<32 random characters>_<6 characters of checksum>`.
 *
 * The prefix lets secret scanners find leaked keys; the checksum refuses mistyped ones without a look-up.
 */
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { randomWhole } from '../../lib/chance.js';

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
