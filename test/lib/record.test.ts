import fc from 'fast-check';
import Type from 'typebox';
import Value from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { DamagedRecord, readableOf, recordForm } from '../../src/lib/record.js';

const Form = recordForm(
  Type.Object({ id: Type.String(), parts: Type.Array(Type.Object({ count: Type.Number() })) }),
);

describe('a form of records', () => {
  it('reads a record with all its members, those of another release included', () => {
    const record = { id: 'a', parts: [{ count: 1, unit: 'row' }], colour: { of: 'a newer release' } };
    expect(Form.parse(JSON.stringify(record))).toEqual(record);
    expect(Form.read(JSON.stringify(record), 'a')).toEqual(record);
  });

  it.each(['', '{', 'null', '[]', '{"id":1,"parts":[]}', '{"id":"a"}', '{"id":"a","parts":[{}]}'])(
    'takes %j for damaged',
    (text) => {
      expect(Form.parse(text)).toBeNull();
      expect(() => Form.read(text, 'part/a')).toThrow(new DamagedRecord('part/a'));
    },
  );

  it('quotes nothing of a damaged record', () => {
    expect(() => Form.read('{"id":"c4n4ry"', 'part/a')).toThrow('the record part/a is damaged');
  });
});

describe('what can be read of a value of another release', () => {
  const schema = Type.Object({
    id: Type.String(),
    counts: Type.Optional(Type.Record(Type.String(), Type.Number())),
    parts: Type.Array(Type.Object({ of: Type.String(), unit: Type.Optional(Type.String()) })),
  });

  it('is the value itself, if its form is known', () => {
    const value = { id: 'a', parts: [{ of: 'b' }], counts: { a: 1 }, colour: 'red' };
    expect(readableOf(schema, value)).toBe(value);
  });

  it('is without members and items that cannot be read', () => {
    const value = {
      id: 'a',
      parts: [{ of: 'b', unit: 7 }, 'c', { of: 7 }],
      counts: { a: 'x' },
      colour: 'red',
    };
    expect(readableOf(schema, value)).toEqual({ id: 'a', parts: [{ of: 'b' }], colour: 'red' });
  });

  it.each([undefined, null, 7, [], {}, { id: 7, parts: [] }, { id: 'a', parts: {} }])(
    'is nothing of %j, which has another form or lacks what is required',
    (value) => {
      expect(readableOf(schema, value)).toBeUndefined();
    },
  );

  it('has the form asked for, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (id, counts, parts) => {
        const read = readableOf(schema, { id, counts, parts });
        expect(read === undefined || Value.Check(schema, read)).toBe(true);
      }),
    );
  });
});
