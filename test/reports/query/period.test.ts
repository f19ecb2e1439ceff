import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayAt, dayNumber, isoDay } from '../../../src/reports/query/days.js';
import { resolvePeriod } from '../../../src/reports/query/period.js';

const on = (today: string, word: string) => {
  const period = resolvePeriod(word, dayNumber(today) as number);
  return period === null ? null : `${period.from} ${period.to}`;
};

describe('resolvePeriod', () => {
  it.each([
    ['2026-11-21', 'today', '2026-11-21 2026-11-21'],
    ['2026-11-21', 'yesterday', '2026-11-20 2026-11-20'],
    ['2026-01-01', 'yesterday', '2025-12-31 2025-12-31'],
    ['2024-03-01', 'yesterday', '2024-02-29 2024-02-29'],
    ['2026-03-01', 'yesterday', '2026-02-28 2026-02-28'],
    ['2026-11-21', 'last_1_days', '2026-11-20 2026-11-20'],
    ['2026-11-21', 'last_7_days', '2026-11-14 2026-11-20'],
    ['2026-01-03', 'last_7_days', '2025-12-27 2026-01-02'],
    ['2024-03-03', 'last_3_days', '2024-02-29 2024-03-02'],
    ['2026-11-21', 'last_400_days', '2025-10-17 2026-11-20'],
    ['2026-11-21', 'month_to_date', '2026-11-01 2026-11-21'],
    ['2026-11-01', 'month_to_date', '2026-11-01 2026-11-01'],
    ['2026-01-31', 'month_to_date', '2026-01-01 2026-01-31'],
    ['2026-11-21', 'last_month', '2026-10-01 2026-10-31'],
    ['2026-01-15', 'last_month', '2025-12-01 2025-12-31'],
    ['2024-03-31', 'last_month', '2024-02-01 2024-02-29'],
    ['2025-03-31', 'last_month', '2025-02-01 2025-02-28'],
    ['2100-03-01', 'last_month', '2100-02-01 2100-02-28'],
    ['2026-05-31', 'last_month', '2026-04-01 2026-04-30'],
  ])('on %s, %s is %s', (today, word, expected) => {
    expect(on(today, word)).toBe(expected);
  });

  it.each([
    '',
    'Today',
    'last_days',
    'last_0_days',
    'last_07_days',
    'last_401_days',
    'last_1000_days',
    'last_-1_days',
    'last_1.5_days',
    'last_7_days ',
    'next_month',
    'constructor',
  ])('does not know %j', (word) => {
    expect(on('2026-11-21', word)).toBeNull();
  });

  it('ends last_N_days yesterday, N days long, on any day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 11_000, max: 25_000 }),
        fc.integer({ min: 1, max: 400 }),
        (today, count) => {
          const period = resolvePeriod(`last_${count}_days`, today);
          expect(period?.to).toBe(isoDay(today - 1));
          expect(dayNumber(period?.from as string)).toBe(today - count);
        },
      ),
    );
  });

  it('takes the whole of the month before, on any day', () => {
    fc.assert(
      fc.property(fc.integer({ min: 11_000, max: 25_000 }), (today) => {
        const { from, to } = resolvePeriod('last_month', today) as { from: string; to: string };
        const date = new Date(`${isoDay(today)}T00:00:00Z`);
        const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
        expect(from).toBe(new Date(Date.UTC(year, month - 1, 1)).toISOString().slice(0, 10));
        expect(to).toBe(new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10));
      }),
    );
  });

  it('follows the platform’s midnight, not UTC’s', () => {
    const newYearUtc = Date.parse('2026-01-01T00:30:00Z');
    const word = (zone: string) => resolvePeriod('today', dayAt(newYearUtc, zone))?.from;
    expect(word('UTC')).toBe('2026-01-01');
    expect(word('America/New_York')).toBe('2025-12-31');
    expect(resolvePeriod('last_month', dayAt(newYearUtc, 'America/New_York'))?.to).toBe('2025-11-30');
  });
});
