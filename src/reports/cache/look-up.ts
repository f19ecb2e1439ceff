/** Reads the entries of a report from the store in one round trip, and grades them. */
import type { Logger } from 'pino';
import type { CacheDirectives } from '../../lib/http/cache-directives.js';
import type { Count } from '../../telemetry/counters.js';
import { createOutage } from '../../telemetry/outage.js';
import type { Days } from '../days/days.js';
import type { ReadWhen } from '../days/read-days.js';
import type { Report } from '../query/canonicalize.js';
import type { EntryKey } from '../query/platform-call.js';
import { type EntryRef, newPatience, type Patience } from '../question.js';
import type { ReportPolicy } from '../report-policy.js';
import { type Entry, isEntryHeader, type RowsHeader } from '../rows/entry.js';
import {
  ageMs,
  type FreshnessRules,
  freshForMs,
  isCut,
  isFinal,
  lacksDays,
  rememberedForMs,
  type State,
  stateAt,
} from '../rows/freshness.js';
import type { HeldEntry } from './entries.js';
import type { PurgeSubject, Purges } from './purges.js';
import type { CacheTier } from './tier.js';

/** stale: usable now, with a background refresh · error-only: usable if the platform fails */
export type Grade = 'fresh' | 'stale' | 'error-only' | 'absent';

/** Inputs of grading, besides the entry's header. */
export interface GradeInput {
  readonly report: Report;
  readonly directives: CacheDirectives;
  /** Arrival of the request: `no-cache` needs a fetch that began later. */
  readonly arrivedAtMs: number;
  /** Generation of the kind; days of another one, and their joins, are void. */
  readonly generation: string;
  readonly policy: Pick<ReportPolicy, 'rulesFor' | 'negativeMs'>;
  readonly purges: Pick<Purges, 'isPurged'>;
}

export function gradeOf(held: HeldEntry, ref: EntryRef, input: GradeInput): Grade {
  const { entry, source } = held;
  if (input.purges.isPurged(subjectOf(entry, ref, input.report))) return 'absent';
  const rules = input.policy.rulesFor(input.report);
  if (isCut(entry.header, rules)) return 'absent';
  if (source === 'kept') return isVoid(entry, ref, input) ? 'absent' : keptGrade(held, input, rules);
  // Fetched entries are used even with zero freshness; only `no-cache` needs a later fetch.
  const isLater = source === 'own' || entry.header.fetchStartedAt >= input.arrivedAtMs;
  return input.directives.maxAgeMs === 0 && !isLater ? 'absent' : 'fresh';
}

/** What a purge is compared with. */
export function subjectOf(
  { header: { seq, accounts: held } }: { readonly header: Pick<Entry['header'], 'seq' | 'accounts'> },
  { from, to }: Pick<EntryRef, 'from' | 'to'>,
  { account, accounts, endpoint }: Report,
): PurgeSubject {
  return { seq, advertiserId: account, named: accounts, held, endpoint, from, to };
}

/** Void: split or joined under another generation. */
function isVoid({ header }: Entry, ref: EntryRef, { generation }: GradeInput): boolean {
  if (header.form !== 'rows') return false;
  if ((header.joinedUnder ?? generation) !== generation) return true;
  return ref.isDay && header.splitFrom?.generation !== generation;
}

function keptGrade({ entry, wasThere, atMs }: HeldEntry, input: GradeInput, rules: FreshnessRules): Grade {
  const { header } = entry;
  const { directives, arrivedAtMs, policy } = input;
  const age = ageMs(header.fetchedAt, atMs);
  const state = stateOf(entry, atMs, rules, policy.negativeMs);
  if (state === 'absent') return 'absent';
  const fallback = header.form === 'refusal' ? 'absent' : 'error-only';
  if (directives.maxAgeMs === 0)
    return header.fetchStartedAt >= arrivedAtMs && !wasThere ? 'fresh' : fallback;
  if (isProvisionalOnly(entry, directives.finalOn, rules)) return fallback;
  if (directives.maxAgeMs !== null && age > directives.maxAgeMs) return fallback;
  if (state === 'fresh') return 'fresh';
  if (state === 'revalidate') return 'stale';
  const staleMs = age - freshForMs(header, rules);
  return directives.maxStaleMs !== null && staleMs <= directives.maxStaleMs ? 'stale' : 'error-only';
}

/** Whether it was fetched before its last day was final, and that day is final now. */
function isProvisionalOnly({ header }: Entry, finalOn: number | undefined, rules: FreshnessRules): boolean {
  if (finalOn === undefined || header.form === 'refusal' || isFinal(header, rules)) return false;
  // Rows from history do not become final by a fetch: the platform has none. Flawed ones are fetched again soon anyway.
  if ((header.forgotten ?? header.flaws) !== undefined || lacksDays(header, rules)) return false;
  return isFinal({ lastDay: header.lastDay, fetchedOn: finalOn }, rules);
}

