/** What is read of a request: JSON bodies, queries, keys. */

import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { noteSession, readKeyHeaders } from '../../../src/api/http/caller.js';
import { parseJsonBody, requireJson } from '../../../src/api/http/json-body.js';
import { readQuery } from '../../../src/api/http/read-query.js';
import type { GatewayError } from '../../../src/errors.js';
import { toProblem } from '../../../src/lib/http/problem.js';
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
    expect(options.detail).toMatch(/^The body is not acceptable JSON: /);
    expect(JSON.stringify(options.detail)).not.toContain('hunter2');
  });

  it.each([
    ['deep', `{"a":${'['.repeat(70)}1${']'.repeat(70)}}`],
    ['of long names', `${`{"${'n'.repeat(500)}":`.repeat(8)}x${'}'.repeat(8)}`],
    [
      'of many members',
      JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`n${at}`, at]))),
    ],
  ])('names the place within 200 characters in a body %s', (_what, text) => {
    const error = thrownBy(() => parseJsonBody(Buffer.from(text), { maxMembers: 256, maxItems: 10_000 }));
    const { detail, help, errors } = toProblem(error, 'r');
    expect(detail.length).toBeLessThanOrEqual(200);
    expect(detail.includes('at most 256 members')).toBe(text.includes('n299'));
    // Nothing is listed, so the help refers to no list that must be there.
    expect(errors).toBeUndefined();
    expect(help).not.toMatch(/\berrors\b/);
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

const SCHEMA = Type.Object({
  range: Type.Enum(['1h', '24h']),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  from: Type.Optional(Type.String({ format: 'date' })),
  team: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,40}$' })),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 3 })),
});

function faultsOf(given: object) {
  try {
    readQuery(SCHEMA, given);
  } catch (error) {
    const { code, options } = error as GatewayError;
    return { code, errors: options.errors?.map(({ param, message }) => ({ param, message })) };
  }
  return null;
}

describe('query parameters', () => {
  it('are read as the schema has them', () => {
    const given = { range: '1h', limit: '20', from: '2026-11-01', team: 'a-1', search: 'é😀x' };
    expect(readQuery(SCHEMA, given)).toEqual({ ...given, limit: 20 });
    expect(readQuery(SCHEMA, { range: '24h' })).toEqual({ range: '24h' });
  });

  it.each([
    ['range', {}, 'must be one of 1h, 24h'],
    ['range', { range: '2h' }, 'must be one of 1h, 24h'],
    ['range', { range: ['1h', '1h'] }, 'must be one of 1h, 24h, given once'],
    ['limit', { range: '1h', limit: '0' }, 'must be a whole number from 1 to 1000'],
    ['limit', { range: '1h', limit: '1001' }, 'must be a whole number from 1 to 1000'],
    ['limit', { range: '1h', limit: '1e2' }, 'must be a whole number from 1 to 1000'],
    ['limit', { range: '1h', limit: '' }, 'must be a whole number from 1 to 1000'],
    ['from', { range: '1h', from: '2026-02-30' }, 'must be a calendar day as YYYY-MM-DD'],
    ['team', { range: '1h', team: 'A' }, 'must be the id of a team'],
    ['search', { range: '1h', search: 'long' }, 'must be a text of 1 to 3 characters'],
    ['teem', { range: '1h', teem: 'a' }, 'is unknown: did you mean `team`?'],
    ['group', { range: '1h', group: 'a' }, 'is unknown; allowed: range, limit, from, team, search'],
  ])('%s of %j is refused, with what is allowed', (param, given, message) => {
    expect(faultsOf(given)).toEqual({ code: 'invalid_query', errors: [{ param, message }] });
  });

  it('all faults are named at once', () => {
    expect(faultsOf({ limit: 'x', team: '' })?.errors?.map(({ param }) => param)).toEqual([
      'range',
      'limit',
      'team',
    ]);
  });

  it('a whole number within its bounds is read, and no other text is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -9, max: 1100 }).map(String), fc.string()), (text) => {
        const isRight = /^[1-9]\d{0,3}$/.test(text) && Number(text) <= 1000;
        expect(faultsOf({ range: '1h', limit: text }) === null).toBe(isRight);
      }),
      { examples: [['0'], ['1'], ['1000'], ['1001']] },
    );
  });
});

const read = (...rawHeaders: string[]) => readKeyHeaders({ rawHeaders } as IncomingMessage);

describe('readKeyHeaders', () => {
  it('reads every value of both headers, in any case', () => {
    expect(
      read('Authorization', 'Bearer a', 'X-Api-Key', 'b', 'AUTHORIZATION', 'Bearer c', 'x-api-key', 'd'),
    ).toEqual({
      authorization: ['Bearer a', 'Bearer c'],
      apiKey: ['b', 'd'],
    });
  });

  it('reads nothing else: not a value that looks like a name, nor H6 an underscore', () => {
    expect(
      read(
        'x_api_key',
        'a',
        'x-other',
        'authorization',
        'proxy-authorization',
        'Bearer a',
        'cookie',
        'x-api-key=a',
      ),
    ).toEqual({
      authorization: [],
      apiKey: [],
    });
  });

  it('gives the session of a request that has neither, and of no other', () => {
    const session = { holder: 'key_1', isPerson: false, team: null, binds: () => true };
    const withSession = (...rawHeaders: string[]) => {
      const request = { rawHeaders } as IncomingMessage;
      noteSession(request, session);
      return readKeyHeaders(request).session;
    };
    expect(withSession('cookie', 'a=b')).toBe(session);
    expect(withSession('cookie', 'a=b', 'x-api-key', 'a')).toBeUndefined();
    expect(withSession('Authorization', '')).toBeUndefined();
  });
});
