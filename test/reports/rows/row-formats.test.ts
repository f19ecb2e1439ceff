/** Rows as CSV, as NDJSON, and some of their columns. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FieldFault } from '../../../src/errors.js';
import { type Format, fieldFaults, readFields } from '../../../src/reports/query/output-options.js';
import { assemble } from '../../../src/reports/rows/assemble.js';
import { ROW_SEPARATOR } from '../../../src/reports/rows/entry.js';
import { projectRows, toCsv, toNdjson } from '../../../src/reports/rows/row-formats.js';
import { ask, bodyOf } from './assembled.js';

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
    );
  });

  it.each<[unknown, string]>([
    ['a\t@SUM(1)', '"a\t@SUM(1)"'],
    ['a\n+1', '"a\n+1"'],
    [['=1', ';=1'], '"[""=1"","";=1""]"'],
  ])('changes nothing inside of %j', (value, cell) => {
    expect(csv([JSON.stringify({ a: 1, b: value })], ['a', 'b'])).toBe(`a,b\r\n1,${cell}\r\n`);
  });

  it('writes what stands for nothing, flags and nested values', () => {
    const rows = [
      '{"a":null,"b":true,"c":[1,{"x":"é,\\n"}]}',
      '{"c":{},"b":false,"x":1}',
      '{"a":-1.0,"b":1e+21,"c":"-1"}',
    ];
    expect(csv(rows, ['a', 'b', 'c'])).toBe(
      'a,b,c\r\n,true,"[1,{""x"":""é,\\n""}]"\r\n,false,{}\r\n-1.0,1e+21,\'-1\r\n',
    );
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

  it('refuses what are no rows', () => {
    expect(() => csv(['{"a":1'], ['a'])).toThrow(/at position/);
    expect(() => csv(['1'], ['a'])).toThrow(TypeError);
  });

  it('refuses a table of very many cells before making it', () => {
    const rows = Array.from({ length: 7_100 }, (_, at) => `{"c${at}":1}`);
    const columns = rows.map((_, at) => `c${at}`);
    expect(() => csv(rows, columns)).toThrow(RangeError);
  });
});

const rows = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()));

describe('toNdjson', () => {
  it('gives one row a line, each line ended', () => {
    fc.assert(
      fc.property(rows, (list) => {
        const text = toNdjson(list.map((row) => JSON.stringify(row)).join(',\n'));
        // As readers split that know every line break of Unicode.
        const lines = text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
        expect(lines.at(-1)).toBe('');
        expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual(
          list.map((row) => JSON.parse(JSON.stringify(row))),
        );
      }),
    );
  });

  it('escapes the line breaks that JSON leaves raw in texts, and leaves commas before others alone', () => {
    expect(toNdjson('{"a":"x\u2028y\u2029z\u0085"},\n{"a":",\\n"}')).toBe(
      '{"a":"x\\u2028y\\u2029z\\u0085"}\n{"a":",\\n"}\n',
    );
    expect(toNdjson('')).toBe('');
  });
});

const NAMES = ['date', 'spent', 'clicks', '__proto__', 'constructor', 'a,b', 'ü"\\'];
const value = fc.oneof(
  fc.string(),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue(),
);

function pick(row: ReadonlyMap<string, unknown>, fields: readonly string[]): string {
  const members = fields.filter((field) => row.has(field));
  return `{${members.map((field) => `${JSON.stringify(field)}:${JSON.stringify(row.get(field))}`).join()}}`;
}

it('rows of some columns are as many, in the same order, each with what it has of them', () => {
  const rows = fc.array(
    fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), value), { selector: ([name]) => name }),
  );
  const wanted = fc.uniqueArray(fc.constantFrom(...NAMES, 'other'), { minLength: 1 });
  fc.assert(
    fc.property(rows, wanted, (members, fields) => {
      const all = members.map((one) => new Map<string, unknown>(one));
      const text = all.map((row) => pick(row, [...row.keys()])).join(ROW_SEPARATOR);
      const expected = all.map((row) => pick(row, fields)).join(ROW_SEPARATOR);
      expect(projectRows(text, fields, ROW_SEPARATOR)).toBe(expected);
    }),
  );
});

describe('an answer of some columns', () => {
  const answer = (format: Exclude<Format, 'raw'>, fields: readonly string[] | null) =>
    assemble(ask({ format, fields }));
  const text = (format: Exclude<Format, 'raw'>, fields: readonly string[]) =>
    bodyOf(answer(format, fields)).toString();

  it('has them in the order in which they were asked for, in every format', () => {
    const [first] = JSON.parse(text('json', ['spent', 'date'])).data;
    expect(JSON.stringify(first)).toBe('{"spent":12.34,"date":"2026-11-09"}');
    expect(text('ndjson', ['spent', 'date']).split('\n')[0]).toBe('{"spent":12.34,"date":"2026-11-09"}');
    expect(text('csv', ['note', 'date'])).toBe('note,date\r\n,2026-11-09\r\n"a, b",2026-11-10\r\n');
  });

  it('has another tag for each choice and order', () => {
    const choices = [null, ['date'], ['spent'], ['date', 'spent'], ['spent', 'date']];
    for (const format of ['json', 'csv', 'ndjson'] as const)
      expect(new Set(choices.map((fields) => answer(format, fields).tag)).size).toBe(choices.length);
  });

  it('is never joined of whole rows that are deflated', () => {
    const body = answer('json', ['date']).body();
    expect(body).not.toHaveProperty('deflated');
    expect(body).not.toHaveProperty('ready');
  });
});

describe('names of columns', () => {
  const faultsOf = (given: string) => {
    const faults: FieldFault[] = [];
    readFields(given, faults);
    return faults.map(({ message }) => message);
  };

  it.each([
    ['date,', /column names/],
    [',date', /column names/],
    ['date,spent,date', /names date twice/],
    [Array.from({ length: 257 }, (_, at) => `c${at}`).join(), /at most 256/],
  ])('as %j are refused', (given, message) => {
    expect(faultsOf(given)).toEqual([expect.stringMatching(message)]);
  });

  it('that nobody knows are refused with those that are meant, and all there are', () => {
    const columns = ['date', 'campaignId', 'impressions', 'spent'];
    const message = (field: string) => fieldFaults([field], columns, new Set())[0]?.message;
    expect(message('campaign_id')).toMatch(
      /did you mean `campaignId`\? Columns: date, campaignId, impressions, spent$/,
    );
    expect(message('Date')).toMatch(/did you mean `date`\?/);
    expect(message('spend')).toMatch(/did you mean `spent`\?/);
    expect(message('impresions')).toMatch(/did you mean `impressions`\?/);
    expect(message('profit')).toBe(
      'names profit, which is not a column of this report. Columns: date, campaignId, impressions, spent',
    );
  });

  it('that were seen before, and those of a report without rows, are no fault', () => {
    expect(fieldFaults(['note'], ['date'], new Set(['note']))).toEqual([]);
    expect(fieldFaults(['note'], [], new Set())).toEqual([]);
  });
});
