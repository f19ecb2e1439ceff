/** What an entry may be used for: here a day's age is judged. Pure. */

import type { CacheDirectives } from '../../lib/http/cache-directives.js';
import type { Report } from '../query/canonicalize.js';
import type { EntryRef } from '../question.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Entry } from '../rows/entry.js';
import {
  ageMs,
  type FreshnessRules,
  freshForMs,
  isFinal,
  rememberedForMs,
  type State,
  stateAt,
} from '../rows/freshness.js';
import type { HeldEntry } from './entries.js';
import type { Purges } from './purges.js';

/** stale: usable at once, with a refresh behind · error-only: usable when the platform fails */
export type Grade = 'fresh' | 'stale' | 'error-only' | 'absent';

/** What entries are judged by, beside their own headers. */
export interface GradeInput {
  readonly report: Report;
  readonly directives: CacheDirectives;
  /** When the request came: `no-cache` asks for a fetch that began after it. */
  readonly arrivedAtMs: number;
  /** Generation of the kind's divisibility: days that were split under another one are void, and so are their joins. */
  readonly generation: string;
  readonly policy: Pick<ReportPolicy, 'rulesFor' | 'negativeMs'>;
  readonly purges: Pick<Purges, 'isPurged'>;
}

export function gradeOf(held: HeldEntry, ref: EntryRef, input: GradeInput): Grade {
  const { entry, source } = held;
  if (isPurged(entry, ref, input)) return 'absent';
  if (source === 'kept') return isVoid(entry, ref, input) ? 'absent' : keptGrade(held, input);
  // What a call brings is taken even if its freshness is nil; only `no-cache` insists on a later fetch.
  const isLater = source === 'own' || entry.header.fetchStartedAt >= input.arrivedAtMs;
  return input.directives.maxAgeMs === 0 && !isLater ? 'absent' : 'fresh';
}

export function isPurged(
  { header }: Entry,
  { from, to }: EntryRef,
  { report, purges }: Pick<GradeInput, 'report' | 'purges'>,
): boolean {
  const { account, accounts, endpoint } = report;
  const { seq, accounts: held } = header;
  return purges.isPurged({ seq, advertiserId: account, named: accounts, held, endpoint, from, to });
}

/** A day is looked for by one date, so an entry for more is a whole. */
function isVoid({ header }: Entry, ref: EntryRef, { generation }: GradeInput): boolean {
  if (header.form !== 'rows') return false;
  if ((header.joinedUnder ?? generation) !== generation) return true;
  return ref.isDay && header.splitFrom?.generation !== generation;
}

function keptGrade({ entry, wasThere, atMs }: HeldEntry, input: GradeInput): Grade {
  const { header } = entry;
  const { directives, arrivedAtMs, policy } = input;
  const rules = policy.rulesFor(input.report);
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

/** Whether it was fetched before its last day was final, which it would be by now. */
function isProvisionalOnly({ header }: Entry, finalOn: number | undefined, rules: FreshnessRules): boolean {
  if (finalOn === undefined || header.form === 'refusal' || isFinal(header, rules)) return false;
  // Rows of history do not become final by asking the platform, which has none.
  if (header.forgotten !== undefined) return false;
  return isFinal({ lastDay: header.lastDay, fetchedOn: finalOn }, rules);
}

function stateOf({ header }: Entry, nowMs: number, rules: FreshnessRules, negativeMs: number): State {
  if (header.form !== 'refusal') return stateAt(header, rules, nowMs);
  // From the future after a clock was set back: then it is not known how old it is.
  return Math.abs(nowMs - header.fetchedAt) < rememberedForMs(header, negativeMs) ? 'fresh' : 'absent';
}
