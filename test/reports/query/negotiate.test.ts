import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Format, negotiateCoding, negotiateFormat } from '../../../src/reports/query/output-options.js';
import { codeOf } from '../../support/problems.js';

const HAS_ZSTD = 'zstdCompress' in zlib;

describe('negotiateFormat', () => {
  it.each<[string | undefined, Format]>([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['application/*', 'json'],
    ['text/csv', 'csv'],
    ['TEXT/CSV', 'csv'],
    ['text/*', 'csv'],
    ['text/csv; charset=utf-8', 'csv'],
    ['application/json;charset=UTF-8', 'json'],
    ['application/vnd.dsp.raw; charset=utf-8', 'raw'],
    ['application/x-ndjson', 'ndjson'],
    ['application/vnd.dsp.raw', 'raw'],
    ['text/csv;q=0.5, application/json;q=0.4', 'csv'],
    ['text/csv;q=0.4, application/json;q=0.5', 'json'],
    ['text/html, text/csv;q=0.1', 'csv'],
    ['text/csv;q=0, */*', 'json'],
    ['application/json;q=0, */*', 'csv'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
  ])('gives for accept %j the format %s', (accept, expected) => {
    expect(negotiateFormat(null, accept, 'json')).toBe(expected);
  });

  it.each([
    'text/html',
    'image/png, text/html;q=0.9',
    'application/json;q=0',
    '*/*;q=0',
    'garbage',
    ';;;',
    'json',
  ])('cannot give %j', (accept) => {
    expect(codeOf(() => negotiateFormat(null, accept, 'json'))).toBe('not_acceptable');
  });

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
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['GZIP', 'gzip'],
    ['gzip, br', 'gzip'],
    ['br, gzip', 'br'],
    ['gzip;q=0.5, br;q=0.8', 'br'],
    ['gzip;q=0, br', 'br'],
    ['gzip;q=0', 'identity'],
    ['deflate', 'identity'],
    ['compress, x-gzip', 'identity'],
    ['identity;q=0, gzip', 'gzip'],
    // Nothing fits: a body in plain form is better than none.
    ['identity;q=0', 'identity'],
    ['identity;q=0, deflate', 'identity'],
    ['*;q=0', 'identity'],
    ['garbage', 'identity'],
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
