/**
 * Expected changes of a day's numbers until it is final, by its age. When a day is first seen final, it is compared with its
 * earlier revisions. Counted in fixed buckets, shared by replicas.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import type { Days } from '../days/days.js';
import { sumRows } from '../history/read.js';
import type { FinalDay } from '../history/record.js';
import { type Revision, validRevisions } from '../history/revision.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber } from '../query/days.js';
import type { ReportPolicy } from '../report-policy.js';
import type { DayCounts } from './day-counts.js';
import { MAX_AGE } from './evidence.js';
import { type Scope, scopeId, scopeOf } from './scope.js';

/** The greatest change: beyond 1 the signs differ. */
const MOST = 2;
/** A bucket for no change, and these, each so much wider than the one before: its middle is within 10 % of what is in it. */
const BUCKETS = 40;
const STEP = 1.2;

/** Distinct dates required. */
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
  if (change === 0) return 0;
  return Math.max(1, Math.min(BUCKETS, Math.ceil(BUCKETS + Math.log(change / MOST) / Math.log(STEP))));
}

/** @param counts by `<age> <bucket> <column>`. @returns p50 and p95 by column; null if no column has enough dates */
export function expectedOf(counts: ReadonlyMap<string, number>, ageDays: number): ExpectedChange | null {
  const columns = new Map<string, number[]>();
  for (const [field, count] of counts) {
    const [age, bucket, ...words] = field.split(' ');
    const column = words.join(' ');
    if (Number(age) !== ageDays) continue;
    const buckets = columns.get(column) ?? Array.from({ length: BUCKETS + 1 }, () => 0);
    columns.set(column, buckets);
    buckets[Number(bucket)] = count;
  }
  const expected = [...columns]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([column, buckets]) => {
      const n = buckets.reduce((sum, count) => sum + count, 0);
      return n < FEWEST
        ? []
        : [[column, { p50: quantile(buckets, n * 0.5), p95: quantile(buckets, n * 0.95), n }] as const];
    });
  return expected.length === 0 ? null : Object.fromEntries(expected);
}

/** The middle of its bucket. */
function quantile(buckets: readonly number[], wanted: number): number {
  let sum = 0;
  const at = buckets.findIndex((count) => {
    sum += count;
    return sum >= wanted;
  });
  return at === 0 ? 0 : Number((MOST * STEP ** (at - BUCKETS - 0.5)).toPrecision(3));
}

/** Limit of scopes in memory. */
const SCOPES = 1000;
const FRESH_MS = 600_000;

interface Known {
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, number>;
  /** Computed on demand: answers ask for the same ages again. */
  readonly byAge: Map<number, ExpectedChange | null>;
}

export function createExpectedChanges({
  counts,
  days: stored,
  policy: { timezoneOf },
  clock,
  logger,
}: {
  readonly counts: Pick<DayCounts, 'add' | 'read'>;
  readonly days: Pick<Days, 'rows'>;
  readonly policy: Pick<ReportPolicy, 'timezoneOf'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}) {
  const known = createLastUsed<Known>(SCOPES);
  const reading = new Set<string>();

  async function read(group: string): Promise<ReadonlyMap<string, number>> {
    const [found = new Map<string, number>()] = await counts.read([group]);
    return found;
  }

  /** In the background, for the next answer. */
  function look(group: string): void {
    if (reading.has(group)) return;
    reading.add(group);
    read(group)
      .then((found) => known.set(group, { atMs: clock.now(), counts: found, byAge: new Map() }))
      .catch((error: unknown) => logger.debug({ err: error }, 'failed to read expected changes'))
      .finally(() => reading.delete(group));
  }

  return {
    /** Counts days of a series that were seen final for the first time. @throws StoreUnavailable */
    async note(report: Report, series: string, days: readonly FinalDay[]): Promise<void> {
      const [timezone, group] = [timezoneOf(report.account), groupOf(scopeOf(report))];
      for (const day of days)
        for (const field of await fieldsOf(stored, series, day, timezone)) counts.add(group, field);
    },
    /** By column; null without enough days, or if not read yet. */
    of(report: Report, ageDays: number): ExpectedChange | null {
      const group = groupOf(scopeOf(report));
      const at = known.get(group);
      if (at === undefined || Math.abs(clock.now() - at.atMs) > FRESH_MS) look(group);
      if (at === undefined) return null;
      const expected = at.byAge.get(ageDays) ?? expectedOf(at.counts, ageDays);
      at.byAge.set(ageDays, expected);
      return expected;
    },
    /** @returns the expected change by age. @throws StoreUnavailable */
    async read(scope: Scope): Promise<(ageDays: number) => ExpectedChange | null> {
      const found = await read(groupOf(scope));
      return (ageDays) => expectedOf(found, ageDays);
    },
  };
}

const groupOf = (scope: Scope) => `expected:${scopeId(scope)}`;

/** One field for each column and age at which the day was seen. Greater ages than {@link MAX_AGE} are never shown. */
async function fieldsOf(
  days: Pick<Days, 'rows'>,
  series: string,
  { date, entry, revisions }: FinalDay,
  timezone: string,
): Promise<string[]> {
  const final = revisions.at(-1) as Revision;
  const seen = validRevisions(revisions, final.generation).filter(
    (one) =>
      one.ageDays <= MAX_AGE &&
      one.unconfirmed !== true &&
      (one.schema === final.schema || one.rowCount === 0),
  );
  if (seen.length === 0) return [];
  const others = seen.filter(({ digest }) => digest !== final.digest);
  const rows = await days.rows(
    series,
    others.map((revision) => ({ day: date, revision })),
  );
  const later = await sumRows(entry);
  const fields = new Map<string, string>();
  for (const revision of seen) {
    const at = others.indexOf(revision);
    const old = at < 0 ? entry : rows[at];
    if (old === null || old === undefined) continue;
    const then = at < 0 ? later : await sumRows(old);
    const until = dayAt(revision.confirmedUntil, timezone) - (dayNumber(date) as number);
    for (let age = Math.max(0, revision.ageDays); age <= Math.min(until, final.ageDays, MAX_AGE); age += 1)
      for (const [column, value] of Object.entries(later))
        fields.set(
          `${age} ${column}`,
          `${age} ${bucketOf(relativeChange(Number(then[column] ?? 0), Number(value)))} ${column}`,
        );
  }
  return [...fields.values()];
}
