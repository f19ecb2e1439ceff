/** Reports as the API sees them: what is shown of them, and no locks, calls or caps. */
import type { Base } from './base.js';
import type { Decision } from './cache/decide.js';
import { decideFor, isFresh, type Run, startRun } from './cache/run.js';
import { selectFromAll } from './fetch/select.js';
import type { Cache, Gateway, Learned } from './gateway.js';
import { getReport } from './get-report.js';
import type { createPins, TeamLives } from './history/pins.js';
import { readPast } from './history/read-past.js';
import type { Moment } from './history/revision.js';
import type { Prover } from './learn/prove-kind.js';
import type { Report } from './query/canonicalize.js';
import { backgroundContext, type EntryRef, type ReportQuestion, type RequestContext } from './question.js';
import type { Entry } from './rows/entry.js';
import type { Watches } from './watches/watches.js';

/** What a request would find in the cache, and would fetch. */
export interface Look {
  readonly run: Run;
  readonly decision: Decision;
}

interface Shown
  extends Omit<Base, 'config' | 'count' | 'logger'>,
    Pick<Cache, 'history' | 'workerPool'>,
    Pick<Learned, 'learner' | 'evidence' | 'advertisers'> {}

interface OfTeams {
  readonly pins: ReturnType<typeof createPins>;
  /** Existing and deleted teams. */
  readonly lives: TeamLives;
  readonly prover: Pick<Prover, 'asked'>;
  readonly watches: Pick<Watches, 'book' | 'lastReads' | 'judge' | 'show'>;
}

export type Reports = ReturnType<typeof createReports>;

export function createReports(g: Gateway, ofTeams: OfTeams) {
  const { now, policy, canonical, admit, parse, background, history, workerPool } = g;
  const { learner, evidence, advertisers } = g;
  const shown: Shown = {
    now,
    policy,
    canonical,
    admit,
    parse,
    background,
    history,
    workerPool,
    learner,
    evidence,
    advertisers,
  };
  return {
    ...shown,
    ...ofTeams,
    /** As a request would be answered; it may call the platform. */
    read: (question: ReportQuestion, context: RequestContext) => getReport(g, question, context),
    /** As it was known at a past moment. */
    readPast: (question: ReportQuestion, moment: Moment) => readPast(g, question, moment),
    /** What is cached under these keys. */
    cached: async (report: Report, refs: readonly EntryRef[]) => (await g.lookUp.read(report, refs)).found,
    /** Calls nothing. */
    async look(question: ReportQuestion): Promise<Look> {
      const run = await startRun(g, question, backgroundContext('explain', now()), 'usual');
      return { run, decision: decideFor(g, run) };
    },
    isFresh: ({ run }: Look, entry: Entry, ref: EntryRef) => isFresh(g, run, entry, ref),
    /** Whether it would be selected from the report of all campaigns. */
    isSelected: async (question: ReportQuestion) =>
      (await selectFromAll(g, question, backgroundContext('explain', now()))) !== null,
  };
}
