/** Days, dates and the words for periods. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dayAt,
  dayNumber,
  daysBetween,
  isoDate,
  isoDay,
  startOfDay,
} from '../../../src/reports/query/days.js';
import { resolvePeriod } from '../../../src/reports/query/period.js';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/Sao_Paulo',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Africa/Cairo',
];

describe('dayNumber and isoDay', () => {
  it('are each other’s inverse for every day of four-digit years', () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_528, max: 2_932_896 }), (day) => {
        expect(dayNumber(isoDay(day))).toBe(day);
      }),
    );
    expect([isoDay(-719_528), isoDay(2_932_896), isoDay(0)]).toEqual([
      '0000-01-01',
      '9999-12-31',
      '1970-01-01',
    ]);
  });

  it('agrees with the calendar of Date.UTC about which days there are', () => {
    const parts = fc.tuple(
      fc.integer({ min: 1900, max: 2200 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
    );
    fc.assert(
      fc.property(parts, ([year, month, day]) => {
        const date = new Date(Date.UTC(year, month - 1, day));
        const exists =
          date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
        const iso = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
        expect(dayNumber(iso)).toBe(exists ? date.getTime() / 86_400_000 : null);
      }),
    );
  });

  it.each(['', '2026-11-1', ' 2026-11-01', '2026-11-01\n', '02026-11-01', '2026/11/01', '-026-11-01'])(
    'does not take %j for a day',
    (text) => {
      expect(dayNumber(text)).toBeNull();
    },
  );
});

describe('dayAt', () => {
  it('agrees with the local date in every zone at any time', () => {
    const now = fc.integer({ min: Date.parse('2000-01-01'), max: Date.parse('2040-01-01') });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), now, (zone, nowMs) => {
        const local = new Date(nowMs).toLocaleDateString('sv-SE', { timeZone: zone });
        expect(isoDay(dayAt(nowMs, zone))).toBe(local);
      }),
    );
  });
});

describe('startOfDay', () => {
  it('is the first moment of the day in every zone', () => {
    const day = fc.integer({
      min: dayNumber('2020-01-01') as number,
      max: dayNumber('2040-01-01') as number,
    });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), day, (zone, one) => {
        const at = startOfDay(one, zone);
        expect([dayAt(at - 1, zone), dayAt(at, zone)]).toEqual([one - 1, one]);
      }),
    );
  });
});

describe('daysBetween', () => {
  it('lists every day once, both ends included, over leap days, months and years', () => {
    expect(daysBetween('2024-02-27', '2024-03-02')).toEqual([
      '2024-02-27',
      '2024-02-28',
      '2024-02-29',
      '2024-03-01',
      '2024-03-02',
    ]);
    expect(daysBetween('2025-12-31', '2026-01-01')).toEqual(['2025-12-31', '2026-01-01']);
    expect(daysBetween('2026-11-21', '2026-11-21')).toEqual(['2026-11-21']);
    expect(daysBetween('2026-11-21', '2026-11-20')).toEqual([]);
  });
});

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
    '2026-11-01T01:00:00Z',
    '2026-11-01T00:00:00+01:00',
    '2026-11-01 00:00',
    '20261101',
    '01.11.2026',
  ])('refuses %j', (text) => {
    expect(isoDate(text)).toBeNull();
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
      { numRuns: 300 },
    );
  });
});

const on = (today: string, word: string) => {
  const period = resolvePeriod(word, dayNumber(today) as number);
  return period === null ? null : `${period.from} ${period.to}`;
};

describe('resolvePeriod', () => {
  it.each([
    ['2026-01-01', 'yesterday', '2025-12-31 2025-12-31'],
    ['2026-11-21', 'last_7_days', '2026-11-14 2026-11-20'],
    ['2026-11-21', 'month_to_date', '2026-11-01 2026-11-21'],
    ['2026-11-01', 'month_to_date', '2026-11-01 2026-11-01'],
    ['2026-11-21', 'last_month', '2026-10-01 2026-10-31'],
    ['2026-01-15', 'last_month', '2025-12-01 2025-12-31'],
  ])('on %s, %s is %s', (today, word, expected) => {
    expect(on(today, word)).toBe(expected);
  });

  it.each([
    'Today',
    'last_0_days',
    'last_07_days',
    'last_401_days',
    'last_1.5_days',
    'last_7_days ',
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
