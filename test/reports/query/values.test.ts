import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import { isInteger, type Kind, readJson, readText } from '../../../src/reports/query/parameters.js';
import { type Json, parseJson } from '../../../src/reports/rows/json.js';

const TODAY = dayNumber('2026-11-21') as number;
const text = (kind: Kind, ...values: string[]) => readText(kind, values, TODAY);
const json = (kind: Kind, source: string) => readJson(kind, parseJson(source), TODAY);
const isFault = (read: object) => 'fault' in read;

describe('readText', () => {
  it('takes integers in their one spelling, up to 16 digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 9_999_999_999_999_999n }), (value) => {
        expect(text('int', String(value))).toEqual({ texts: [String(value)] });
        expect(isInteger(String(value))).toBe(true);
      }),
    );
  });

  it.each([
    '',
    '0',
    '-1',
    '+1',
    '01',
    '1.0',
    '1e3',
    '0x1',
    ' 1',
    '1 ',
    '1\n',
    '１',
    '१',
    '10000000000000000',
    'NaN',
  ])('refuses %j as an integer', (value) => {
    expect(isFault(text('int', value))).toBe(true);
    expect(isInteger(value)).toBe(false);
  });

  it.each([
    ['1', ['1']],
    ['true', ['1']],
    ['0', []],
    ['false', []],
    ['', []],
  ])('reads the flag %j', (value, texts) => {
    expect(text('flag', value)).toEqual({ texts });
  });

  it.each(['2', 'on', 'yes', 'TRUE', 'True', '01', ' 1', 'null', 'constructor'])(
    'refuses the flag %j',
    (value) => {
      expect(isFault(text('flag', value))).toBe(true);
    },
  );

  it('takes exactly the calendar days from 2000-01-01 to today + 366', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10_000, max: 21_200 }), (day) => {
        const inRange = day >= (dayNumber('2000-01-01') as number) && day <= TODAY + 366;
        expect(isFault(text('date', isoDay(day)))).toBe(!inRange);
      }),
    );
  });

  it.each([
    '2026-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-01',
    '2026-1-1',
    '20261101',
    '2026-11-01 ',
    '+2026-11-01',
    '２026-11-01',
    '',
  ])('refuses the date %j', (value) => {
    expect(isFault(text('date', value))).toBe(true);
  });

  it('names the allowed days in the fault', () => {
    expect(text('date', 'x')).toEqual({
      fault: 'must be a calendar day as YYYY-MM-DD, from 2000-01-01 to 2027-11-22',
    });
  });

  it('reads a set in order of value, each once, from repeats and commas', () => {
    const ids = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(ids, fc.array(fc.boolean()), (some, commas) => {
        const values: string[] = [];
        for (const [at, id] of some.entries()) {
          if (commas[at] && values.length > 0) values[values.length - 1] += `,${id}`;
          else values.push(String(id));
        }
        const expected = [...new Set(some)].sort((a, b) => a - b).map(String);
        expect(text('set', ...values)).toEqual({ texts: expected });
      }),
    );
  });

  it.each([[['']], [['1,']], [[',1']], [['1', '']], [['1,x']], [['01']], [['1 ,2']]])(
    'refuses the set %j',
    (values) => {
      expect(isFault(text('set', ...values))).toBe(true);
    },
  );

  it('takes a set of 10,000 and no more', () => {
    const list = (count: number) => Array.from({ length: count }, (_, at) => at + 1).join(',');
    expect(isFault(text('set', list(10_000)))).toBe(false);
    expect(isFault(text('set', list(10_001)))).toBe(true);
  });

  it('leaves text as it is, and takes empty text for none', () => {
    expect(text('text', ' Usd, ü ')).toEqual({ texts: [' Usd, ü '] });
    expect(text('text', '')).toEqual({ texts: [] });
  });
});

describe('readJson', () => {
  it('reads numbers, texts and lists as the query would have them', () => {
    expect(json('int', '7')).toEqual(text('int', '7'));
    expect(json('int', '"7"')).toEqual(text('int', '7'));
    expect(json('int', '9007199254740993')).toEqual({ texts: ['9007199254740993'] });
    expect(json('flag', 'true')).toEqual(text('flag', '1'));
    expect(json('flag', '0')).toEqual(text('flag', '0'));
    expect(json('set', '[3,"1","2,3"]')).toEqual(text('set', '1', '2', '3'));
    expect(json('set', '5')).toEqual(text('set', '5'));
    expect(json('date', '"2026-11-01"')).toEqual(text('date', '2026-11-01'));
    expect(json('text', '"usd"')).toEqual(text('text', 'usd'));
  });

  it('takes null for an absent flag or text, and for a fault elsewhere', () => {
    expect(json('flag', 'null')).toEqual({ texts: [] });
    expect(json('text', 'null')).toEqual({ texts: [] });
    for (const kind of ['int', 'date', 'set'] as const) expect(isFault(json(kind, 'null'))).toBe(true);
  });

  it('refuses every other type, and never throws', () => {
    const value = fc.jsonValue({ maxDepth: 2 }).map((plain): Json => parseJson(JSON.stringify(plain)));
    const kinds = fc.constantFrom<Kind>('int', 'flag', 'date', 'set', 'text');
    fc.assert(
      fc.property(kinds, value, (kind, given) => {
        const read = readJson(kind, given, TODAY);
        const isList = Array.isArray(given);
        if (isList && kind !== 'set') expect(isFault(read)).toBe(true);
        if (kind === 'int' && !isFault(read)) {
          expect('texts' in read && read.texts.length === 1 && isInteger(read.texts[0] as string)).toBe(true);
        }
      }),
    );
  });

  it.each<[Kind, string]>([
    ['int', '1.0'],
    ['int', '1e0'],
    ['int', '-1'],
    ['int', 'true'],
    ['int', '{}'],
    ['flag', '1.0'],
    ['flag', '[]'],
    ['flag', '{}'],
    ['date', '20261101'],
    ['text', '1'],
    ['text', 'true'],
    ['set', '[]'],
    ['set', '[[1]]'],
    ['set', '[true]'],
    ['set', '{"0":1}'],
  ])('refuses a %s that is %s', (kind, source) => {
    expect(isFault(json(kind, source))).toBe(true);
  });
});
