/** What a chart draws: a time without a value is a gap, never a zero. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { alone, piecesOf, plotted, shadedParts } from '../../src/web/ui/plotted.js';

const values = fc.array(fc.option(fc.nat(100)), { minLength: 4, maxLength: 4 });
const lines = fc.array(fc.record({ values }), { minLength: 1, maxLength: 4 });
const times = [0, 1, 2, 3];

it('a stacked line is the sum of itself and those below, and has a gap where no line has a value', () => {
  fc.assert(
    fc.property(lines, fc.constant('stacked bars' as const), (all, kind) => {
      const drawn = plotted({ times, lines: all, kind });
      for (const place of all.keys())
        for (const time of times) {
          const below = all.slice(place).reduce((sum, line) => sum + (line.values[time] ?? 0), 0);
          const isEmpty = all.every((line) => line.values[time] === null);
          expect(drawn[place]?.[time]).toBe(isEmpty ? null : below);
        }
    }),
  );
});

it('lines are drawn as they are; a value of 0 stays 0', () => {
  expect(plotted({ times, lines: [{ values: [0, null, 2, 3] }] })).toEqual([[0, null, 2, 3]]);
  expect(plotted({ times, lines: [{ values: [0, null, 2, 3] }], kind: 'stacked bars' })).toEqual([
    [0, null, 2, 3],
  ]);
});

it('values that no line leads to are points', () => {
  expect(alone([1, null, 0, null, 2, 3])).toEqual([0, 2]);
  expect(alone([1, 2])).toEqual([]);
});

it('a line has its incomplete times, and the pieces to and from them, apart from the others', () => {
  expect(piecesOf([1, 2, 3, 4, 5], [false, true, true, true, false])).toEqual({
    whole: [null, 2, 3, 4, null],
    rest: [1, 2, null, 4, 5],
  });
  expect(piecesOf([1, null, 3], [true, true, false])).toEqual({
    whole: [1, null, null],
    rest: [null, null, 3],
  });
});

it('shading begins before its first time and ends after its last, so that one time alone is shaded, too', () => {
  const parts = (...marks: number[]) => shadedParts([7, 14, 21], marks.map(Boolean));
  const [start, end] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  expect(parts(0, 1, 0)).toEqual([[10.5, 17.5]]);
  expect(parts(1, 0, 1)).toEqual([
    [start, 10.5],
    [17.5, end],
  ]);
  expect(parts(0, 1, 1)).toEqual([[10.5, end]]);
  expect(parts(1, 1, 1)).toEqual([[start, end]]);
  expect([parts(0, 0, 0), parts()]).toEqual([[], []]);
});
