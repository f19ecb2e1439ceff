/** Some columns of rows: what a reader would pick out of the whole rows himself. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FieldFault } from '../../../src/errors.js';
import { type Format, fieldFaults, readFields } from '../../../src/reports/query/output-options.js';
import { assemble } from '../../../src/reports/rows/assemble.js';
import { ROW_SEPARATOR } from '../../../src/reports/rows/entry.js';
import { projectRows } from '../../../src/reports/rows/row-formats.js';
import { ask, bodyOf } from './assembled.js';

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

it('numbers keep their digits', () => {
  expect(projectRows('{"a":12.3400,"b":1e400}', ['b', 'a'], ROW_SEPARATOR)).toBe('{"b":1e400,"a":12.3400}');
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
    ['', /names of columns/],
    ['date,', /names of columns/],
    [',date', /names of columns/],
    ['date,spent,date', /names date twice/],
    [Array.from({ length: 257 }, (_, at) => `c${at}`).join(), /more than 256/],
  ])('as %j are refused', (given, message) => {
    expect(faultsOf(given)).toEqual([expect.stringMatching(message)]);
  });

  it('that nobody knows are refused with those that are meant, and all there are', () => {
    const columns = ['date', 'campaignId', 'impressions'];
    const message = (field: string) => fieldFaults([field], columns, new Set())[0]?.message;
    expect(message('campaign_id')).toMatch(
      /did you mean `campaignId`\? There are date, campaignId, impressions$/,
    );
    expect(message('Date')).toMatch(/did you mean `date`\?/);
    expect(message('impresions')).toMatch(/did you mean `impressions`\?/);
    expect(message('profit')).toBe(
      'profit is no column of this report. There are date, campaignId, impressions',
    );
  });

  it('that were seen before, and those of a report without rows, are no fault', () => {
    expect(fieldFaults(['note'], ['date'], new Set(['note']))).toEqual([]);
    expect(fieldFaults(['note'], [], new Set())).toEqual([]);
  });
});
