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

const PERIODS: Readonly<Record<Range, string>> = {
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '30d': 'last 30 days',
};

/** `Teams, last hour` */
export const inPeriod = (title: string, range: Range): string => `${title}, ${PERIODS[range]}`;

export const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Seconds since 1970 of each point. */
export function timesOf({ from, stepSeconds, points }: SeriesAnswer): number[] {
  const first = Date.parse(from) / 1000;
  return Array.from({ length: points }, (_, index) => first + index * stepSeconds);
}

/** Seconds of a bar; an hour is drawn by the minute. */
const BAR_S: Readonly<Record<Range, number>> = { '1h': 60, '24h': 3600, '30d': 86_400 };

/**
 * The same by whole hours or UTC days.
 * @returns also which of them are not whole, in words, by their start: the first may begin later, the last is running
 */
export function byBar(answer: SeriesAnswer) {
  const { range, from, stepSeconds, series } = answer;
  const barS = Math.max(stepSeconds, BAR_S[range]);
  if (barS === stepSeconds) return { ...answer, partial: new Map<number, string>() };
  const barOf = (seconds: number) => Math.floor(seconds / barS) * barS;
  const starts = timesOf(answer);
  const bars = [...new Set(starts.map(barOf))];
  const join = <T, R>(values: readonly T[], one: (some: T[]) => R) =>
    bars.map((bar) => one(values.filter((_, index) => barOf(starts[index] ?? 0) === bar)));
  const sums = (values: readonly number[]) => join(values, sum);
  const [first = 0, last = 0] = [bars[0], bars.at(-1)];
  const partial = new Map<number, string>();
  if (Date.parse(from) / 1000 > first) partial.set(first, `counted from ${from.slice(11, 16)}`);
  partial.set(last, 'not over yet');
  const { latency, queue, budgetLeft, outcomes, hitTiers } = series;
  const joined: Series = {
    requests: sums(series.requests),
    errors: sums(series.errors),
    rateLimited: sums(series.rateLimited),
    platformCalls: sums(series.platformCalls),
    platformCallsSaved: sums(series.platformCallsSaved),
    outcomes: mapMembers(outcomes, sums),
    hitTiers: mapMembers(hitTiers, sums),
    queue: join(queue, (some) => Math.max(...some)),
    budgetLeft: join(budgetLeft, (some) => {
      const known = some.filter((value) => value !== null);
      return known.length === 0 ? null : Math.min(...known);
    }),
    latency: {
      ...latency,
      counts: join(latency.counts, (counts) => allCounts({ ...latency, counts })),
      longestMs: join(latency.longestMs, (some) => Math.max(...some)),
    },
  };
  const start = new Date(first * 1000).toISOString();
  return { ...answer, from: start, stepSeconds: barS, points: bars.length, series: joined, partial };
}

const mapMembers = <T extends object>(of: T, change: (values: number[]) => number[]): T =>
  Object.fromEntries(Object.entries(of).map(([name, values]) => [name, change(values)])) as T;

/**
 * @param counts of one point or the sum of several
 * @param longestMs of these points; 0: not known
 * @param share 0.99 for the 99th percentile
 * @returns ms, linearly interpolated in its bin, at most the longest, or the lower bound of the last bin, which has no upper
 * one; null without counts
 */
export function percentile(
  { binsMs }: Pick<Latency, 'binsMs'>,
  counts: readonly number[],
  longestMs: number,
  share: number,
): number | null {
  const total = sum(counts);
  if (total === 0) return null;
  const wanted = total * share;
  const most = longestMs || (binsMs.at(-2) ?? 0);
  let before = 0;
  for (const [index, inBin] of counts.entries()) {
    if (before + inBin >= wanted && inBin > 0) {
      const low = index === 0 ? 0 : (binsMs[index - 1] ?? 0);
      const high = binsMs[index] ?? low;
      return Math.min(most, low + ((wanted - before) / inBin) * (high - low));
    }
    before += inBin;
  }
  return most;
}

/** The sum of all points. */
export function allCounts({ binsMs, counts }: Omit<Latency, 'longestMs'>): number[] {
  const length = Math.max(binsMs.length, ...counts.map((one) => one.length));
  return Array.from({ length }, (_, bin) => sum(counts.map((one) => one[bin] ?? 0)));
}
