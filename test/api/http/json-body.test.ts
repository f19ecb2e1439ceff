import { describe, expect, it } from 'vitest';
import { parseJsonBody, requireJson } from '../../../src/api/http/json-body.js';
import { codeOf, thrownBy } from '../../support/problems.js';

const parse = (text: string | Buffer) => parseJsonBody(Buffer.from(text as string));

describe('parseJsonBody', () => {
  it('reads one object', () => {
    const body = parse(' {"a":1,"b":[{"c":"ü"}]} ');
    expect(body.names).toEqual(['a', 'b']);
  });

  it('takes an empty body for an empty object', () => {
    expect(parse('').names).toEqual([]);
  });

  it.each([
    ['an array', '[1]'],
    ['a number', '1'],
    ['null', 'null'],
    ['white space alone', '  '],
    ['a member twice', '{"a":1,"a":1}'],
    ['a member twice, in escapes', '{"a":1,"\\u0061":2}'],
    ['a member twice, deep inside', '{"a":[{"b":1,"b":2}]}'],
    ['a trailing comma', '{"a":1,}'],
    ['a comment', '{/**/}'],
    ['NaN', '{"a":NaN}'],
    ['two objects', '{}{}'],
    ['cut off', '{"a":'],
    ['single quotes', "{'a':1}"],
    ['a control character', '{"a":"\n"}'],
    ['a byte order mark', '\ufeff{}'],
    ['too deep', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`],
  ])('refuses %s', (_what, text) => {
    expect(codeOf(() => parse(text))).toBe('invalid_body');
  });

  it.each([
    ['a lone byte', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong slash', Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
    ['a surrogate', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ])('refuses what is not UTF-8: %s', (_what, bytes) => {
    expect(codeOf(() => parse(bytes))).toBe('invalid_body');
  });

  it('names the place of the fault, and no value', () => {
    const { options } = thrownBy(() => parse('{"password":"hunter2" "x":1}'));
    expect(options.detail).toMatch(/^The body is not JSON as taken here: /);
    expect(JSON.stringify(options.detail)).not.toContain('hunter2');
  });
});

describe('requireJson', () => {
  it.each(['application/json', 'application/json; charset=utf-8', ' APPLICATION/JSON ;x=y'])(
    'takes %j',
    (type) => {
      expect(codeOf(() => requireJson(type, undefined))).toBeNull();
      expect(codeOf(() => requireJson(type, 'identity'))).toBeNull();
    },
  );

  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'text/json',
    'application/json,text/plain',
    'application/vnd.api+json',
  ])('does not take %j', (type) => {
    expect(codeOf(() => requireJson(type, undefined))).toBe('unsupported_media_type');
  });

  it.each(['gzip', 'br', 'identity, gzip'])('does not take a body in the coding %j', (coding) => {
    expect(codeOf(() => requireJson('application/json', coding))).toBe('unsupported_media_type');
  });
});
