import { Readable, type Transform } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holdsToken, maskStream, scrubText } from '../../src/platform/scrub.js';
import { runs } from '../support/runs.js';
import { SPELLINGS } from './spellings.js';

/** Whatever a token may be: printable ASCII without spaces. */
const secret = fc.stringMatching(/^[!-~]{1,12}$/);
/** Of few letters, so that a token overlaps with itself and with what stands around it. */
const dense = fc.stringMatching(/^[ab*/"\\%]{1,6}$/);
const noise = fc.oneof(
  fc.stringMatching(/^[ab*/"\\% ]{0,12}$/),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);

/** The spellings in which a token would still be one: as it is, in JSON, in PHP's JSON, in a URL, in escapes. */
function spellingsOf(token: string): string[] {
  const json = JSON.stringify(token).slice(1, -1);
  const code = (char: string) => char.charCodeAt(0).toString(16);
  return [
    token,
    json,
    json.replaceAll('/', '\\/'),
    encodeURIComponent(token),
    [...token].map((char) => `\\u00${code(char).toUpperCase()}`).join(''),
    [...token].map((char) => `%${code(char)}`).join(''),
    // Escaped in part: the first character, and every other one.
    `\\u00${code(token)}${JSON.stringify(token.slice(1)).slice(1, -1)}`,
    [...token].map((char, index) => (index % 2 === 0 ? `\\u00${code(char)}` : `%${code(char)}`)).join(''),
  ];
}

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

async function through(stream: Transform, chunks: readonly Buffer[]): Promise<Buffer> {
  const out: Buffer[] = [];
  for await (const chunk of Readable.from(chunks, { objectMode: false }).pipe(stream))
    out.push(chunk as Buffer);
  return Buffer.concat(out);
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const pieces = [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length));
  return pieces.filter((piece) => piece.length > 0);
}

describe('a masked stream', () => {
  it('never shows the token in any spelling and keeps its length, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(secret, dense),
        fc.array(
          fc.oneof(
            noise.map((text) => () => text),
            fc.nat(7).map((which) => (token: string) => spellingsOf(token)[which] ?? ''),
          ),
          { maxLength: 8 },
        ),
        fc.array(fc.nat(200), { maxLength: 12 }),
        async (token, parts, places) => {
          const text = Buffer.from(parts.map((part) => part(token)).join(''));
          const chunks = cutAt(text, places);
          const masked = await through(maskStream(token), chunks);
          expect(masked).toHaveLength(text.length);
          for (const spelling of spellingsOf(token)) expect(masked.includes(spelling), spelling).toBe(false);
        },
      ),
      runs(200, 1500),
    );
  });

  it.each([
    ['3', '%3'],
    ['0', '\\u00'],
    ['u', '\\u'],
    ['%', 'a%'],
  ])(
    'never shows %j at the end of %j, which might have been the beginning of an escape',
    async (token, text) => {
      const masked = await through(maskStream(token), [Buffer.from(text)]);
      expect(masked).toHaveLength(text.length);
      expect(masked.includes(token)).toBe(false);
    },
  );

  it('leaves everything else as it was, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[A-Z]{4,10}$/),
        fc.array(
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).map((byte) => byte | 0x80)),
          { maxLength: 6 },
        ),
        fc.array(fc.nat(300), { maxLength: 10 }),
        async (token, parts, places) => {
          const join = (between: string) =>
            Buffer.concat(
              parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from(between), part])),
            );
          const masked = await through(maskStream(token), cutAt(join(token), places));
          expect(masked).toEqual(join('*'.repeat(token.length)));
        },
      ),
    );
  });

  it('holds back no more than what may begin the token', async () => {
    const stream = maskStream('SECRET');
    const seen: string[] = [];
    stream.on('data', (chunk: Buffer) => seen.push(chunk.toString()));
    for (const text of ['hello SEC', 'OND SECRE', 'T']) {
      stream.write(text);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(seen).toEqual(['hello ', 'SECOND ', '******']);
    stream.end('SEC');
    await new Promise((resolve) => stream.once('end', resolve));
    expect(seen.at(-1)).toBe('SEC');
  });
});