function stateOf({ header }: Entry, nowMs: number, rules: FreshnessRules, negativeMs: number): State {
  if (header.form !== 'refusal') return stateAt(header, rules, nowMs);
  // Absolute difference: after a clock was set back, the age of a future entry is unknown.
  return Math.abs(nowMs - header.fetchedAt) < rememberedForMs(header, negativeMs) ? 'fresh' : 'absent';
}

interface Found {
  /** By id. */
  readonly found: ReadonlyMap<string, Entry>;
  /** Whether the store failed. */
  readonly degraded: boolean;
}

interface ReadOfStore extends Pick<Found, 'found'> {
  /** Why the store failed; null: it did not. */
  readonly fault: unknown;
}

interface LookUpOptions {
  readonly tier: CacheTier;
  readonly days: Pick<Days, 'read' | 'beingWritten'>;
  readonly purges: Pick<Purges, 'expiredAt'>;
  readonly now: () => number;
  readonly count: Count;
  readonly logger: Logger;
}

export function createLookUp({ tier, days, purges, now, count, logger }: LookUpOptions) {
  const reads = createOutage({
    logger,
    counted: 'requests',
    lasts: 'the store cannot be read: reports come from memory and from the platform',
    over: 'reports are read from the store again',
  });

  /** Without purged entries; softly purged ones are expired. */
  function usable(
    report: Report,
    refs: readonly EntryRef[],
    entries: ReadonlyMap<string, Entry>,
  ): Map<string, Entry> {
    const found = new Map<string, Entry>();
    for (const ref of refs) {
      const entry = entries.get(ref.id);
      if (entry === undefined) continue;
      const atMs = purges.expiredAt(subjectOf(entry, ref, report));
      if (atMs === null) found.set(ref.id, entry);
      else if (Number.isFinite(atMs) && entry.header.form !== 'refusal') {
        // The clock of the replica that purged may be ahead.
        const expiredAtMs = Math.min(atMs, now());
        found.set(ref.id, { ...entry, header: { ...entry.header, expiredAtMs } });
      }
    }
    return found;
  }

  async function readWhole(refs: readonly WholeRef[], when: ReadWhen): Promise<ReadOfStore> {
    const { entries, fault } = await tier.read(
      refs.map(({ key }) => key),
      when,
    );
    const found = refs.flatMap(({ id }, at): [string, Entry][] => {
      const entry = entries[at] ?? null;
      return entry !== null && isEntryHeader(entry.header) ? [[id, entry as Entry]] : [];
    });
    return { found: new Map(found), fault };
  }

  async function readDays(refs: readonly EntryRef[], when: ReadWhen): Promise<ReadOfStore> {
    const { series } = refs[0] as EntryRef;
    const dates = refs.map(({ from }) => from as string);
    try {
      return { found: await days.read(series, dates, when), fault: null };
    } catch (fault) {
      count('store_faults', { kind: 'unavailable' });
      return { found: days.beingWritten(series, dates), fault };
    }
  }

  return {
    usable,
    /** Entries that this process is writing now; does not read the store. Purged entries are absent, softly purged ones expired. */
    beingWritten(report: Report, refs: readonly EntryRef[]): Map<string, Entry> {
      const [first] = refs;
      if (first === undefined) return new Map();
      const dates = refs.flatMap(({ isDay, from }) => (isDay ? [from as string] : []));
      const entries = new Map<string, Entry>(days.beingWritten(first.series, dates));
      for (const { id, key } of refs) {
        const entry = key === null ? null : tier.beingWritten(key);
        if (entry !== null) entries.set(id, entry as unknown as Entry);
      }
      return usable(report, refs, entries);
    },
    /** @param refs of one series. @param patience nothing is read once it is spent */
    async read(
      report: Report,
      refs: readonly EntryRef[],
      patience: Patience = newPatience(),
      when: ReadWhen = {},
    ): Promise<Found> {
      if (refs.length === 0) return { found: new Map(), degraded: false };
      if (patience.isSpent) return { found: new Map(), degraded: true };
      const [byDay, whole] = [refs.filter(({ isDay }) => isDay), refs.filter(isWhole)];
      const none = { found: new Map<string, Entry>(), fault: null };
      const [days, rest] = await Promise.all([
        byDay.length === 0 ? none : readDays(byDay, when),
        whole.length === 0 ? none : readWhole(whole, when),
      ]);
      const fault = days.fault ?? rest.fault;
      const degraded = fault !== null;
      // Its request reads no more: it is counted once.
      if (degraded) reads.failed({ err: fault });
      else reads.worked();
      patience.isSpent ||= degraded;
      return { found: usable(report, refs, new Map([...days.found, ...rest.found])), degraded };
    },
  };
}

type WholeRef = EntryRef & { readonly key: EntryKey };
const isWhole = (ref: EntryRef): ref is WholeRef => ref.key !== null;

/** Found days by date. */
export function daysFound(
  refs: readonly EntryRef[],
  found: ReadonlyMap<string, Entry>,
): Map<string, Entry<RowsHeader>> {
  return new Map(
    refs.flatMap(({ id }): [string, Entry<RowsHeader>][] => {
      const part = found.get(id);
      return part?.header.form === 'rows' ? [[id, part as Entry<RowsHeader>]] : [];
    }),
  );
}
