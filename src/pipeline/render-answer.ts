/** A report, with the totals beside it where they are wanted, as an answer in the caller's form. */
import type { ExpectedChange } from '../finality/change-buckets.js';
import type { Finality } from '../finality/create-finality.js';
import { dearest } from '../outcome.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { dayNumber } from '../report/days.js';
import type { Entry } from '../report/entry.js';
import { type FreshnessRules, isFinal } from '../report/freshness.js';
import type { ReportPolicy } from '../report-policy.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import type { Answer, Source } from './answer.js';
import { createColumnsSeen } from './columns-seen.js';
import type { FinishedAnswers } from './finished.js';
import { keepFinal, refuseYoung } from './keep-final.js';
import type { ReadPast } from './read-past.js';
import { finish, shapeAnswer } from './render.js';
import { answerWithoutCall, type Report, type ReportAnswer } from './report.js';
import type { Understood } from './understand.js';
import { createWithTotals } from './with-totals.js';

export interface RenderOptions {
  readonly report: Report;
  readonly workerPool: Pick<WorkerPool, 'format'>;
  readonly finished: Pick<FinishedAnswers, 'keep'>;
  readonly policy: Pick<ReportPolicy, 'negativeMs' | 'rulesFor'>;
  readonly now: () => number;
  /** What was known at past moments. */
  readonly readPast: ReadPast;
  /** Whether what is fetched of a report is written to the history. */
  readonly isRecorded: (report: CanonicalReport) => boolean;
  /** By how much days of that age change until they are final. */
  readonly expectedChange: Finality['expectedChange'];
}

/** @throws GatewayError why there is no answer; `upstream_rejected` when the platform does not want the question */
export type RenderAnswer = (asked: Understood) => Promise<Answer>;

export function createRenderAnswer(options: RenderOptions): RenderAnswer {
  const { report, workerPool, finished, policy, now } = options;
  const withTotals = createWithTotals(report, now);
  const columnsSeen = createColumnsSeen();
  return async (asked) => {
    const { question, totals: totalsQuestion, context, shape, coding, moment } = asked;
    const rules = policy.rulesFor(question.report);
    refuseYoung(asked.final, rules);
    const isNothing = asked.final?.isNothing === true;
    const past = moment === null || isNothing ? null : await options.readPast(question, moment);
    const { main, totals, areTotalsOld } =
      totalsQuestion === null || isNothing
        ? { main: isNothing ? NOTHING : (past?.answer ?? (await report(question, context))), ...NO_TOTALS }
        : await withTotals(question, totalsQuestion, context);
    const brought = {
      ...{ parts: main.parts, totals: totals?.parts[0] ?? null, areTotalsOld },
      past: past?.known ?? null,
    };
    const final = keepFinal(asked.final, question.report, brought, rules);
    const assembled = shapeAnswer({
      report: question.report,
      shape,
      ...final,
      rules,
      negativeMs: policy.negativeMs,
      nowMs: now(),
      seenColumns: columnsSeen.add(question.series, final.parts),
      isRecorded: options.isRecorded(question.report),
      expectedChange: past === null ? expectedOf(options, question.report, final.parts, rules) : null,
    });
    const source = sourceOf(main, totals);
    const used = assembled.weight < asked.compressFrom ? 'identity' : coding;
    return {
      shown: Object.assign({ coding: used }, assembled),
      source,
      async body() {
        const both = totals === null ? [main] : [main, totals];
        const madeOf = both.flatMap((one) => one.madeOf ?? []);
        const made = await finish(assembled, used, { checkFromMs: main.checkFromMs, madeOf }, workerPool);
        const mayStay = source.storable && madeOf.length === both.length;
        if (mayStay) finished.keep(asked, made.finished, made.pieces);
        return made.finished;
      },
    };
  };
}

/** Of its youngest day that is not final. */
function expectedOf(
  { expectedChange }: RenderOptions,
  report: CanonicalReport,
  parts: readonly Entry[],
  rules: FreshnessRules,
): ExpectedChange | null {
  const header = parts.findLast((part) => !isFinal(part.header, rules))?.header;
  if (header?.form !== 'rows' || header.splitFrom === null) return null;
  return expectedChange(report, header.fetchedOn - (dayNumber(header.lastDay as string) as number));
}

/** An answer of no days at all: nothing is asked for it. */
const NOTHING: ReportAnswer = { ...answerWithoutCall([]), days: null, storable: false };

const NO_TOTALS = { totals: null, areTotalsOld: false };

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
