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

export interface RunDeps {
  readonly lookUp: LookUp;
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
    results: [],
    mode,
    accept,
    degraded: false,
    compares: false,
  };
  const whole = wholeRef(question);
  await look(deps, run, mode.mode === 'days' ? [...dayRefs(question), whole] : [whole]);
  context.trace.mark('look-up');
  return run;
}

/** Adds what the store holds of some entries. */
export async function look(deps: RunDeps, run: Run, refs: readonly EntryRef[]): Promise<void> {
  const { question, context, entries } = run;
  const { found, degraded } = await deps.lookUp.read(question.report, refs, context.patience);
  entries.addFound(found, deps.now());
  run.degraded = degraded;
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