describe('a scrubbed text', () => {
  it('shows none of the secrets in any spelling, and is no longer than it may be', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[A-Za-z0-9/"\\%+=._-]{8,20}$/), { minLength: 1, maxLength: 3 }),
        fc.array(fc.tuple(noise, fc.nat(2), fc.nat(3)), { maxLength: 8 }),
        fc.integer({ min: 0, max: 200 }),
        (secrets, parts, maxBytes) => {
          const text = parts
            .map(
              ([before, which, how]) =>
                before + (spellingsOf(secrets[which % secrets.length] ?? '')[how] ?? ''),
            )
            .join('');
          const clean = scrubText(text, secrets, maxBytes);
          expect(Buffer.byteLength(clean)).toBeLessThanOrEqual(maxBytes);
          for (const one of secrets) expect(holdsToken(Buffer.from(clean), one)).toBe(false);
        },
      ),
    );
  });

  it.each([
    ['token abc12345 is bad', 'token [redacted] is bad'],
    ['Authorization: Bearer other.token-1', 'Authorization: Bearer [redacted]'],
    ['{"auth":"bearer xyz"}', '{"auth":"Bearer [redacted]"}'],
    ['the bearer of bad news', 'the Bearer [redacted] bad news'],
    ['forbearer x', 'forbearer x'],
    ['nothing', 'nothing'],
  ])('%j becomes %j', (text, wanted) => {
    expect(scrubText(text, ['abc12345', ''], 1000)).toBe(wanted);
  });

  it('is cut between characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(60), (text, maxBytes) => {
        fc.pre(!text.includes('\uFFFD') && !/bearer/i.test(text));
        const clean = scrubText(text, [], maxBytes);
        expect(text.startsWith(clean)).toBe(true);
        expect(Buffer.byteLength(clean)).toBeGreaterThan(Math.min(maxBytes, Buffer.byteLength(text)) - 4);
      }),
    );
  });
});

describe('a secret in a text', () => {
  it('is found however JSON spells it', () => {
    /** Laravel's tokens have a bar in them. */
    const token = fc.string({
      unit: fc.constantFrom(...'ab|1/"\\-_.~+='.split('')),
      minLength: 8,
      maxLength: 16,
    });
    const around = fc.string({ unit: fc.constantFrom('{', '}', 'ü', ' ', ',', 'x') });
    const hidden = token.chain((one) => fc.tuple(fc.constant(one), around, spelt(one), around));
    fc.assert(
      fc.property(hidden, ([one, before, text, after]) => {
        expect(JSON.parse(`"${text}"`)).toBe(one);
        expect(holdsToken(Buffer.from(`${before}"${text}"${after}`), one)).toBe(true);
      }),
      runs(40, 200),
    );
  });

  it.each<readonly [string, string, boolean]>([
    ['=/1~\\-+/', '"=\\/1~\\\\-+/"', true],
    ['12|abcdefgh', 'https://x/?t=12%7Cabcdefgh', true],
    ['12|abcdefgh', 'a,12|abcdefgh\r\n', true],
    ...['', '{"data":[]}', '12|abcdefg', '"12|abcdefg\\u0069"', '"\\u00e4\\u6771"', '"\\\\u0061"'].map(
      (text) => ['12|abcdefgh', text, false] as const,
    ),
    ['a/b"c', 'x a/b"c y', true],
    ['a/b"c', '{"t":"a\\/b\\"c"}', true],
    ['a/b"c', '{"t":"a/b\\"c"}', true],
    ['a/b"c', '?t=a%2Fb%22c', true],
    ['a/b"c', 'a/b c', false],
    ['', 'anything', false],
  ])('%j in %j: %s', (token, text, there) => {
    expect(holdsToken(Buffer.from(text), token)).toBe(there);
  });
});

describe.each(Object.entries(SPELLINGS))('a token %s', (_name, spell) => {
  const token = fc.stringMatching(/^[A-Za-z0-9|._~+/=-]{8,40}$/);
  const words = fc.array(fc.stringMatching(/^[ -~]{0,20}$/), { maxLength: 4 }).map((parts) => parts.join(''));

  it('is found in a body, and kept out of texts', () => {
    fc.assert(
      fc.property(token, words, words, (one, before, after) => {
        const text = `${before} ${spell(one)} ${after}`;
        expect(holdsToken(Buffer.from(text, 'latin1'), one)).toBe(true);
        expect(holdsToken(Buffer.from(scrubText(text, [one], 1000)), one)).toBe(false);
      }),
      runs(25, 100),
    );
  });

  it('is masked in a stream, however it is cut, at the same length', async () => {
    await fc.assert(
      fc.asyncProperty(token, words, fc.integer({ min: 1, max: 9 }), async (one, before, size) => {
        const bytes = Buffer.from(`${before} ${spell(one)} ${before}`, 'latin1');
        const places = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => at * size);
        const masked = await through(maskStream(one), cutAt(bytes, places));
        expect(masked).toHaveLength(bytes.length);
        expect(holdsToken(masked, one)).toBe(false);
      }),
      runs(25, 100),
    );
  });
});

it('a body that holds nothing of the token is left as it is, though it is full of escapes', () => {
  const text = JSON.stringify({ url: 'https:\\/\\/x.example\\/%20a%2Fb', note: 'ä\u0001"' }).repeat(50);
  expect(holdsToken(Buffer.from(text), 'ZZZZ9999|QQQQ')).toBe(false);
});
