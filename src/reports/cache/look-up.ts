/** Reads the entries of a report from the store in one round trip, and grades them. */
import type { CacheDirectives } from '../../lib/http/cache-directives.js';
import type { Report } from '../query/canonicalize.js';
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
import type { RawEntry } from './entry.js';
import type { PurgeSubject, Purges } from './purges.js';
import type { CacheTier, ReadWhen } from './tier.js';

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

/** Keys per command: 400 days of 5 KB are 2 MiB. */
const KEYS_PER_READ = 400;

export function createLookUp(tier: CacheTier, purges: Pick<Purges, 'expiredAt'>, now: () => number) {
  function usable(
    report: Report,
    refs: readonly EntryRef[],
    entries: readonly (RawEntry | null)[],
  ): [string, Entry][] {
    return refs.flatMap((ref, index): [string, Entry][] => {
      const entry = entries[index] ?? null;
      if (entry === null || !isEntryHeader(entry.header)) return [];
      const part = entry as Entry;
      // Of an earlier build: whether it was truncated is unknown.
      if (part.header.form === 'rows' && part.header.answerRows === undefined) return [];
      const atMs = purges.expiredAt(subjectOf(part, ref, report));
      if (atMs === null) return [[ref.id, part]];
      if (!Number.isFinite(atMs) || part.header.form === 'refusal') return [];
      // The clock of the replica that purged may be ahead.
      const expiredAtMs = Math.min(atMs, now());
      return [[ref.id, { ...part, header: { ...part.header, expiredAtMs } }]];
    });
  }

  return {
    /** Entries that this process is writing now; does not read the store. Purged entries are absent, softly purged ones expired. */
    beingWritten: (report: Report, refs: readonly EntryRef[]): Map<string, Entry> =>
      new Map(usable(report, refs, tier.beingWritten(refs))),
    /** Purged entries, and entries of another format, are absent. @param patience nothing is read once it is spent */
    async read(
      report: Report,
      refs: readonly EntryRef[],
      patience: Patience = newPatience(),
      when?: ReadWhen,
    ): Promise<{ readonly found: Map<string, Entry>; readonly degraded: boolean }> {
      const found = new Map<string, Entry>();
      let degraded = false;
      for (let start = 0; start < refs.length; start += KEYS_PER_READ) {
        if (patience.isSpent) return { found, degraded: true };
        const chunk = refs.slice(start, start + KEYS_PER_READ);
        const read = await tier.read(chunk, when);
        degraded ||= read.degraded;
        patience.isSpent ||= read.degraded;
        for (const [id, entry] of usable(report, chunk, read.entries)) found.set(id, entry);
      }
      return { found, degraded };
    },
  };
}

/** Found days by date. */
export function daysFound(
  refs: readonly EntryRef[],
  found: ReadonlyMap<string, Entry>,
): Map<string, Entry<RowsHeader>> {
  return new Map(
    refs.flatMap(({ id, from }): [string, Entry<RowsHeader>][] => {
      const part = found.get(id);
      return part?.header.form === 'rows' ? [[from as string, part as Entry<RowsHeader>]] : [];
    }),
  );
}
