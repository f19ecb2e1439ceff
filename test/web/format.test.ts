/** How the pages say numbers, times and addresses. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { datesIn } from '../../src/web/explorer/dates.js';
import {
  between,
  bytes,
  counted,
  duration,
  fromNow,
  moment,
  percent,
  toldTimes,
  writeDays,
} from '../../src/web/ui/format.js';
import { hrefOf, parseRoute } from '../../src/web/ui/route.js';
import { sortedBy } from '../../src/web/ui/sort.js';

describe('numbers', () => {
  it('do not claim more than is so', () => {
    expect([percent(1), percent(0.9996), percent(0), percent(null), percent(0.5)]).toEqual([
      '100 %',
      '99.9 %',
      '0 %',
      '–',
      '50.0 %',
    ]);
  });

  it('have units that fit', () => {
    expect([0.84, 42.4, 1320, 61_000, null].map(duration)).toEqual([
      '0.8 ms',
      '42 ms',
      '1.3 s',
      '1 min 1 s',
      '–',
    ]);
    expect([0, 1023, 1536, 3 * 1024 ** 2].map(bytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '3.0 MiB']);
    expect([counted(1, 'call'), counted(1234, 'call'), counted(2, 'day')]).toEqual([
      '1 call',
      '1,234 calls',
      '2 days',
    ]);
  });

  it('of time are read from ISO, and what is no time stays as it is', () => {
    const now = Date.parse('2026-11-22T10:00:00Z');
    expect(moment('2026-11-22T09:30:12.500Z')).toBe('2026-11-22 09:30 UTC');
    expect(fromNow('2026-11-22T09:00:00Z', now)).toBe('1 h ago');
    expect(fromNow('2026-11-22T10:00:02Z', now)).toBe('just now');
    expect(fromNow('2026-11-25T14:00:00Z', now)).toBe('in 3 d 4 h');
    expect(fromNow('2027-11-22T10:00:00Z', now)).toBe('in 365 d');
    expect(fromNow('2199-01-01T00:00:00Z', now)).toBe('on 2199-01-01');
    expect(fromNow('2020-02-29T23:00:00Z', now)).toBe('on 2020-02-29');
    expect([moment('never'), fromNow('never', now)]).toEqual(['never', 'never']);
    expect(toldTimes('From 2026-11-22T09:30:12.500Z or 2026-11-22T10:00Z on, for 2026-11-20.')).toBe(
      'From 2026-11-22 09:30 UTC or 2026-11-22 10:00 UTC on, for 2026-11-20.',
    );
  });

  it('have days in the language of the reader on a page that wants it, but not in parameters', () => {
    const inIso = moment('2026-11-22T09:30Z').slice(0, 10);
    onTestFinished(() => writeDays((iso) => iso.slice(0, 10)));
    writeDays(datesIn('de').full);
    expect([inIso, moment('2026-11-22T09:30:12Z'), fromNow('2199-01-01T00:00:00Z', 0)]).toEqual([
      '2026-11-22',
      '22. Nov. 2026 09:30 UTC',
      'on 1. Jan. 2199',
    ]);
    expect(between('2026-11-22T02:00:00Z', '2026-11-22T14:00:00Z')).toBe(
      'between 22. Nov. 2026 02:00 and 14:00 UTC',
    );
    expect(
      toldTimes('From 2026-11-22T09:30Z or 2026-11-22 10:00 UTC, not 2026-11-20; dateTo=2026-11-20'),
    ).toBe('From 22. Nov. 2026 09:30 UTC or 22. Nov. 2026 10:00 UTC, not 20. Nov. 2026; dateTo=2026-11-20');
  });

  it('a period is written by the rules of the language of the reader', () => {
    const [from, to] = ['2026-10-30', '2026-11-28'];
    expect(['en-US', 'en-GB', 'de'].map((locale) => datesIn(locale).full(from, to))).toEqual([
      'Oct 30 – Nov 28, 2026',
      '30 Oct – 28 Nov 2026',
      '30. Okt. – 28. Nov. 2026',
    ]);
    expect([datesIn('en-US').full('never'), datesIn('en-US').full('2026-10-30T23:59:00Z')]).toEqual([
      'never',
      'Oct 30, 2026',
    ]);
  });
});

describe('an address', () => {
  it('leads back to what it was made of, whatever is in it', () => {
    const part = fc.string({ minLength: 1, unit: 'grapheme' });
    fc.assert(
      fc.property(
        fc.array(part),
        fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 })),
        (path, query) => {
          const route = parseRoute(hrefOf(path, query));
          expect(route.path).toEqual(path);
          expect(Object.fromEntries(route.query)).toEqual({ ...query });
        },
      ),
    );
  });

  it('that is none leads to the start, and never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseRoute(text).path.every((one) => one !== '')).toBe(true);
      }),
    );
    expect(parseRoute('#main').path).toEqual([]);
    expect(parseRoute('#/teams/%E0%A4%A').path).toEqual(['teams', '%E0%A4%A']);
  });
});

describe('sorting', () => {
  it('is by number or by word, keeps what is equal, and puts what is unknown last', () => {
    const rows = [{ v: 10 }, { v: null }, { v: 9 }, { v: 10, second: true }];
    expect(sortedBy(rows, ({ v }) => v, false)).toEqual([
      { v: 9 },
      { v: 10 },
      { v: 10, second: true },
      { v: null },
    ]);
    expect(sortedBy(rows, ({ v }) => v, true).at(-1)).toEqual({ v: null });
    expect(sortedBy(['b10', 'b9', 'a'], (text) => text, false)).toEqual(['a', 'b9', 'b10']);
  });
});
