/** The form of an answer: as it is asked for, and as it is negotiated. */

import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FieldFault } from '../../../src/errors.js';
import { type Finished, isServable } from '../../../src/reports/cache/finished.js';
import type { Purges } from '../../../src/reports/cache/purges.js';
import { shapeKey, shapeOf } from '../../../src/reports/options.js';
import {
  type Format,
  negotiateCoding,
  negotiateFormat,
  type OutputOptions,
  readOutputOptions,
} from '../../../src/reports/query/output-options.js';
import { codeOf, thrownBy } from '../../support/problems.js';
import { get } from './canonical-request.js';

function read(given: Readonly<Record<string, string>>) {
  const faults: FieldFault[] = [];
  const pairs = Object.entries(given).map(([name, value]) => ({ name, value }));
  return { options: readOutputOptions(pairs, faults), faults: faults.map(({ param }) => param) };
}

const NOTHING: OutputOptions = {
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

  it.each(['JSON', 'xml', '', 'toString', 'csv '])('refuses the format %j', (format) => {
    expect(read({ _format: format }).faults).toEqual(['_format']);
  });

  it.each([
    ...['json', 'csv', 'ndjson', 'raw'].map((format) => ({ format })),
    ...['first', 'final', 'latest'].map((vintage) => ({ vintage })),
  ])('takes %j', (given) => {
    const [[name, value]] = Object.entries(given) as [[string, string]];
    expect(read({ [`_${name}`]: value })).toEqual({ options: { ...NOTHING, ...given }, faults: [] });
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
    expect(read({ _period: 'a', _format: 'b' }).faults).toEqual(['_format', '_period']);
  });

  it('refuses names it does not know', () => {
    expect(
      read({ _format: 'csv', _page: '1', _Format: 'csv', '_format[]': 'csv', _: '1', ___proto__: '' }).faults,
    ).toEqual(['_page', '_Format', '_format[]', '_', '___proto__']);
  });
});

const HAS_ZSTD = 'zstdCompress' in zlib;

describe('negotiateFormat', () => {
  it.each<[string | undefined, Format]>([
    [undefined, 'json'],
    ['', 'json'],
    ['TEXT/CSV', 'csv'],
    ['text/*', 'csv'],
    ['text/csv; charset=utf-8', 'csv'],
    ['application/vnd.dsp.raw; charset=utf-8', 'raw'],
    ['application/x-ndjson', 'ndjson'],
    ['text/csv;q=0.4, application/json;q=0.5', 'json'],
    ['text/html, text/csv;q=0.1', 'csv'],
    ['text/csv;q=0, */*', 'json'],
    ['application/json;q=0, */*', 'csv'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
  ])('gives for accept %j the format %s', (accept, expected) => {
    expect(negotiateFormat(null, accept, 'json')).toBe(expected);
  });

  it.each(['image/png, text/html;q=0.9', 'application/json;q=0', '*/*;q=0', ';;;', 'json'])(
    'cannot give %j',
    (accept) => {
      expect(codeOf(() => negotiateFormat(null, accept, 'json'))).toBe('not_acceptable');
    },
  );

  it('lets the query win over whatever is accepted', () => {
    expect(negotiateFormat('csv', 'application/json', 'ndjson')).toBe('csv');
    expect(negotiateFormat('csv', 'text/html', 'ndjson')).toBe('csv');
  });

  it('gives the team’s own format where accept leaves it open, and what is asked for where not', () => {
    const formats = ['json', 'csv', 'ndjson', 'raw'] as const;
    for (const fallback of formats) {
      for (const open of [undefined, '', '*/*', '*/*;q=0.5', 'text/html, */*;q=0.1'])
        expect(negotiateFormat(null, open, fallback)).toBe(fallback);
      expect(negotiateFormat(null, 'text/csv', fallback)).toBe('csv');
      expect(negotiateFormat(null, 'application/json', fallback)).toBe('json');
    }
  });
});

describe('negotiateCoding', () => {
  it.each([
    [undefined, 'identity'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, br', 'gzip'],
    ['gzip;q=0.5, br;q=0.8', 'br'],
    ['compress, x-gzip', 'identity'],
    ['identity;q=0, gzip', 'gzip'],
    ['identity;q=0, deflate', 'identity'],
    ['*;q=0', 'identity'],
    [',;=,', 'identity'],
    ['gzip;q=x', 'identity'],
    ['zstd', HAS_ZSTD ? 'zstd' : 'identity'],
    ['*', HAS_ZSTD ? 'zstd' : 'br'],
  ])('gives for accept-encoding %j the coding %s', (header, expected) => {
    expect(negotiateCoding(header)).toBe(expected);
  });

  it('never throws, and gives only what the header names', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'gzipbr,;=q0.1*identity '.split('')) }), (header) => {
        const coding = negotiateCoding(header);
        const named = header.includes(coding) || header.includes('*');
        expect(coding === 'identity' || named).toBe(true);
      }),
    );
  });
});

