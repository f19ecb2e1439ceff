/** Series of `GET /admin/v1/series`. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';

export type SeriesAnswer = AnswerTo<'GET /admin/v1/series'>;
export type Series = SeriesAnswer['series'];
export type Latency = Series['latency'];
export type Range = SeriesAnswer['range'];

export const RANGES: readonly { readonly value: Range; readonly title: string }[] = [
  { value: '1h', title: '1 hour' },
  { value: '24h', title: '24 hours' },
  { value: '30d', title: '30 days' },
];

export const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Seconds since 1970 of each point. */
export function timesOf({ from, stepSeconds, points }: SeriesAnswer): number[] {
  const first = Date.parse(from) / 1000;
  return Array.from({ length: points }, (_, index) => first + index * stepSeconds);
}

/**
 * @param counts of one point or the sum of several
 * @param share 0.99 for the 99th percentile
 * @returns ms, linearly interpolated in its bin; null without counts
 */
export function percentile(
  { binsMs }: Pick<Latency, 'binsMs'>,
  counts: readonly number[],
  share: number,
): number | null {
  const total = sum(counts);
  if (total === 0) return null;
  const wanted = total * share;
  let before = 0;
  for (const [index, inBin] of counts.entries()) {
    if (before + inBin >= wanted && inBin > 0) {
      const low = index === 0 ? 0 : (binsMs[index - 1] ?? 0);
      const high = binsMs[index] ?? low;
      return low + ((wanted - before) / inBin) * (high - low);
    }
    before += inBin;
  }
  return binsMs.at(-1) ?? null;
}

/** The sum of all points. */
export function allCounts({ binsMs, counts }: Latency): number[] {
  const length = Math.max(binsMs.length, ...counts.map((one) => one.length));
  return Array.from({ length }, (_, bin) => sum(counts.map((one) => one[bin] ?? 0)));
}
