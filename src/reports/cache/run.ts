/** State of one report in progress: question, entries and decisions. */

import type { FetchResult } from '../fetch/fetched.js';
import type { Gateway } from '../gateway.js';
import { dayAt, dayNumber, isoDay } from '../query/days.js';
import {
  dayRef,
  dayRefs,
  type EntryRef,
  type ReportQuestion,
  type RequestContext,
  wholeRef,
} from '../question.js';
import type { Entry } from '../rows/entry.js';
import { type DecideInput, type Decision, decide, type Mode, modeOf } from './decide.js';
import { createEntries } from './entries.js';
import { gradeOf } from './look-up.js';
import { type Basis, type Extent, isNewest, type MadeOf } from './replacements.js';

export interface Run {
  readonly question: ReportQuestion;
  readonly context: RequestContext;
  /** Generation of the kind at the start; days of another one are void. */
  readonly generation: string;
  readonly entries: ReturnType<typeof createEntries>;
  /** See {@link refsBefore}. */
  readonly before: readonly EntryRef[];
  /** The fetches that the entries take into account. */
  basis: Basis;
  readonly results: FetchResult[];
  mode: Mode;
  minFreshness: DecideInput['minFreshness'];
  degraded: boolean;
  /** Its calls, or those of its refresh, fetch all days for a comparison. */
  compares: boolean;
}

/** Reads what the store has of a report. @param minFreshness what is good enough */
export async function startRun(
  g: Gateway,
  question: ReportQuestion,
  context: RequestContext,
  minFreshness: Run['minFreshness'],
): Promise<Run> {
  const status = g.learner.status(question.report);
  const mode = modeOf(question, g.policy, status);
  const run: Run = {
    question,
    context,
    mode,
    minFreshness,
    generation: status.generation,
    entries: createEntries(),
    before: mode.mode === 'days' ? refsBefore(g, question) : [],
    basis: g.replacements.basisOf(question.series),
    results: [],
    degraded: false,
    compares: false,
  };
  await look(g, run, refsOf(run));
  context.trace.mark('look-up');
  return run;
}

function refsOf({ question, mode, before }: Run): readonly EntryRef[] {
  const whole = wholeRef(question);
  return mode.mode === 'days' ? [...before, ...dayRefs(question), whole] : [whole];
}

/**
 * Days before the period that a call may refresh as well, because they were provisional a day ago. A dashboard of a longer period
 * would need them next.
 */
function refsBefore({ policy, now }: Gateway, { report, series }: ReportQuestion): readonly EntryRef[] {
  const from = dayNumber(report.from as string) as number;
  const changing = dayAt(now(), policy.timezoneOf(report.account)) - policy.rulesFor(report).restatementDays;
  const first = Math.max(changing - 1, from - policy.plan.mergeGapDays - 1);
  return Array.from({ length: Math.max(0, from - first) }, (_, at) => dayRef(series, isoDay(first + at)));
}

/** Reads entries from the store. */
export async function look(g: Gateway, run: Run, refs: readonly EntryRef[]): Promise<void> {
  const { question, context, entries } = run;
  const { found, degraded } = await g.lookUp.read(question.report, refs, context.patience);
  entries.addFound(found, g.now());
  run.degraded = degraded;
}

/** Rereads per request after concurrent replacements. */
const READS_AGAIN = 3;

/** Rereads replaced entries, so that an answer has one state of its days. */
export async function renew(g: Gateway, run: Run, decision: Decision): Promise<Decision> {
  let current = decision;
  for (let times = 0; times < READS_AGAIN && !isCurrent(run, current); times += 1) {
    const { question, context } = run;
    run.basis = g.replacements.basisOf(question.series);
    const { found } = await g.lookUp.read(question.report, refsOf(run), context.patience);
    run.entries.addNewer(found, g.now());
    current = decideFor(g, run);
  }
  const newestMs = Math.max(0, ...current.parts.map(({ header }) => header.fetchedAt));
  // What another fetch brings from here on is newer than this answer.
  g.replacements.gave(run.question.series, newestMs);
  return current;
}

function isCurrent({ basis, question }: Run, { mode, refusal, parts }: Decision): boolean {
  if (basis.seen === basis.fetches.count) return true;
  const whole = wholeOf(question, refusal === null ? parts : [refusal]);
  const isWhole = mode === 'whole' || refusal !== null;
  const days = parts.map(({ header: { lastDay, order } }) => ({
    from: lastDay,
    to: lastDay,
    isWhole: false,
    order,
  }));
  return isNewest(basis, isWhole ? [whole] : days);
}

function wholeOf({ report: { from, to } }: ReportQuestion, parts: readonly Entry[]): Extent {
  const order = Math.min(...parts.map(({ header }) => header.order));
  return { from, to, isWhole: true, order };
}

/** What an answer of these parts rests on. */
export function madeOf({ basis, question }: Run, parts: readonly Entry[], isWhole: boolean): MadeOf {
  return { basis, held: [{ ...wholeOf(question, parts), isWhole }] };
}

/** @param minFreshness in place of what is good enough for the run */
export function decideFor(g: Gateway, run: Run, minFreshness = run.minFreshness): Decision {
  const { question, context, generation, entries, mode, before } = run;
  const { directives, arrivedAtMs } = context;
  const mayCompare = mode.mode === 'days' && (run.minFreshness === 'usual' || run.minFreshness === 'fresh');
  return decide({
    question,
    mode,
    entries,
    before,
    directives,
    arrivedAtMs,
    generation,
    minFreshness,
    policy: g.policy,
    purges: g.purges,
    comparisonDue: mayCompare && g.watch.checks.callIsDue(question),
  });
}

/** Whether an entry that others fetched meanwhile is fresh enough. */
export function isFresh(
  g: Gateway,
  { question, context, generation, entries }: Run,
  entry: Entry,
  ref: EntryRef,
): boolean {
  const { report } = question;
  const { directives, arrivedAtMs } = context;
  const before = entries.known.get(ref.id);
  const wasThere = before?.wasThere === true && before.entry.header.order === entry.header.order;
  const held = { entry, source: 'kept' as const, wasThere, atMs: g.now() };
  const { policy, purges } = g;
  return gradeOf(held, ref, { report, directives, arrivedAtMs, generation, policy, purges }) === 'fresh';
}
