import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chartOf, growthOf, type Sample } from './chart.js';

describe('the chart', () => {
  it('has a line in each panel for each gateway, within the picture, whatever was sampled', () => {
    const value = fc.record({
      memory: fc.double({ min: 0, max: 1e10, noNaN: true }),
      heap: fc.double({ min: 0, max: 1e10, noNaN: true }),
      outside: fc.double({ min: 0, max: 1e10, noNaN: true }),
      handles: fc.nat(100_000),
      delay: fc.double({ min: 0, max: 100, noNaN: true }),
    });
    const samples = fc
      .array(fc.tuple(value, value, value), { minLength: 1, maxLength: 20 })
      .map((all): Sample[] => all.map((values, at) => ({ at, values })));
    fc.assert(
      fc.property(samples, (given) => {
        const text = chartOf(given, 'a < b');
        expect(text.match(/<polyline /g)).toHaveLength(15);
        expect(text).toContain('a &lt; b');
        const height = Number(/viewBox="0 0 720 (\d+)"/.exec(text)?.[1]);
        for (const [, points = ''] of text.matchAll(/points="([^"]+)"/g))
          for (const [x = -1, y = -1] of points.split(' ').map((point) => point.split(',').map(Number))) {
            expect(x).toBeGreaterThan(0);
            expect(x).toBeLessThan(720);
            expect(y).toBeGreaterThan(0);
            expect(y).toBeLessThan(height);
          }
      }),
    );
  });

  it('is a picture without samples too', () => {
    expect(chartOf([], 'none')).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });
});

describe('growth', () => {
  it.each([
    ['few samples tell nothing', [1, 2, 3], 1],
    ['what came to rest', [10, 40, 50, 50, 50, 50, 50, 50], 1],
    ['what goes on growing', [10, 20, 30, 40, 50, 60, 70, 80], 70 / 30],
    ['garbage that is not collected yet', [10, 20, 30, 70, 30, 80, 90, 30], 1],
  ])('%s', (_what, values, growth) => {
    expect(growthOf(values)).toBe(growth);
  });
});