const FORMATS: readonly Format[] = ['json', 'csv', 'ndjson', 'raw'];

describe('shapeOf', () => {
  it.each<[keyof OutputOptions, Format]>([
    ['totals', 'json'],
    ['days', 'json'],
    ['bom', 'csv'],
  ])('takes _%s with one format, and refuses it where it would do nothing', (option, format) => {
    for (const other of FORMATS) {
      const shape = () => shapeOf(other, { ...NOTHING, [option]: true });
      expect(codeOf(shape)).toBe(other === format ? null : 'invalid_query');
      if (other !== format)
        expect(thrownBy(shape).options.errors?.map(({ param }) => param)).toEqual([`_${option}`]);
    }
  });

  it('keeps nothing that does not shape the answer', () => {
    expect(shapeOf('json', { ...NOTHING, period: 'today', totals: true })).toEqual({
      format: 'json',
      totals: true,
      days: false,
      bom: false,
      fields: null,
    });
  });
});

describe('shapeKey', () => {
  it('differs for whatever makes another body', () => {
    const place = fc.tuple(
      fc.constantFrom('s1', 's2'),
      fc.constantFrom(
        'dateFrom=2026-11-01',
        'dateTo=2026-11-01',
        'dateFrom=2026-11-01&dateTo=2026-11-02',
        '',
      ),
      fc.record({
        format: fc.constantFrom(...FORMATS),
        totals: fc.boolean(),
        days: fc.boolean(),
        bom: fc.boolean(),
        fields: fc.constantFrom(null, ['date'], ['date', 'spent'], ['spent', 'date'], ['date|gzip']),
      }),
      fc.constantFrom('identity' as const, 'gzip' as const, 'br' as const),
    );
    const key = ([series, query, shape, coding]: [
      string,
      string,
      Parameters<typeof shapeKey>[2],
      'identity' | 'gzip' | 'br',
    ]) => shapeKey(series, get(query).report, shape, coding);
    fc.assert(
      fc.property(place, place, (one, other) => {
        expect(key(one) === key(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});

describe('isServable', () => {
  const NOW = 1_000_000;
  const FINISHED = {
    asOfMs: NOW - 60_000,
    freshUntilMs: NOW + 1,
    stale: false,
    seq: 3,
    madeOf: [],
  } as unknown as Finished;
  const purgedBelow = (seq: number) => ({ expiredAt: (subject) => (subject.seq < seq ? 0 : null) }) as Purges;
  const servable = (changes: Partial<Finished> = {}, maxAgeMs: number | null = null, seq = 3) =>
    isServable({ ...FINISHED, ...changes }, get('advertiserId=1').report, purgedBelow(seq), maxAgeMs, NOW);

  it('is so while it is fresh, young enough and not purged', () => {
    expect(servable()).toBe(true);
    expect(servable({ freshUntilMs: NOW })).toBe(false);
    expect(servable({ stale: true })).toBe(false);
    expect(servable({}, 60_000)).toBe(true);
    expect(servable({}, 59_999)).toBe(false);
    expect(servable({ asOfMs: NOW }, 0)).toBe(false);
    expect(servable({}, null, 4)).toBe(false);
  });
});
