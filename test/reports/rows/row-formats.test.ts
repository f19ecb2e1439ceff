import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toCsv } from '../../../src/reports/rows/row-formats.js';

/** A reader of RFC 4180 that refuses what the RFC does not allow. */
function readCsv(text: string): string[][] {
  const records: string[][] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  let record: string[] = [];
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const match = field.exec(text);
    if (match === null) throw new Error(`not RFC 4180 at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    record.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '\r\n') {
      records.push(record);
      record = [];
    }
  }
  if (record.length > 0) throw new Error('the last record has no end');
  return records;
}

const csv = (rows: readonly string[], columns: readonly string[], bom = false): string =>
  toCsv(rows.join(',\n'), columns, { bom });

const guarded = (text: string): string => {
  const code = text.charCodeAt(0);
  const control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const isFormula = control || '=+-@'.split('').some((sign) => text.startsWith(sign));
  return isFormula ? `'${text}` : text;
};
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', ',', ';', ' ', 'a', '1', "'", '\u0085'),
  }),
);
const cell = fc.oneof(
  text,
  fc.jsonValue(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
);
const table = fc.uniqueArray(text, { minLength: 1, maxLength: 6 }).chain((columns) =>
  fc.tuple(
    fc.constant(columns),
    fc.array(
      fc.array(fc.option(cell, { nil: undefined }), {
        minLength: columns.length,
        maxLength: columns.length,
      }),
    ),
  ),
);

describe('toCsv', () => {
  it('reads back as the rows, in a header and one record each', () => {
    fc.assert(
      fc.property(table, fc.boolean(), (given, bom) => {
        const [columns, cells] = given;
        const rows = cells.map((values) => {
          const members = values.flatMap((value, at) =>
            value === undefined ? [] : [`${JSON.stringify(columns[at])}:${JSON.stringify(value)}`],
          );
          return `{${members.join(',')}}`;
        });
        const body = csv(rows, columns, bom);
        if (rows.length === 0) {
          expect(body).toBe('');
          return;
        }
        if (bom) expect(body.charCodeAt(0)).toBe(0xfeff);
        const expected = cells.map((values) =>
          values.map((value) => {
            if (value === undefined || value === null) return '';
            return typeof value === 'string' ? guarded(value) : JSON.stringify(value);
          }),
        );
        expect(readCsv(bom ? body.slice(1) : body)).toEqual([columns.map(guarded), ...expected]);
      }),
      { numRuns: 500 },
    );
  });

  it('lets no text begin like a formula, quoted or not', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '\u0000', '\u007f', '\u009f'),
        text,
        (first, rest) => {
          const body = csv([`{"a":${JSON.stringify(first + rest)}}`], ['a']);
          expect(readCsv(body)[1]).toEqual([`'${first}${rest}`]);
        },
      ),
    );
  });

  it.each<[unknown, string]>([
    ['b;-5', '"b;-5"'],
    ['a\t@SUM(1)', '"a\t@SUM(1)"'],
    ['a\n+1', '"a\n+1"'],
    ['a=1', 'a=1'],
    [{ note: 'b;-5' }, '"{""note"":""b;-5""}"'],
    [['=1', ';=1'], '"[""=1"","";=1""]"'],
  ])('changes nothing inside of %j', (value, cell) => {
    expect(csv([JSON.stringify({ a: 1, b: value })], ['a', 'b'])).toBe(`a,b\r\n1,${cell}\r\n`);
  });

  it('keeps the JSON text of numbers, negative ones too', () => {
    const row = '{"a":-1.5,"b":0.0000001,"c":1e+21,"d":12345678901234567890,"e":"-1"}';
    expect(csv([row], ['a', 'b', 'c', 'd', 'e'])).toBe(
      "a,b,c,d,e\r\n-1.5,0.0000001,1e+21,12345678901234567890,'-1\r\n",
    );
  });

  it('writes what stands for nothing, flags and nested values', () => {
    const rows = ['{"a":null,"b":true,"c":[1,{"x":"é,\\n"}]}', '{"b":false,"c":{}}', '{}'];
    expect(csv(rows, ['a', 'b', 'c'])).toBe('a,b,c\r\n,true,"[1,{""x"":""é,\\n""}]"\r\n,false,{}\r\n,,\r\n');
  });

  it('finds the columns whatever the order of a row, and leaves out members that are none', () => {
    expect(csv(['{"a":1,"b":2}', '{"b":4,"x":9,"a":3}'], ['a', 'b'])).toBe('a,b\r\n1,2\r\n3,4\r\n');
  });

  it('quotes what needs it, and nothing else', () => {
    const cells = ['a b', ' a', 'a ', 'a,b', 'a"b', 'a\nb', 'a\rb', 'é;', 'a\tb'];
    expect(
      csv(
        cells.map((value) => `{"c":${JSON.stringify(value)}}`),
        ['c'],
      ),
    ).toBe('c\r\na b\r\n" a"\r\n"a "\r\n"a,b"\r\n"a""b"\r\n"a\nb"\r\n"a\rb"\r\n"é;"\r\n"a\tb"\r\n');
  });

  it('has no empty lines, which readers skip', () => {
    expect(csv(['{"a":null}', '{"a":""}', '{"a":1}'], ['a'])).toBe('a\r\n""\r\n""\r\n1\r\n');
  });

  it('is empty without rows, byte order mark or not, and without columns', () => {
    expect(csv([], ['a'])).toBe('');
    expect(csv([], ['a'], true)).toBe('');
    expect(csv(['{}', '{}'], [], true)).toBe('');
  });

  it('guards and quotes the names of columns', () => {
    expect(csv(['{"=a,b":1}'], ['=a,b'])).toBe('"\'=a,b"\r\n1\r\n');
  });

  it('puts the byte order mark in front once', () => {
    expect(csv(['{"a":1}', '{"a":2}'], ['a'], true)).toBe('\ufeffa\r\n1\r\n2\r\n');
  });

  it('refuses what are no rows', () => {
    expect(() => csv(['{"a":1'], ['a'])).toThrow(/at position/);
    expect(() => csv(['1'], ['a'])).toThrow(TypeError);
  });

  it('takes rows as deep as the gateway reads them', () => {
    const deep = '['.repeat(64) + ']'.repeat(64);
    expect(csv([`{"a":${deep}}`], ['a'])).toBe(`a\r\n${deep}\r\n`);
  });

  it('refuses a table of very many cells before making it', () => {
    const rows = Array.from({ length: 7_100 }, (_, at) => `{"c${at}":1}`);
    const columns = rows.map((_, at) => `c${at}`);
    expect(() => csv(rows, columns)).toThrow(RangeError);
  });
});
