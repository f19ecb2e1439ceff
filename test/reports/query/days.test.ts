import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayAt, dayNumber, daysBetween, isoDay, startOfDay } from '../../../src/reports/query/days.js';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Africa/Casablanca',
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

  it.each([
    '',
    '2026-11-1',
    '2026-11-01T00:00',
    ' 2026-11-01',
    '2026-11-01\n',
    '02026-11-01',
    '2026/11/01',
    '٢٠٢٦-11-01',
    '-026-11-01',
  ])('does not take %j for a day', (text) => {
    expect(dayNumber(text)).toBeNull();
  });
});

describe('dayAt', () => {
  it.each([
    ['UTC', '2026-11-21T23:59:59.999Z', '2026-11-21'],
    ['UTC', '2026-11-22T00:00:00.000Z', '2026-11-22'],
    ['Pacific/Kiritimati', '2026-11-21T09:59:59.999Z', '2026-11-21'],
    ['Pacific/Kiritimati', '2026-11-21T10:00:00.000Z', '2026-11-22'],
    ['Pacific/Pago_Pago', '2026-11-21T10:59:59.999Z', '2026-11-20'],
    ['Pacific/Pago_Pago', '2026-11-21T11:00:00.000Z', '2026-11-21'],
    // Clocks go back on 25 October 2026 in Berlin: the day has 25 hours.
    ['Europe/Berlin', '2026-10-24T21:59:59.999Z', '2026-10-24'],
    ['Europe/Berlin', '2026-10-24T22:00:00.000Z', '2026-10-25'],
    ['Europe/Berlin', '2026-10-25T22:59:59.999Z', '2026-10-25'],
    ['Europe/Berlin', '2026-10-25T23:00:00.000Z', '2026-10-26'],
    // Clocks go forward on 8 March 2026 in New York: the day has 23 hours.
    ['America/New_York', '2026-03-08T04:59:59.999Z', '2026-03-07'],
    ['America/New_York', '2026-03-08T05:00:00.000Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T04:00:00.000Z', '2026-03-09'],
    ['Asia/Kathmandu', '2025-12-31T18:14:59.999Z', '2025-12-31'],
    ['Asia/Kathmandu', '2025-12-31T18:15:00.000Z', '2026-01-01'],
  ])('in %s it is at %s the %s', (zone, now, day) => {
    expect(isoDay(dayAt(Date.parse(now), zone))).toBe(day);
  });

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
  it.each([
    ['UTC', '2026-11-22', '2026-11-22T00:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00.000Z'],
    ['Europe/Berlin', '2026-10-26', '2026-10-25T23:00:00.000Z'],
    // Clocks go forward at midnight: the day begins at one o'clock.
    ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z'],
    ['Asia/Kathmandu', '2026-01-01', '2025-12-31T18:15:00.000Z'],
  ])('in %s %s begins at %s', (zone, day, at) => {
    expect(new Date(startOfDay(dayNumber(day) as number, zone)).toISOString()).toBe(at);
  });

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
