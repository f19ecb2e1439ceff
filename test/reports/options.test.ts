import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Finished, isServable } from '../../src/reports/cache/finished.js';
import type { Purges } from '../../src/reports/cache/purges.js';
import { shapeKey, shapeOf } from '../../src/reports/options.js';
import type { Format, OutputOptions } from '../../src/reports/query/output-options.js';
import { codeOf, thrownBy } from '../support/problems.js';
import { get } from './query/canonical-request.js';

const OPTIONS: OutputOptions = {
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
const FORMATS: readonly Format[] = ['json', 'csv', 'ndjson', 'raw'];

describe('shapeOf', () => {
  it.each<[keyof OutputOptions, Format]>([
    ['totals', 'json'],
    ['days', 'json'],
    ['bom', 'csv'],
  ])('takes _%s with one format, and refuses it where it would do nothing', (option, format) => {
    for (const other of FORMATS) {
      const shape = () => shapeOf(other, { ...OPTIONS, [option]: true });
      expect(codeOf(shape)).toBe(other === format ? null : 'invalid_query');
      if (other !== format)
        expect(thrownBy(shape).options.errors?.map(({ param }) => param)).toEqual([`_${option}`]);
    }
  });

  it('keeps nothing that does not shape the answer', () => {
    expect(shapeOf('json', { ...OPTIONS, period: 'today', totals: true })).toEqual({
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
        fields: fc.constantFrom(
          null,
          ['date'],
          ['spent'],
          ['date', 'spent'],
          ['spent', 'date'],
          ['date|gzip'],
        ),
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
      { numRuns: 500 },
    );
  });
});

describe('isServable', () => {
  const NOW = 1_000_000;
  const FINISHED = {
    ...{ asOfMs: NOW - 60_000, freshUntilMs: NOW + 1, stale: false, seq: 3, madeOf: [] },
  } as unknown as Finished;
  const purgedBelow = (seq: number) => ({ isPurged: (subject) => subject.seq < seq }) as Purges;
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
