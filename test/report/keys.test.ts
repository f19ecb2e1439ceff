import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesKey, rowsKey } from '../../src/report/keys.js';

const series = fc.base64String().map((text) => text.replaceAll('=', ''));
const day = fc.option(fc.constantFrom('2026-11-01', '2026-11-02', '2026-11-03'), { nil: null });
const place = fc.tuple(fc.constantFrom(rowsKey, bytesKey), series, day, day);

describe('keys', () => {
  it('differ for different entries', () => {
    fc.assert(
      fc.property(place, place, ([make, ...one], [makeOther, ...other]) => {
        const same = make === makeOther && JSON.stringify(one) === JSON.stringify(other);
        expect(make(...one) === makeOther(...other)).toBe(same);
      }),
    );
  });

  it('of one series share a hash tag, so that a cluster keeps them in one slot', () => {
    fc.assert(
      fc.property(place, ([make, id, from, to]) => {
        expect(/\{(.*?)\}/.exec(make(id, from, to))?.[1]).toBe(id);
      }),
    );
  });
});
