import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { DamagedRecord, recordForm } from '../../src/lib/record.js';

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
