/** Bodies that pass through: which are read, which are streamed, and that none changes the method. */

import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BodyKind, bodyKindOf, mayOverride } from '../../../src/api/proxy/method-override.js';
import { type BodyNeed, takeBody } from '../../../src/api/proxy/take-body.js';
import { GatewayError } from '../../../src/errors.js';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

interface Given {
  readonly type?: string;
  readonly length?: number | null;
  readonly encoding?: string;
  readonly need?: BodyNeed;
}

/** The body as taken, or the code of the error. */
async function take(text: string, { type, length = text.length, encoding, need = 'none' }: Given) {
  const headers = {
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(length === null ? {} : { 'content-length': String(length) }),
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
  // In small pieces, as a socket may bring it.
  const stream = Readable.from(
    Buffer.from(text)
      .toString('latin1')
      .match(/.{1,7}/gs) ?? [],
  ).map((piece) => Buffer.from(String(piece), 'latin1'));
  try {
    const taken = await takeBody({ stream, headers }, need, 100);
    const { body, parsed } = taken;
    // What is streamed is whole all the same.
    if (taken.stream !== null) expect(Buffer.concat(await taken.stream.toArray()).toString()).toBe(text);
    return { body: body?.toString() ?? null, names: parsed?.names ?? null };
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

describe('takeBody', () => {
  it('finds nothing where there is no body', async () => {
    const nothing = { body: null, stream: null, parsed: null };
    expect(await takeBody({ stream: undefined, headers: {} }, 'json', 100)).toEqual(nothing);
    expect(await takeBody({ stream: null, headers: {} }, 'none', 100)).toEqual(nothing);
  });

  it.each(['application/json', 'Application/JSON; charset=utf-8'])(
    'reads small %s, byte for byte',
    async (type) => {
      const text = '{ "b" : "ü",\n "a":1 }';
      expect(await take(text, { type })).toEqual({ body: text, names: ['b', 'a'] });
      expect(await take(text, { type, need: 'json' })).toEqual({ body: text, names: ['b', 'a'] });
    },
  );

  it.each(['json', 'guarded', 'whole', 'none'] as const)(
    'reads a body for %s up to 10,000 members or 100,000 list items, and no further',
    async (need) => {
      const read = async (text: string) => {
        const stream = Readable.from([Buffer.from(text)]);
        const taken = await takeBody({ stream, headers: { 'content-type': JSON_TYPE } }, need, 1_048_576);
        return taken.fault ?? taken.parsed?.names;
      };
      // What stands behind the last one allowed is not looked at: it is no JSON.
      const list = (item: string, count: number, end: string) => `{"a":[${`${item},`.repeat(count)}${end}`;
      const refused = async (text: string) =>
        expect(String(await read(text).catch((error: GatewayError) => error.options.detail)));
      expect(await read(list('{"b":1}', 9_998, '{"b":1}]}'))).toEqual(['a']);
      expect(await read(list('{}', 99_999, '1]}'))).toEqual(['a']);
      for (const text of [list('{"b":1}', 9_999, '{"b":1} no JSON'), list('{}', 100_000, 'no JSON')])
        (await refused(text)).toContain('(at most 10000 members and 100000 list items are taken)');
    },
  );

  it('reads a small form, and refuses to have its method changed', async () => {
    expect(await take('a=1&b=2', { type: FORM_TYPE })).toEqual({ body: 'a=1&b=2', names: null });
    expect(await take('a=1&_method=DELETE', { type: FORM_TYPE })).toBe('invalid_body');
    expect(await take('_method=DELETE', { type: 'APPLICATION/X-WWW-FORM-URLENCODED; charset=x' })).toBe(
      'invalid_body',
    );
  });

  const PARTS = '--b\r\ncontent-disposition: form-data; name="_method"\r\n\r\nPUT';
  it.each<[string, string, Given]>([
    ['of another type', '{', { type: 'text/csv' }],
    ['without a type', '{', {}],
    ['large', `{"a":"${'x'.repeat(100)}","_method":"PUT"}`, { type: JSON_TYPE }],
    ['large, of unknown length', `{"a":"${'x'.repeat(100)}"}`, { type: JSON_TYPE, length: null }],
    ['compressed', '{', { type: JSON_TYPE, encoding: 'gzip' }],
    ['a large form', `a=${'x'.repeat(100)}&_method=PUT`, { type: FORM_TYPE }],
    ['a form in parts', PARTS, { type: 'multipart/form-data; boundary=b' }],
  ])('streams a body that is %s, and refuses it on a guarded route', async (_what, text, given) => {
    expect(await take(text, given)).toEqual({ body: null, names: null });
    expect(await take(text, { ...given, need: 'guarded' })).toMatch(
      /^(?:unsupported_media_type|body_too_large)$/,
    );
  });

  it.each<[string, string, Given]>([
    ['JSON of unknown length', '{"_method":"PUT"}', { type: JSON_TYPE, length: null }],
    ['JSON of another name', '{"_method":"PUT"}', { type: 'application/vnd.api+json' }],
    ['a form of unknown length', 'a=1&_method=PUT', { type: FORM_TYPE, length: null }],
  ])('refuses another method in %s', async (_what, text, given) => {
    expect(await take(text, given)).toBe('invalid_body');
    expect(await take(text, { ...given, need: 'whole' })).toBe('invalid_body');
  });

  it('takes JSON that is no object where it has another name', async () => {
    const patch = '[{"op":"add"}]';
    expect(await take(patch, { type: 'application/json-patch+json' })).toEqual({ body: patch, names: null });
  });

  it.each<[string, string, Given, string]>([
    ['of another type', '{}', { type: 'text/csv' }, 'unsupported_media_type'],
    ['a form', 'userId=1', { type: FORM_TYPE }, 'unsupported_media_type'],
    ['without a type', '{}', {}, 'unsupported_media_type'],
    ['compressed', '{}', { type: JSON_TYPE, encoding: 'gzip' }, 'unsupported_media_type'],
    ['large', `{"a":"${'x'.repeat(100)}"}`, { type: JSON_TYPE }, 'body_too_large'],
    ['larger than it said', `{"a":"${'x'.repeat(100)}"}`, { type: JSON_TYPE, length: 5 }, 'body_too_large'],
    [
      'large, of unknown length',
      `{"a":"${'x'.repeat(100)}"}`,
      { type: JSON_TYPE, length: null },
      'body_too_large',
    ],
    ['no object', '[1]', { type: JSON_TYPE }, 'invalid_body'],
    ['ambiguous', '{"userId":1,"userId":2}', { type: JSON_TYPE }, 'invalid_body'],
  ])('refuses a body that a rule has to read and that is %s', async (_what, text, given, code) => {
    expect(await take(text, { ...given, need: 'json' })).toBe(code);
  });

  it('reads a required body of unknown length, up to its limit', async () => {
    const text = `{"a":"${'x'.repeat(92)}"}`;
    expect(text).toHaveLength(100);
    expect(await take(text, { type: JSON_TYPE, length: null, need: 'json' })).toEqual({
      body: text,
      names: ['a'],
    });
  });
});

const found = (kind: Exclude<BodyKind, null>, text: string) => mayOverride(kind, Buffer.from(text));

describe('a form', () => {
  it.each(['', 'a=1&b=_method', 'method=PUT', 'x_method=PUT', '_methods=PUT', 'a[_method]=1', 'a=b=_method'])(
    'passes that is %j',
    (text) => expect(found('form', text)).toBe(false),
  );

  it.each([
    '_method=DELETE',
    '_method',
    'a=1&_method=PUT',
    'a=1&_method',
    '%5Fmethod=PUT',
    '%5f%6Dethod=PUT',
    '+_method=PUT',
    '.method=PUT',
    '%20%20.method=PUT',
    '[method=PUT',
    '_method%00x=PUT',
    '_method[]=PUT',
  ])('is refused that is %j, which the platform reads as _method', (text) => {
    expect(found('form', text)).toBe(true);
  });
});

describe('JSON', () => {
  it.each([
    '{}',
    '{"a":"_method"}',
    '{"a":{"_method":1}}',
    '["_method"]',
    '{"a":"\\"_method\\":"}',
    '{"x_method":1,"_methods":2}',
    '{"a":["_method", {"_method" : 1}]}',
  ])('passes that is %j', (text) => expect(found('json', text)).toBe(false));

  it.each([
    '{"_method":"DELETE"}',
    '{"a":{"b":["}"]},"_method" : "PUT"}',
    '{"\\u005fmethod":"PUT"}',
    '{"_\\u006Dethod"\n\t:"PUT"}',
    '{"a":"\\\\","_method":1}',
    // Readers differ on what is no JSON by our rules, so that one may find the method.
    '{"a":1,"a":2,"_method":"PUT"}',
    '{"a":{"_method":1},}',
  ])('is refused that is %j', (text) => expect(found('json', text)).toBe(true));

  it('is found wherever it stands among members of any kind', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (members, there) => {
        fc.pre(!Object.hasOwn(members, '_method'));
        const text = JSON.stringify(there ? { ...members, _method: 'PUT' } : members);
        expect(found('json', text)).toBe(there);
      }),
    );
  });
});

it.each<[string | undefined, BodyKind]>([
  [undefined, null],
  ['text/plain', null],
  ['video/mp4', null],
  ['application/json', 'json'],
  ['Application/JSON; charset=utf-8', 'json'],
  ['application/vnd.api+json', 'json'],
  ['text/json', 'json'],
  ['application/x-www-form-urlencoded; charset=x', 'form'],
  [' multipart/form-data; boundary=b', null],
])('a body of type %j is read as %s', (type, wanted) => expect(bodyKindOf(type)).toBe(wanted));
