/** What the console reads out of the series. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { allCounts, byBar, percentile, type SeriesAnswer } from '../../src/web/console/series.js';

const BINS = [1, 2, 5, 10];

it('finds percentiles within their bins, never above the longest request', () => {
  expect(percentile({ binsMs: BINS }, [0, 0, 0, 0, 0], 0, 0.5)).toBeNull();
  expect(percentile({ binsMs: BINS }, [10, 0, 0, 0, 0], 1, 0.5)).toBe(0.5);
  expect(percentile({ binsMs: BINS }, [5, 5, 0, 0, 0], 2, 1)).toBe(2);
  expect(percentile({ binsMs: BINS }, [0, 0, 3, 0], 3, 0.99)).toBe(3);
  expect(percentile({ binsMs: BINS }, [0, 0, 0, 3], 31, 0.5)).toBe(7.5);
  // The last bin has no upper bound: without the longest no more is known than its lower one.
  expect(percentile({ binsMs: BINS }, [0, 0, 0, 3], 0, 0.99)).toBe(5);
});

it('never falls with the share, and stays within the bins', () => {
  const counts = fc.array(fc.nat(1000), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(counts, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (inBins, share) => {
      const [low, high] = [
        percentile({ binsMs: BINS }, inBins, 8, share),
        percentile({ binsMs: BINS }, inBins, 8, 1),
      ];
      if (low === null || high === null) expect(inBins.every((count) => count === 0)).toBe(true);
      else expect(low >= 0 && low <= high && high <= 8).toBe(true);
    }),
  );
});

it('adds points up, whatever their lengths', () => {
  expect(allCounts({ binsMs: [1, 2], counts: [[1, 0, 2], [3], []] })).toEqual([4, 0, 2]);
});

/** Hours of a month that begins at 02:00 of its first day, with a request in each. */
function month(points: number): SeriesAnswer {
  const ones = Array.from({ length: points }, () => 1);
  const none = ones.map(() => 0);
  return {
    range: '30d',
    from: '2026-11-01T02:00:00.000Z',
    to: new Date(Date.parse('2026-11-01T02:00:00.000Z') + points * 3_600_000).toISOString(),
    stepSeconds: 3600,
    points,
    series: {
      requests: ones,
      errors: none,
      rateLimited: none,
      outcomes: {
        ...{ hit: ones, stale: none, 'stale-if-error': none, miss: none, refresh: none, collapsed: none },
        ...{ failed: none, other: none },
      },
      hitTiers: { memory: ones, store: none },
      platformCalls: none,
      platformCallsSaved: ones,
      queue: ones.map((_, at) => at),
      budgetLeft: ones.map((_, at) => (at < 30 ? null : 1000 - at)),
      latency: { binsMs: BINS, counts: ones.map(() => [1, 0, 2]), longestMs: ones.map((_, at) => at) },
    },
  };
}

it('draws a month by UTC days, with the same sums, and names the days that are not whole', () => {
  const shown = byBar(month(22 + 24 + 5));
  expect([shown.from, shown.stepSeconds, shown.points]).toEqual(['2026-11-01T00:00:00.000Z', 86_400, 3]);
  expect(shown.series.requests).toEqual([22, 24, 5]);
  expect(shown.series.outcomes.hit).toEqual([22, 24, 5]);
  expect(shown.series.queue).toEqual([21, 45, 50]);
  expect(shown.series.budgetLeft).toEqual([null, 955, 950]);
  expect(shown.series.latency.counts[1]).toEqual([24, 0, 48, 0]);
  expect(shown.series.latency.longestMs).toEqual([21, 45, 50]);
  const days = ['2026-11-01', '2026-11-03'].map((day) => Date.parse(day) / 1000);
  expect([...shown.partial]).toEqual([
    [days[0], 'counted from 02:00'],
    [days[1], 'not over yet'],
  ]);
});

it('draws a day by the hour and an hour by the minute', () => {
  const day = byBar({ ...month(24), range: '24h', stepSeconds: 300 });
  expect([day.stepSeconds, day.series.requests]).toEqual([3600, [12, 12]]);
  expect([...day.partial.values()]).toEqual(['not over yet']);
  const hour = byBar({ ...month(60), range: '1h', stepSeconds: 60 });
  expect([hour.stepSeconds, hour.points, hour.partial.size]).toEqual([60, 60, 0]);
});
