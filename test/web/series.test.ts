/** What the console reads out of the series. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { allCounts, percentile } from '../../src/web/console/series.js';

const BINS = [1, 2, 5, 10];

it('finds percentiles within their bins', () => {
  expect(percentile({ binsMs: BINS }, [0, 0, 0, 0, 0], 0.5)).toBeNull();
  expect(percentile({ binsMs: BINS }, [10, 0, 0, 0, 0], 0.5)).toBe(0.5);
  expect(percentile({ binsMs: BINS }, [5, 5, 0, 0, 0], 1)).toBe(2);
  // Slower than the last edge: no more is known than that.
  expect(percentile({ binsMs: BINS }, [0, 0, 0, 0, 3], 0.99)).toBe(10);
});

it('never falls with the share, and stays within the bins', () => {
  const counts = fc.array(fc.nat(1000), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(counts, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (inBins, share) => {
      const [low, high] = [
        percentile({ binsMs: BINS }, inBins, share),
        percentile({ binsMs: BINS }, inBins, 1),
      ];
      if (low === null || high === null) expect(inBins.every((count) => count === 0)).toBe(true);
      else expect(low >= 0 && low <= high && high <= 10).toBe(true);
    }),
  );
});

it('adds points up, whatever their lengths', () => {
  expect(allCounts({ binsMs: [1, 2], counts: [[1, 0, 2], [3], []] })).toEqual([4, 0, 2]);
});
