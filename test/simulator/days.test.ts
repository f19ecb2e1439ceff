import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDay, momentAt, parseDay, STEP_MS, STEPS_PER_DAY, weekday } from '../../src/simulator/days.js';

const instants = fc.integer({ min: Date.parse('2023-01-01'), max: Date.parse('2028-12-31') });
// Zones east and west of UTC, half-hour ones, and ones whose clock changes at or near midnight.
const zones = fc.constantFrom(
  'UTC',
  'America/New_York',
  'America/Havana',
  'Asia/Kolkata',
  'Asia/Beirut',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Europe/Warsaw',
);

describe('calendar days', () => {
  it('reads back every day it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: -10_000, max: 60_000 }), (day) => {
        expect(parseDay(formatDay(day))).toBe(day);
      }),
    );
  });

  it.each([
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-1-1',
    '20261101',
    '',
    '2026-11-01T00:00:00Z',
    '２０２６-11-01',
  ])('refuses %j', (text) => {
    expect(parseDay(text)).toBeUndefined();
  });

  it('knows the weekday of every day', () => {
    fc.assert(
      fc.property(fc.integer({ min: -10_000, max: 60_000 }), (day) => {
        expect(weekday(day)).toBe(new Date(`${formatDay(day)}T00:00:00Z`).getUTCDay());
      }),
    );
  });
});

describe('the platform’s today', () => {
  it('is the local date of the zone', () => {
    fc.assert(
      fc.property(instants, zones, (now, timeZone) => {
        const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(now);
        expect(formatDay(momentAt(now, timeZone).today)).toBe(local);
      }),
    );
  });

  it('only moves on, in steps of five minutes, through clock changes too', () => {
    fc.assert(
      fc.property(instants, zones, fc.integer({ min: 0, max: 30 * 3_600_000 }), (now, zone, later) => {
        const before = momentAt(now, zone);
        const after = momentAt(now + later, zone);
        expect(before.step).toBeGreaterThanOrEqual(0);
        expect(before.step).toBeLessThan(STEPS_PER_DAY);
        expect(after.today).toBeGreaterThanOrEqual(before.today);
        if (after.today === before.today) expect(after.step).toBeGreaterThanOrEqual(before.step);
      }),
    );
  });

  it('counts steps from local midnight', () => {
    const midnight = Date.parse('2026-11-21T05:00:00Z'); // in New York
    expect(momentAt(midnight, 'America/New_York')).toEqual({ today: parseDay('2026-11-21'), step: 0 });
    expect(momentAt(midnight - 1, 'America/New_York')).toEqual({
      today: parseDay('2026-11-20'),
      step: STEPS_PER_DAY - 1,
    });
    expect(momentAt(midnight + 3 * STEP_MS, 'America/New_York').step).toBe(3);
    expect(momentAt(midnight, 'UTC')).toEqual({ today: parseDay('2026-11-21'), step: 60 });
  });

  it('stays at the last step in the 25th hour of a day', () => {
    const late = Date.parse('2026-11-02T04:59:59Z'); // 23:59:59 in New York, on the day the clocks went back
    expect(momentAt(late, 'America/New_York')).toEqual({
      today: parseDay('2026-11-01'),
      step: STEPS_PER_DAY - 1,
    });
    expect(momentAt(late + 1000, 'America/New_York')).toEqual({ today: parseDay('2026-11-02'), step: 0 });
  });

  it('refuses an unknown zone', () => {
    expect(() => momentAt(0, 'Mars/Olympus')).toThrow(RangeError);
  });
});
