/** What is wrong with a value by its schema, in words. */
import Type, { type TSchema } from 'typebox';
import { expect, it } from 'vitest';
import { faultsOf } from '../../src/lib/faults.js';

const Form = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9-]{1,40}$' }),
    sizes: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { maxItems: 3, uniqueItems: true })),
    guard: Type.Optional(
      Type.Union([
        Type.Record(Type.String(), Type.Object({ max: Type.Number({ minimum: 0 }) })),
        Type.Null(),
      ]),
    ),
  },
  { additionalProperties: false },
);

const said = (schema: TSchema, value: unknown) =>
  faultsOf(schema, value).map(({ path, kind, allowed }) => `${path.join('.')} ${kind}: ${allowed}`);

it('names each place once, and what is allowed there', () => {
  expect(said(Form, { id: 'a' })).toEqual([]);
  expect(said(Form, { id: 'A', sizes: [1, 0, 0], more: 1 }).sort()).toEqual([
    'id wrong: the id of a team',
    'more unknown: no member of this name; known: id, sizes, guard',
    'sizes.1 wrong: a whole number from 1',
    'sizes.2 wrong: a whole number from 1',
  ]);
  expect(said(Form, {})).toEqual(['id missing: the id of a team']);
  expect(said(Form, [])).toEqual([' wrong: a mapping of id, sizes, guard']);
});

it('says of a place with several forms what is wrong inside of it, and else names them all', () => {
  expect(said(Form, { id: 'a', guard: { 'POST /x/~y': { max: -1 } } })).toEqual([
    'guard.POST /x/~y.max wrong: a number from 0',
  ]);
  expect(said(Form, { id: 'a', guard: 7 })).toEqual([
    'guard wrong: a mapping of names, each to a mapping of max, or null',
  ]);
});

it('names all faults, however many there are', () => {
  expect(faultsOf(Type.Array(Type.Boolean()), new Array(50).fill(0))).toHaveLength(50);
});

it.each<[TSchema, string]>([
  [Type.Enum(['a', 'b']), 'one of a, b'],
  [Type.Literal('*'), '"*"'],
  [Type.Array(Type.Enum(['a', 'b']), { uniqueItems: true }), 'a list of a, b, each once'],
  [
    Type.Array(Type.Object({ field: Type.String() }), { minItems: 1, maxItems: 20 }),
    'a list of 1 to 20 mappings of field',
  ],
  [Type.String({ minLength: 1, maxLength: 200 }), 'text of 1 to 200 characters'],
  [Type.String({ minLength: 1, examples: ['10.0.0.0/8'] }), 'text that is not empty such as 10.0.0.0/8'],
  [Type.String({ format: 'date' }), 'a calendar day as YYYY-MM-DD'],
  [Type.Array(Type.String(), { maxItems: 9 }), 'a list of at most 9 texts (text)'],
])('says of %j what is allowed', (schema, allowed) => {
  expect(faultsOf(schema, undefined)).toMatchObject([{ path: [], kind: 'wrong', allowed }]);
});
