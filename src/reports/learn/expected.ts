/**
 * By how much numbers of a day change until it is final, by its age: when a day is first seen final, what was said of it
 * at each age is held against that. Counted in fixed buckets, which replicas add to.
 */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import { createLastUsed } from '../../lib/last-used.js';
import type { CounterAdd, Store } from '../../store/port.js';
import type { FinalDay } from '../history/day-writes.js';
import { readContents, sumRows } from '../history/read.js';
import { believed, type Revision } from '../history/revision.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber } from '../query/days.js';
import { bucketOf, type ExpectedChange, expectedOf, relativeChange } from './change-buckets.js';
import { type Scope, scopeId, scopeOf } from './scope.js';

type ContentsStore = { readonly history: Pick<Store['history'], 'contents'> };

const KEPT_MS = 400 * 86_400_000;
/** Of how many scopes the counts are at hand, and for how long. */
const SCOPES = 1000;
const FRESH_MS = 600_000;
/** Counts that may wait; beyond it none are added. */
const MAX_WAITING = 20_000;

export function createExpected({
  store,
  timezoneOf,
  now,
  logger,
}: {
  readonly store: ContentsStore & Pick<Store, 'counters'>;
  readonly timezoneOf: (account: string | null) => string;
  readonly now: () => number;
  readonly logger: Logger;
}) {
  type Known = { readonly atMs: number; readonly counts: ReadonlyMap<string, number> };
  const known = createLastUsed<Known>(SCOPES);
  const waiting = new Map<string, CounterAdd>();
  const looking = new Set<string>();
  let batch: { readonly id: string; readonly adds: readonly CounterAdd[] } | null = null;

  function add(scope: Scope, field: string): void {
    const group = groupOf(scope);
    const key = `${group} ${field}`;
    const by = (waiting.get(key)?.by ?? 0) + 1;
    if (by > 1 || waiting.size < MAX_WAITING) waiting.set(key, { group, field, by });
  }

  /** Behind the answer; the next one has it. */
  function lookUp(scope: Scope): void {
    const group = groupOf(scope);
    if (looking.has(group)) return;
    looking.add(group);
    store.counters
      .read([group])
      .then(([counts = new Map()]) => known.set(group, { atMs: now(), counts }))
      .catch((error: unknown) => logger.debug({ err: error }, 'expected changes could not be looked up'))
      .finally(() => looking.delete(group));
  }

  return {
    /** Days of a series that were seen final for the first time. @throws StoreUnavailable */
    async note(report: Report, series: string, days: readonly FinalDay[]): Promise<void> {
      const timezone = timezoneOf(report.account);
      for (const day of days)
        for (const field of await fieldsOf(store.history, series, day, timezone)) add(scopeOf(report), field);
    },
    /** By column; null where too few days were seen, or it is not known yet: it is then looked up for the next answer. */
    of(report: Report, ageDays: number): ExpectedChange | null {
      const scope = scopeOf(report);
      const at = known.get(groupOf(scope));
      if (at === undefined || Math.abs(now() - at.atMs) > FRESH_MS) lookUp(scope);
      return at === undefined ? null : expectedOf(at.counts, ageDays);
    },
    /** What is known of one scope, by the age of a day. @throws StoreUnavailable */
    async read(scope: Scope): Promise<(ageDays: number) => ExpectedChange | null> {
      const [counts = new Map<string, number>()] = await store.counters.read([groupOf(scope)]);
      return (ageDays) => expectedOf(counts, ageDays);
    },
    /** Never rejects. */
    async flush(): Promise<void> {
      if (batch === null && waiting.size > 0) {
        batch = { id: randomId(), adds: [...waiting.values()] };
        waiting.clear();
      }
      if (batch === null) return;
      try {
        await store.counters.add(batch.id, batch.adds, [], KEPT_MS);
        batch = null;
      } catch (error) {
        logger.debug({ err: error }, 'what was learned of expected changes waits for the store');
      }
    },
  };
}

const groupOf = (scope: Scope) => `expected:${scopeId(scope)}`;

/** One field for each column and age at which the day was seen. */
async function fieldsOf(
  store: ContentsStore['history'],
  series: string,
  { date, entry, revisions }: FinalDay,
  timezone: string,
): Promise<string[]> {
  const final = revisions.at(-1) as Revision;
  const seen = believed(revisions, final.generation).filter(
    (one) => one.unconfirmed !== true && (one.schema === final.schema || one.rowCount === 0),
  );
  const others = seen.filter(({ digest }) => digest !== final.digest);
  const contents = await readContents(
    store,
    series,
    others.map((revision) => ({ day: date, revision })),
  );
  const later = await sumRows(entry);
  const fields = new Map<string, string>();
  for (const revision of seen) {
    const at = others.indexOf(revision);
    const old = at < 0 ? entry : contents[at];
    if (old === null || old === undefined) continue;
    const then = at < 0 ? later : await sumRows(old);
    const until = dayAt(revision.confirmedUntil, timezone) - (dayNumber(date) as number);
    for (let age = Math.max(0, revision.ageDays); age <= Math.min(until, final.ageDays); age += 1)
      for (const [column, value] of Object.entries(later))
        fields.set(
          `${age} ${column}`,
          `${age} ${bucketOf(relativeChange(Number(then[column] ?? 0), Number(value)))} ${column}`,
        );
  }
  return [...fields.values()];
}
