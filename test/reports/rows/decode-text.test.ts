import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CharsetError, charsetOf, decodeText } from '../../../src/reports/rows/decode-text.js';

const bytes = (...values: number[]) => Buffer.from(values);
const TEXT = '[{"name":"Zürich €5"}]';

describe('charsetOf', () => {
  it.each<[string, string | null]>([
    ['application/json', null],
    ['application/json; charset=UTF-8', 'utf-8'],
    ['application/json;charset="ISO-8859-1"; x=y', 'iso-8859-1'],
    ['application/json; charset =windows-1252', 'windows-1252'],
  ])('of %s is %s', (contentType, charset) => {
    expect(charsetOf(contentType)).toBe(charset);
  });
});

describe('decodeText', () => {
  it.each<[string | null, Buffer]>([
    [null, Buffer.from(TEXT)],
    ['utf-8', Buffer.from(TEXT)],
    ['windows-1252', Buffer.from(TEXT.replace('€', '\x80'), 'latin1')],
    ['iso-8859-1', Buffer.from(TEXT.replace('€', '\x80'), 'latin1')],
    ['utf-16le', Buffer.from(TEXT, 'utf16le')],
    ['utf-16be', Buffer.from(TEXT, 'utf16le').swap16()],
  ])('reads %s', (charset, body) => {
    expect(decodeText(body, charset)).toBe(TEXT);
  });

  it('believes a byte order mark before anything else, and leaves it there', () => {
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`), 'iso-8859-1')).toBe(`\ufeff${TEXT}`);
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`, 'utf16le'), null)).toBe(`\ufeff${TEXT}`);
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), 'utf-8')).toBe(`\ufeff${TEXT}`);
  });

  it.each<[string, string | null, Buffer]>([
    ['a lone byte of Latin 1', null, bytes(0x22, 0xfc, 0x22)],
    ['a cut character', 'utf-8', bytes(0x22, 0xe2, 0x82, 0x22)],
    ['a surrogate', 'utf-8', bytes(0xed, 0xa0, 0x80)],
    ['an overlong slash', 'utf8', bytes(0xc0, 0xaf)],
    ['a high byte in ASCII', 'us-ascii', bytes(0xfc)],
    ['half a unit of UTF-16', 'utf-16le', bytes(0x22, 0x00, 0x22)],
    ['a lone surrogate of UTF-16', 'utf-16le', bytes(0x00, 0xd8, 0x22, 0x00)],
    ['an unknown charset', 'klingon', bytes(0x22, 0x22)],
  ])('refuses %s', (_what, charset, body) => {
    expect(() => decodeText(body, charset)).toThrow(CharsetError);
  });

  it('gives back any text in each charset that can hold it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(decodeText(Buffer.from(text), null)).toBe(text);
        expect(decodeText(Buffer.from(text, 'utf16le'), 'utf-16le')).toBe(text);
      }),
    );
  });
});
