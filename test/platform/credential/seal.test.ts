import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedSecret, type Secret } from '../../../src/config/secret.js';
import { createSealer, SealError } from '../../../src/platform/credential/seal.js';

const key = () => randomBytes(32).toString('base64');
const sealerOf = (...keys: string[]) => createSealer(fixedSecret('GATEWAY_MASTER_KEY', keys.join(',')));
const KEY = key();
const sealer = sealerOf(KEY);
const plain = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const context = fc.string({ unit: 'grapheme', maxLength: 30 });

const opens = (open: () => Buffer): boolean => {
  try {
    open();
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SealError);
    return false;
  }
};

describe('a sealed text', () => {
  it('opens to what was sealed, in its context', () => {
    fc.assert(
      fc.property(plain, context, (bytes, where) => {
        expect(sealer.open(sealer.seal(bytes, where), where)).toEqual(bytes);
      }),
    );
  });

  it('opens in no other context', () => {
    fc.assert(
      fc.property(plain, context, context, (bytes, where, elsewhere) => {
        fc.pre(where !== elsewhere);
        expect(opens(() => sealer.open(sealer.seal(bytes, where), elsewhere))).toBe(false);
      }),
    );
  });

  it('never opens after any one character of it was changed, taken away or added', () => {
    const all = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n'];
    const some = [...'AQgw9-_.=+/ \n'];
    for (const length of [0, 1, 2, 3, 20]) {
      const text = sealer.seal(randomBytes(length), 'here');
      for (let at = 0; at <= text.length; at++) {
        const [before, after] = [text.slice(0, at), text.slice(at)];
        if (at < text.length) expect(opens(() => sealer.open(before + after.slice(1), 'here'))).toBe(false);
        // All of them at the end, where a character has bits that no byte holds.
        for (const other of at >= text.length - 2 ? all : some) {
          if (after[0] !== other && at < text.length)
            expect(
              opens(() => sealer.open(before + other + after.slice(1), 'here')),
              `${at} ${other}`,
            ).toBe(false);
          expect(
            opens(() => sealer.open(before + other + after, 'here')),
            `+${at} ${other}`,
          ).toBe(false);
        }
      }
    }
  });

  it('never opens after its bytes were changed', () => {
    const text = sealer.seal(Buffer.from('secret'), 'here');
    const [version, id, nonce = '', body = ''] = text.split('.');
    for (const part of [nonce, body]) {
      const bytes = Buffer.from(part, 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const other = changed.toString('base64url');
        const parts = part === nonce ? [version, id, other, body] : [version, id, nonce, other];
        expect(opens(() => sealer.open(parts.join('.'), 'here'))).toBe(false);
      }
    }
  });

  it('does not open with a tag that was cut short, though it fits', () => {
    const bytes = Buffer.from(KEY, 'base64');
    const id = createHash('sha256').update('dsp-gateway key id').update(bytes).digest('hex').slice(0, 8);
    for (const authTagLength of [4, 8, 12, 15]) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', bytes, nonce, { authTagLength });
      cipher.setAAD(Buffer.from('here')).final();
      const forged = `1.${id}.${nonce.toString('base64url')}.${cipher.getAuthTag().toString('base64url')}`;
      expect(opens(() => sealer.open(forged, 'here'))).toBe(false);
    }
  });

  it('is never the same twice, and shows nothing of what is in it', () => {
    const secret = Buffer.from('a-secret-that-must-not-show');
    const texts = Array.from({ length: 100 }, () => sealer.seal(secret, 'here'));
    expect(new Set(texts).size).toBe(100);
    for (const text of texts) {
      for (const spelling of [
        secret.toString(),
        secret.toString('base64url'),
        secret.toString('hex'),
        KEY.slice(0, 20),
      ])
        expect(text).not.toContain(spelling);
    }
  });

  it.each([
    '',
    'text',
    '1',
    '1.0.0.0',
    '1.12345678..',
    '2.12345678.AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA',
    '{"sealed":1}',
  ])('is not %j', (text) => {
    expect(opens(() => sealer.open(text, 'here'))).toBe(false);
  });
});

describe('master keys', () => {
  it('all open, and the first one seals', () => {
    const [old, next] = [key(), key()];
    const before = sealerOf(old).seal(Buffer.from('x'), 'here');
    const both = sealerOf(next, old);
    expect(both.open(before, 'here').toString()).toBe('x');
    const after = both.seal(Buffer.from('y'), 'here');
    expect(sealerOf(next).open(after, 'here').toString()).toBe('y');
    expect(() => sealerOf(old).open(after, 'here')).toThrow(SealError);
  });

  it('are named when none of them fits', () => {
    const text = sealer.seal(Buffer.from('x'), 'token:7:active');
    expect(() => sealerOf(key()).open(text, 'token:7:active')).toThrow(
      /^GATEWAY_MASTER_KEY holds no key that opens token:7:active \(sealed under [0-9a-f]{8}\): .*dsp-gateway store forget-sealed/,
    );
  });

  it('may have spaces between them, and be in either base64', () => {
    const bytes = Buffer.alloc(32, 255);
    const text = sealerOf(bytes.toString('base64')).seal(Buffer.from('x'), 'here');
    expect(
      sealerOf(key(), ` ${bytes.toString('base64url')}`)
        .open(text, 'here')
        .toString(),
    ).toBe('x');
  });

  it('take effect as soon as their file has changed; a damaged file is a fault that says so', () => {
    let value = KEY;
    const file: Secret = { name: 'GATEWAY_MASTER_KEY', read: () => value, onChange: () => {} };
    const changing = createSealer(file);
    const before = changing.seal(Buffer.from('x'), 'here');
    const next = key();
    value = `${next},${KEY}`;
    expect(changing.open(before, 'here').toString()).toBe('x');
    expect(
      sealerOf(next)
        .open(changing.seal(Buffer.from('y'), 'here'), 'here')
        .toString(),
    ).toBe('y');
    value = KEY.slice(0, 20);
    expect(() => changing.seal(Buffer.from('x'), 'here')).toThrow(
      'GATEWAY_MASTER_KEY holds a key that is not 32 bytes',
    );
    expect(() => changing.open(before, 'here')).toThrow(SealError);
  });
});
