/** A report, with the totals beside it where they are wanted, as an answer in the caller's form. */
import { dearest } from '../outcome.js';
import type { ReportPolicy } from '../report-policy.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import type { Answer, Source } from './answer.js';
import type { FinishedAnswers } from './finished.js';
import { finish, shapeAnswer } from './render.js';
import type { Report, ReportAnswer } from './report.js';
import type { Understood } from './understand.js';

export interface RenderOptions {
  readonly report: Report;
  readonly workerPool: Pick<WorkerPool, 'format'>;
  readonly finished: Pick<FinishedAnswers, 'keep'>;
  readonly policy: ReportPolicy;
  readonly now: () => number;
}

/** @throws GatewayError why there is no answer; `upstream_rejected` when the platform does not want the question */
export type RenderAnswer = (asked: Understood) => Promise<Answer>;

export function createRenderAnswer({
  report,
  workerPool,
  finished,
  policy,
  now,
}: RenderOptions): RenderAnswer {
  return async (asked) => {
    const { question, totals: totalsQuestion, context, shape, coding } = asked;
    const [main, totals] = await Promise.all([
      report(question, context),
      totalsQuestion === null ? null : report(totalsQuestion, context),
    ]);
    const assembled = shapeAnswer({
      report: question.report,
      shape,
      parts: main.parts,
      totals: totals?.parts[0] ?? null,
      rules: policy.freshness,
      negativeMs: policy.negativeMs,
      nowMs: now(),
    });
    const source = sourceOf(main, totals);
    const used = assembled.weight < asked.compressFrom ? 'identity' : coding;
    return {
      shown: Object.assign({ coding: used }, assembled),
      source,
      async body() {
        const made = await finish(assembled, used, main.checkFromMs, workerPool);
        if (source.storable) finished.keep(asked, made.finished, made.pieces);
        return made.finished;
      },
    };
  };
}

/** The source of a report and of its totals, as one. */
function sourceOf(main: ReportAnswer, totals: ReportAnswer | null): Source {
  const { outcome, days } = main;
  const both = totals === null ? [main] : [main, totals];
  return {
    tier: 'store',
    days,
    outcome: totals === null ? outcome : dearest([outcome, totals.outcome]),
    stored: both.some(({ stored }) => stored),
    degraded: both.some(({ degraded }) => degraded),
    storable: both.every(({ storable }) => storable),
  };
}
