import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoDate } from '../../../src/reports/query/days.js';

const TIMES = [
  '',
  ' 00:00:00',
  ' 00:00:00.0',
  ' 00:00:00.000000',
  'T00:00:00',
  'T00:00:00Z',
  'T00:00:00.000Z',
  'T00:00:00+00:00',
  'T00:00:00.0000+00:00',
];

const day = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

describe('isoDate', () => {
  it('drops a time that is exactly 00:00:00', () => {
    fc.assert(
      fc.property(day, fc.constantFrom(...TIMES), (date, time) => {
        expect(isoDate(date + time)).toBe(date);
      }),
    );
  });

  it.each([
    '2026-11-01 00:00:01',
    '2026-11-01 00:00:00.001',
    '2026-11-01T01:00:00Z',
    '2026-11-01T00:00:00+01:00',
    '2026-11-01T00:00:00-00:00',
    '2026-11-01 00:00',
    '2026-11-01T',
    '2026-11-01 ',
    ' 2026-11-01',
    '2026-11-01\n',
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-11-00',
    '2026-1-1',
    '20261101',
    '01.11.2026',
    'Total',
    '',
  ])('refuses %j', (text) => {
    expect(isoDate(text)).toBeNull();
  });

  it('takes 29 February of leap years', () => {
    expect(isoDate('2024-02-29')).toBe('2024-02-29');
  });

  it('refuses what was damaged in one place, unless only the zeros of the fraction changed', () => {
    const damage = fc.constantFrom('', '1', '0', 'x', 'Z', ' ', ':', '-', '+', '.');
    fc.assert(
      fc.property(
        day,
        fc.constantFrom(...TIMES),
        fc.nat(),
        fc.nat(1),
        damage,
        (date, time, at, cut, char) => {
          const whole = date + time;
          const place = at % (whole.length + 1);
          const text = whole.slice(0, place) + char + whole.slice(place + cut);
          const read = isoDate(text);
          if (read !== null) {
            expect(text.slice(0, 10)).toBe(read);
            expect(TIMES).toContain(text.slice(10).replace(/\.0+/, ''));
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
