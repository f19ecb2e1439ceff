import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
  shownPrefix,
} from '../../../src/teams/auth/directory.js';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const key = fc.noShrink(fc.nat().map(generateApiKey));
/** What somebody may type or paste instead of a character; unicode look-alikes, too. */
const character = fc.oneof(
  fc.constantFrom(...LETTERS),
  fc.constantFrom('_', '-', ' ', '.', 'О', 'Ｏ', '０', 'ı', '\u0000', '\n'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
);

describe('a team key', () => {
  it('has the form dgw_<random>_<checksum>, and is well formed', () => {
    fc.assert(
      fc.property(key, (text) => {
        expect(text).toMatch(/^dgw_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/);
        expect(isWellFormedApiKey(text)).toBe(true);
      }),
    );
  });

  it('is made of all letters, each about as often as any other', () => {
    const count = new Map<string, number>();
    for (let index = 0; index < 2000; index++) {
      for (const letter of generateApiKey().slice(4, 36)) count.set(letter, (count.get(letter) ?? 0) + 1);
    }
    expect([...count.keys()].toSorted().join('')).toBe([...LETTERS].toSorted().join(''));
    // 64,000 letters, so 1032 of each with a deviation of 32: this fails by chance once in 10^20 runs.
    for (const found of count.values()) expect(Math.abs(found - 1032)).toBeLessThan(320);
  });

  it('is never made twice', () => {
    expect(new Set(Array.from({ length: 5000 }, generateApiKey)).size).toBe(5000);
  });

  it('is refused when any one character is another', () => {
    fc.assert(
      fc.property(key, fc.nat(42), character, (text, at, other) => {
        fc.pre(text[at] !== other);
        expect(isWellFormedApiKey(text.slice(0, at) + other + text.slice(at + 1))).toBe(false);
      }),
      { numRuns: 2000 },
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
      { numRuns: 2000 },
    );
  });

  it('is refused in another case, with spaces around it, or as part of a longer text', () => {
    const text = generateApiKey();
    for (const other of [
      text.toUpperCase(),
      ` ${text}`,
      `${text} `,
      `${text}\n`,
      `${text},${text}`,
      '',
      'dgw__',
    ]) {
      expect(isWellFormedApiKey(other), JSON.stringify(other)).toBe(false);
    }
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

  it('is its first ten characters', () => {
    const text = generateApiKey();
    expect(shownPrefix(text)).toBe(text.slice(0, 10));
  });
});
