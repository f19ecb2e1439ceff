import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holdsToken } from '../../src/platform/scrub.js';

/** Laravel's tokens have a bar in them. */
const token = fc.string({
  unit: fc.constantFrom(...'ab|1/"\\-_.~+='.split('')),
  minLength: 8,
  maxLength: 16,
});
const around = fc.string({ unit: fc.constantFrom('{', '}', 'ü', ' ', ',', 'x') });

/** The token inside of a JSON string, each character written in one of the ways JSON has for it. */
function spelt(text: string): fc.Arbitrary<string> {
  const characters = [...text].map((character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
    const mustEscape = character === '"' || character === '\\';
    return fc.constantFrom(
      `\\u${hex}`,
      `\\u${hex.toUpperCase()}`,
      ...(mustEscape ? [`\\${character}`] : [character, character]),
      ...(character === '/' ? ['\\/'] : []),
    );
  });
  return fc.tuple(...characters).map((parts) => parts.join(''));
}

describe('holdsToken', () => {
  it('finds the token however JSON spells it', () => {
    const hidden = token.chain((secret) => fc.tuple(fc.constant(secret), around, spelt(secret), around));
    fc.assert(
      fc.property(hidden, ([secret, before, text, after]) => {
        expect(JSON.parse(`"${text}"`)).toBe(secret);
        expect(holdsToken(Buffer.from(`${before}"${text}"${after}`), secret)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('finds a token whose slash and backslash are escaped each in its own way', () => {
    expect(holdsToken(Buffer.from('"=\\/1~\\\\-+/"'), '=/1~\\-+/')).toBe(true);
  });

  it('finds it in a URL, and as it is in what is no JSON', () => {
    expect(holdsToken(Buffer.from('https://x/?t=12%7Cabcdefgh'), '12|abcdefgh')).toBe(true);
    expect(holdsToken(Buffer.from('a,12|abcdefgh\r\n'), '12|abcdefgh')).toBe(true);
  });

  it.each(['', '{"data":[]}', '12|abcdefg', '"12|abcdefg\\u0069"', '"\\u00e4\\u6771"', '"\\\\u0061"'])(
    'does not find it in %s',
    (text) => {
      expect(holdsToken(Buffer.from(text), '12|abcdefgh')).toBe(false);
    },
  );
});
