import { describe, expect, it } from 'vitest';
import type { FieldFault } from '../../../src/errors.js';
import { readOutputOptions } from '../../../src/reports/query/output-options.js';

function read(given: Readonly<Record<string, string>>) {
  const faults: FieldFault[] = [];
  const pairs = Object.entries(given).map(([name, value]) => ({ name, value }));
  return { options: readOutputOptions(pairs, faults), faults: faults.map(({ param }) => param) };
}

const NOTHING = {
  format: null,
  totals: false,
  days: false,
  period: null,
  asOf: null,
  vintage: null,
  final: null,
  fields: null,
  bom: false,
};

describe('readOutputOptions', () => {
  it('gives the defaults when nothing is asked for', () => {
    expect(read({})).toEqual({ options: NOTHING, faults: [] });
  });

  it.each(['json', 'csv', 'ndjson', 'raw'])('takes the format %s', (format) => {
    expect(read({ _format: format })).toEqual({ options: { ...NOTHING, format }, faults: [] });
  });

  it.each(['JSON', 'xml', '', 'toString', 'csv '])('refuses the format %j', (format) => {
    expect(read({ _format: format }).faults).toEqual(['_format']);
  });

  it.each(['first', 'final', 'latest'])('takes the vintage %s', (vintage) => {
    expect(read({ _vintage: vintage })).toEqual({ options: { ...NOTHING, vintage }, faults: [] });
  });

  it.each([
    ['1', true],
    ['true', true],
    ['0', false],
    ['false', false],
    ['', false],
  ])('reads the flags from %j', (value, on) => {
    const { options, faults } = read({ _totals: value, _days: value, _bom: value });
    expect(options).toEqual({ ...NOTHING, totals: on, days: on, bom: on });
    expect(faults).toEqual([]);
  });

  it.each(['2', 'yes', 'True', 'constructor', 'toString', '__proto__', 'valueOf'])(
    'refuses the flag %j',
    (value) => {
      const { options, faults } = read({ _totals: value });
      expect(faults).toEqual(['_totals']);
      expect(options.totals).toBe(false);
    },
  );

  it('checks the word of a period', () => {
    expect(read({ _period: 'last_7_days' }).options.period).toBe('last_7_days');
    expect(read({ _period: 'last_0_days' }).faults).toEqual(['_period']);
    expect(read({ _period: '' }).faults).toEqual(['_period']);
  });

  it('refuses names it does not know', () => {
    expect(
      read({ _format: 'csv', _page: '1', _Format: 'csv', '_format[]': 'csv', _: '1', ___proto__: '' }).faults,
    ).toEqual(['_page', '_Format', '_format[]', '_', '___proto__']);
  });
});
