import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BodyKind, bodyKindOf, searchOverride } from '../../../src/api/proxy/method-override.js';

/** Whether it is found, in pieces of any size. */
function found(kind: Exclude<BodyKind, null>, text: string, size = text.length): boolean {
  const search = searchOverride(kind);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += Math.max(1, size))
    if (search(bytes.subarray(at, at + Math.max(1, size)))) return true;
  return search(null);
}

const inPieces = (kind: Exclude<BodyKind, null>, text: string) =>
  [1, 2, 7, text.length].map((size) => found(kind, text, size));

const part = (disposition: string, content = 'x') =>
  `--b\r\ncontent-type: text/plain\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;

describe('a form', () => {
  it.each(['', 'a=1&b=_method', 'method=PUT', 'x_method=PUT', '_methods=PUT', 'a[_method]=1', 'a=b=_method'])(
    'passes that is %j',
    (text) => expect(inPieces('form', text)).toEqual([false, false, false, false]),
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
    expect(inPieces('form', text)).toEqual([true, true, true, true]);
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
  ])('passes that is %j', (text) => expect(inPieces('json', text)).toEqual([false, false, false, false]));

  it.each([
    '{"_method":"DELETE"}',
    '{"a":{"b":["}"]},"_method" : "PUT"}',
    '{"\\u005fmethod":"PUT"}',
    '{"_\\u006Dethod"\n\t:"PUT"}',
    '{"a":"\\\\","_method":1}',
  ])('is refused that is %j', (text) => expect(inPieces('json', text)).toEqual([true, true, true, true]));

  it('is found wherever it stands among members of any kind', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (members, there) => {
        fc.pre(!Object.hasOwn(members, '_method'));
        const text = JSON.stringify(there ? { ...members, _method: 'PUT' } : members);
        expect(found('json', text, 5)).toBe(there);
      }),
    );
  });
});

describe('a form in parts', () => {
  it.each([
    part('name="a"'),
    part('name="a"; filename="_method"'),
    part('name="a"', '_method=DELETE'),
    part('name="a"', 'name="_method"\r\n\r\nx'),
    part('name="my_method"'),
  ])('passes that is %j', (text) =>
    expect(inPieces('multipart', `${text}--b--\r\n`)).toEqual([false, false, false, false]),
  );

  it.each([
    part('name="_method"'),
    part('name=_method'),
    part("name='_method'"),
    part('NAME = "_method"'),
    part('filename="a"; name="_method"'),
    part('name="\\_method"'),
    part('name=" .method"'),
    `${part('name="a"', 'y'.repeat(100_000))}${part('name="_method"')}`,
    part('name="_method"').replaceAll('\r\n', '\n'),
  ])('is refused whose field is %#', (text) =>
    expect(inPieces('multipart', `${text}--b--\r\n`)).toEqual([true, true, true, true]),
  );
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
  [' multipart/form-data; boundary=b', 'multipart'],
])('a body of type %j is read as %s', (type, wanted) => expect(bodyKindOf(type)).toBe(wanted));
