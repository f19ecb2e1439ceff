/** One report under way: what it asks for, what it has in hand, and what is decided from that. */
import type { Purges } from '../cache/purges.js';
import type { Learner } from '../divisibility/learn.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import type { Entry } from '../report/entry.js';
import type { ReportPolicy } from '../report-policy.js';
import type { CrossChecks } from './cross-check.js';
import { type DecideInput, type Decision, decide } from './decide.js';
import { createEntries, type EntryStore } from './entries.js';
import type { FetchResult } from './fetch-result.js';
import { gradeOf } from './grade.js';
import type { LookUp } from './look-up.js';
import { type Mode, modeOf } from './mode.js';
import { dayRefs, type EntryRef, type ReportQuestion, type RequestContext, wholeRef } from './question.js';
import { type Basis, type Extent, isNewest, type MadeOf, type Replacements } from './replacements.js';

export interface RunDeps {
  readonly lookUp: LookUp;
  readonly replacements: Pick<Replacements, 'basisOf'>;
  readonly learner: Pick<Learner, 'status'>;
  readonly partRefusals: Pick<PartRefusals, 'wholeOnly'>;
  readonly purges: Purges;
  readonly policy: ReportPolicy;
  readonly now: () => number;
  /** Asked whether a call should bring all days of a report. */
  readonly crossChecks: Pick<CrossChecks, 'isDue'>;
}

/** One report under way. */
export interface Run {
  readonly question: ReportQuestion;
  readonly context: RequestContext;
  /** What it began under; what was split under another one is void. */
  readonly generation: string;
  readonly entries: EntryStore;
  /** The fetches that what is in hand takes into account. */
  basis: Basis;
  readonly results: FetchResult[];
  mode: Mode;
  /** What is good enough for it. */
  accept: DecideInput['accept'];
  degraded: boolean;
  /** Its calls, or those of the refresh behind it, bring all days, to be compared. */
  compares: boolean;
}

/** Looks up what is kept. @param accept what is good enough for it */
export async function beginRun(
  deps: RunDeps,
  question: ReportQuestion,
  context: RequestContext,
  accept: Run['accept'],
): Promise<Run> {
  const status = deps.learner.status(question.report);
  const mode = modeOf(question, deps.policy, status);
  const { generation } = status;
  const entries = createEntries();
  const run: Run = {
    question,
    context,
    generation,
    entries,
    basis: deps.replacements.basisOf(question.series),
    results: [],
    mode,
    accept,
    degraded: false,
    compares: false,
  };
  await look(deps, run, refsOf(run));
  context.trace.mark('look-up');
  return run;
}

function refsOf({ question, mode }: Run): readonly EntryRef[] {
  const whole = wholeRef(question);
  return mode.mode === 'days' ? [...dayRefs(question), whole] : [whole];
}

/** Adds what the store holds of some entries. */
export async function look(deps: RunDeps, run: Run, refs: readonly EntryRef[]): Promise<void> {
  const { question, context, entries } = run;
  const { found, degraded } = await deps.lookUp.read(question.report, refs, context.patience);
  entries.addFound(found, deps.now());
  run.degraded = degraded;
}

/** Each time something was replaced meanwhile. */
const READS_AGAIN = 3;

/** What was replaced since it was read is read again, so that an answer holds one state of its days. */
export async function renew(deps: RunDeps, run: Run, decision: Decision): Promise<Decision> {
  let current = decision;
  for (let times = 0; times < READS_AGAIN && !isCurrent(run, current); times += 1) {
    const { question, context } = run;
    run.basis = deps.replacements.basisOf(question.series);
    const { found } = await deps.lookUp.read(question.report, refsOf(run), context.patience);
    run.entries.addNewer(found, deps.now());
    current = decideFor(deps, run);
  }
  return current;
}

function isCurrent({ basis, question }: Run, { mode, refusal, parts }: Decision): boolean {
  if (basis.seen === basis.fetches.count) return true;
  const whole = wholeOf(question, refusal === null ? parts : [refusal]);
  const isWhole = mode === 'whole' || refusal !== null;
  return isNewest(basis, isWhole ? [whole] : (parts as readonly Entry[]).map(dayOf));
}

function dayOf({ header: { lastDay, fetchStartedAt } }: Entry): Extent {
  return { from: lastDay, to: lastDay, isWhole: false, startedAt: fetchStartedAt };
}

function wholeOf({ report: { from, to } }: ReportQuestion, parts: readonly Entry[]): Extent {
  const startedAt = Math.min(...parts.map(({ header }) => header.fetchStartedAt));
  return { from: from.iso, to: to.iso, isWhole: true, startedAt };
}

/** What an answer to the run is made of. */
export function madeOf({ basis, question }: Run, parts: readonly Entry[], isWhole: boolean): MadeOf {
  return { basis, held: [{ ...wholeOf(question, parts), isWhole }] };
}

/** @param accept in place of what is good enough for the run */
export function decideFor(deps: RunDeps, run: Run, accept = run.accept): Decision {
  const { question, context, generation, entries, mode } = run;
  const { directives, arrivedAtMs } = context;
  const mayCompare = mode.mode === 'days' && (run.accept === 'usual' || run.accept === 'fresh');
  return decide({
    question,
    mode,
    entries,
    directives,
    arrivedAtMs,
    generation,
    accept,
    policy: deps.policy,
    purges: deps.purges,
    wholeOnly: deps.partRefusals.wholeOnly(question.report),
    comparisonDue: mayCompare && deps.crossChecks.isDue(question),
  });
}

/** Whether an entry that somebody else brought meanwhile will do. */
export function isFresh(
  deps: RunDeps,
  { question, context, generation, entries }: Run,
  entry: Entry,
  ref: EntryRef,
): boolean {
  const { report } = question;
  const { directives, arrivedAtMs } = context;
  const before = entries.known.get(ref.id);
  const wasThere =
    before?.wasThere === true && before.entry.header.fetchStartedAt === entry.header.fetchStartedAt;
  const held = { entry, source: 'kept' as const, wasThere, atMs: deps.now() };
  const { policy, purges } = deps;
  const input = { report, directives, arrivedAtMs, generation, policy, purges };
  return gradeOf(held, ref, input) === 'fresh';
}
