/** Relative changes in fixed buckets, and what they come to. Pure. */

/** At most so much, as a share of the greater value. The last is of values of different signs. */
const EDGES = [
  0, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1,
  2,
];

/** Distinct dates below which nothing is said. */
const FEWEST = 30;

export type ExpectedChange = Readonly<
  Record<string, { readonly p50: number; readonly p95: number; readonly n: number }>
>;

/** |later − now| / max(|later|, |now|); 0 for 0 → 0 */
export function relativeChange(now: number, later: number): number {
  const most = Math.max(Math.abs(now), Math.abs(later));
  return most === 0 ? 0 : Math.abs(later - now) / most;
}

export function bucketOf(change: number): number {
  const at = EDGES.findIndex((edge) => change <= edge);
  return at < 0 ? EDGES.length - 1 : at;
}

/**
 * @param counts by `<age> <bucket> <column>`
 * @returns of each column, the edge that half of the changes, and 95 % of them, do not exceed; null where none has enough
 */
export function expectedOf(counts: ReadonlyMap<string, number>, ageDays: number): ExpectedChange | null {
  const columns = new Map<string, number[]>();
  for (const [field, count] of counts) {
    const [age, bucket, ...words] = field.split(' ');
    const column = words.join(' ');
    if (Number(age) !== ageDays) continue;
    const buckets = columns.get(column) ?? EDGES.map(() => 0);
    columns.set(column, buckets);
    buckets[Number(bucket)] = count;
  }
  const expected = [...columns]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([column, buckets]) => {
      const n = buckets.reduce((sum, count) => sum + count, 0);
      return n < FEWEST
        ? []
        : [[column, { p50: edgeOf(buckets, n * 0.5), p95: edgeOf(buckets, n * 0.95), n }] as const];
    });
  return expected.length === 0 ? null : Object.fromEntries(expected);
}

function edgeOf(buckets: readonly number[], wanted: number): number {
  let sum = 0;
  for (const [at, count] of buckets.entries()) {
    sum += count;
    if (sum >= wanted) return EDGES[at] as number;
  }
  return EDGES.at(-1) as number;
}
