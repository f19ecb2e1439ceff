/**
 * Finality of days: for how long numbers change is learned behind answers, shown and, where the settings say so, used for
 * freshness. Observations go to one document a scope, which all replicas share; a window that comes out of it goes to the registry.
 */
import type { Logger } from 'pino';
import type { Config } from '../../config/load.js';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { repeat } from '../../lib/repeat.js';
import type { CounterAdd, Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import type { DayObservation, FinalDay } from '../history/day-writes.js';
import { readContents, sumRows } from '../history/read.js';
import { believed, type Revision } from '../history/revision.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber } from '../query/days.js';
import { configuredRules, type ReportPolicy } from '../report-policy.js';
import {
  type AgeCount,
  countAges,
  decodeEvidence,
  type Evidence,
  encodeEvidence,
  evidenceOf,
  forget,
  includes,
  merge,
  NO_EVIDENCE,
  observationOf,
} from './evidence.js';
import { percentAtMost, type Scope, scopeId, scopeOf, scopesWith } from './scope.js';
import { createRules, createWindows, isSameWindow, type Window, type Windows, windowOf } from './windows.js';

// Relative changes in fixed buckets, and what they come to. Pure.

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

// By how much numbers of a day change until it is final, by its age: when a day is first seen final, what was said of it
// at each age is held against that. Counted in fixed buckets, which replicas add to.

type ContentsStore = { readonly history: Pick<Store['history'], 'contents'> };

const VIEWS_KEPT_MS = 400 * 86_400_000;
/** Of how many scopes the counts are at hand, and for how long. */
const SCOPES = 1000;
const FRESH_MS = 600_000;
/** Counts that may wait; beyond it none are added. */
const MAX_WAITING = 20_000;

function createExpected({
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
        await store.counters.add(batch.id, batch.adds, [], VIEWS_KEPT_MS);
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

/** lost: of scopes that there was no room for. */
type FinalityEvent = 'changed' | 'widened' | 'narrowed' | 'lost';

export interface FinalityOptions {
  readonly config: Pick<Config, 'finality' | 'history' | 'report'>;
  readonly policy: ReportPolicy;
  readonly registry: Registry;
  readonly store: Pick<Store, 'counters' | 'documents' | 'history'>;
  readonly metrics: { finality(event: FinalityEvent, count: number): void };
  readonly clock: Pick<Clock, 'now'>;
  /** Work behind an answer; told of what fails. */
  readonly background: (work: Promise<unknown>) => void;
  readonly logger: Logger;
}

/** What is known of one scope, as it is shown. */
interface ScopeFinality {
  readonly scope: Scope;
  /** By which days are final now. */
  readonly windowDays: number;
  /** Null where nothing was observed. */
  readonly learnedDays: number | null;
  readonly settledFromDays: number | null;
  /** Epoch milliseconds. */
  readonly observedSince: number | null;
  readonly ages: readonly (AgeCount & { readonly changedPercentAtMost: number })[];
}

export type Finality = ReturnType<typeof createFinality>;

const APPROXIMATE =
  'Bounds are those of independent days with 95 %; days are not independent, and what nobody asks for again is not seen to change.';
const FLUSH_EVERY_MS = 30_000;
const DAY_MS = 86_400_000;
const KEPT_MS = 500 * DAY_MS;

export function createFinality(options: FinalityOptions) {
  const { config, policy, store, registry, logger } = options;
  const { now } = options.clock;
  const onEvent = options.metrics.finality;
  const { mode, maxDays } = config.finality;
  const { restatementDays } = config.report;
  const windows = createWindows(registry);
  const rules = createRules({ mode, maxDays, base: configuredRules(config), windows });
  const today = () => Math.floor(now() / DAY_MS);
  const windowNow = (evidence: Evidence) => windowOf(evidence, { restatementDays, maxDays }, today());
  const shareWindow = createShareWindow({ windows, rules, restatementDays, onEvent, logger });
  const tallies = createSharedTallies<Scope, Evidence>({
    ...{ documents: store.documents, everyMs: FLUSH_EVERY_MS, ttlMs: KEPT_MS },
    ...{ decode: decodeEvidence, encode: encodeEvidence, none: NO_EVIDENCE, merge },
    documentOf: (scope) => `finality:${scopeId(scope)}`,
    keep: (all) => forget(all, today()),
    onWritten: (scope, all) => shareWindow(scope, all.since, windowNow(all)),
    onAway: (error) => logger.warn({ err: error }, 'what was learned of finality waits for the store'),
  });
  const expected = createExpected({ store, logger, now, timezoneOf: policy.timezoneOf });
  const flushes = repeat(FLUSH_EVERY_MS, expected.flush);

  const off = config.history.enabled ? null : 'history.enabled is false.';
  if (mode !== 'fixed' && off !== null)
    logger.warn(`finality is not learned, for no history is kept: ${off}`);
  const notLearned = mode === 'fixed' ? 'finality.mode is fixed.' : off;
  return {
    rulesFor: rules.rulesFor,
    stampOf: rules.stampOf,
    /** Told of every look at days that history knows, behind the answer. */
    observed(report: Report, sights: readonly DayObservation[]): void {
      if (mode === 'fixed') return;
      const timezone = policy.timezoneOf(report.account);
      const observations = sights.flatMap((sight) => observationOf(sight, timezone) ?? []);
      const evidence = observations.reduce((sum, one) => merge(sum, evidenceOf(one)), NO_EVIDENCE);
      const scope = scopeOf(report);
      if (evidence.dates.size === 0 || includes(tallies.known(scope) ?? NO_EVIDENCE, evidence)) return;
      onEvent('changed', observations.filter(({ changed, ageThen }) => changed && ageThen > 0).length);
      // At once: a late change makes days provisional that were final a moment ago.
      rules.widen(scope, windowNow(evidence).days);
      if (!tallies.add(scope, evidence)) onEvent('lost', 1);
    },
    /** Told of days that were seen final for the first time, behind the answer. */
    finalized(report: Report, series: string, days: readonly FinalDay[]): void {
      if (mode !== 'fixed' && days.length > 0) options.background(expected.note(report, series, days));
    },
    /** By how much numbers of days of that age change until they are final; null where that cannot be said yet. */
    expectedChange: (report: Report, ageDays: number) =>
      mode === 'fixed' ? null : expected.of(report, ageDays),
    /** The same of one scope, by the age of a day. @throws StoreUnavailable */
    readChanges: expected.read,
    /** @throws StoreUnavailable */
    async read(scope: Scope): Promise<ScopeFinality> {
      const evidence = await tallies.read(scope);
      const known = windows.get(scope);
      return {
        scope,
        windowDays: rules.rulesOf(scope).restatementDays,
        learnedDays: known?.days ?? null,
        settledFromDays: known?.settledFrom ?? null,
        observedSince: evidence.dates.size === 0 ? null : evidence.since,
        ages: countAges(evidence).map((age) => ({
          ...age,
          changedPercentAtMost: percentAtMost(age.changed, age.n),
        })),
      };
    },
    /** Of which something was learned, of one advertiser. */
    scopesOf: (account: string): readonly Scope[] =>
      scopesWith(windows.list(), tallies.unwritten()).filter((one) => one.account === account),
    /** What holds for all of it. */
    about: {
      ...{ mode, maxDays, restatementDays, approximate: APPROXIMATE },
      ...(notLearned === null ? {} : { notLearned }),
    },
    /** Writes down what was learned so far. Never rejects. */
    async flush(): Promise<void> {
      await Promise.all([tallies.flush(), expected.flush()]);
    },
    async close(): Promise<void> {
      await flushes.stop();
      await Promise.all([tallies.close(), expected.flush()]);
    },
  };
}

function createShareWindow({
  windows,
  rules,
  restatementDays,
  onEvent,
  logger,
}: {
  readonly windows: Windows;
  readonly rules: Pick<ReturnType<typeof createRules>, 'shared'>;
  readonly restatementDays: number;
  readonly onEvent: FinalityOptions['metrics']['finality'];
  readonly logger: Logger;
}) {
  /** Shares the window that comes out of the evidence of all, where it is another. */
  return async function shareWindow(scope: Scope, since: number, window: Window): Promise<void> {
    const before = windows.get(scope);
    if (before === null || !isSameWindow(before, window)) await windows.put(scope, since, window);
    const after = windows.get(scope);
    if (after === null) return onEvent('lost', 1);
    rules.shared(scope, after.days);
    const was = before?.days ?? restatementDays;
    if (was === after.days) return;
    onEvent(after.days > was ? 'widened' : 'narrowed', 1);
    const { endpoint, split, account } = scope;
    logger.info(
      { endpoint, split, advertiserId: account, before: was, after: after.days },
      'days were seen to change for a longer, or a shorter, time than before; finality.mode says whether freshness goes by it',
    );
  };
}
