import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesKey, dayKey, type EntryKey, rowsKey } from '../../../src/reports/query/keys.js';

const series = fc.base64String().map((text) => text.replaceAll('=', ''));
const day = fc.option(fc.constantFrom('2026-11-01', '2026-11-02', '2026-11-03'), { nil: null });
const place = fc.tuple(fc.constantFrom(rowsKey, bytesKey), series, day, day);

const placeOf = ({ series, group, field }: EntryKey) => JSON.stringify([series, group, field]);

describe('keys', () => {
  it('differ for different entries', () => {
    fc.assert(
      fc.property(place, place, ([make, ...one], [makeOther, ...other]) => {
        const same = make === makeOther && JSON.stringify(one) === JSON.stringify(other);
        const [ref, otherRef] = [make(...one), makeOther(...other)];
        expect(ref.id === otherRef.id).toBe(same);
        expect(placeOf(ref) === placeOf(otherRef)).toBe(same);
      }),
    );
  });

  it('of one series share a hash tag, so that a cluster keeps them in one slot', () => {
    fc.assert(
      fc.property(place, ([make, id, from, to]) => {
        const ref = make(id, from, to);
        expect(/\{(.*?)\}/.exec(ref.id)?.[1]).toBe(id);
        expect(ref.series).toBe(dayKey(id, '2026-11-01').series);
      }),
    );
  });

  it('of days lie together by month, in the order of the days', () => {
    expect(dayKey('abc', '2026-03-05')).toEqual({
      id: 'c5:{abc}:d:2026-03-05',
      series: 'c5:abc',
      group: '2026-03',
      field: '05',
    });
    expect(rowsKey('abc', '2026-03-01', null)).toMatchObject({ group: 'w:2026-03-01:', field: 'rows' });
  });
});
