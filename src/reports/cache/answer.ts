/** Answers a query: the report, current or from history, its totals, `_final`, and the body in the requested format. */
import { GatewayError } from '../../errors.js';
import { createLastUsed } from '../../lib/last-used.js';
import { type CacheStatus, dearest, isFromCache } from '../../outcome.js';
import { invalid } from '../../platform/interpret.js';
import type { Gateway } from '../gateway.js';
import { getReport } from '../get-report.js';
import { RANGE_REFUSED } from '../history/forgotten.js';
import { readPast } from '../history/read-past.js';
import type { DayEvidence } from '../learn/day-evidence.js';
import type { ExpectedChange } from '../learn/expected-changes.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import { type Coding, fieldFaults } from '../query/output-options.js';
import type { Query } from '../query.js';
import type { RequestContext } from '../question.js';
import { answerWithoutCall, type ReportAnswer } from '../report-answer.js';
import type { AnswerHead, AnswerInput, Assembled, AssembleInput } from '../rows/answer.js';
import { assemble, assembleBytes } from '../rows/assemble.js';
import type { BytesHeader, Entry, RefusalHeader } from '../rows/entry.js';
import { type FreshnessRules, isFinal, lacksDays, rememberedForMs } from '../rows/freshness.js';
import { settleNames } from '../rows/join-entries.js';
import { isRecalled } from '../rows/warnings.js';
import { keepFinal, refuseYoung } from './final.js';
import { type AnswerMemory, type Finished, finish } from './finished.js';
import type { MadeOf } from './replacements.js';
import { createCompareTotals, createWithTotals, NO_TOTALS } from './totals.js';

/** An answer whose body is built when it is sent. */
export interface Answer extends AnswerHead {
  readonly coding: Coding;
  readonly source: Source;
  /** Builds the body, and keeps the answer in memory if allowed. */
  readonly body: () => Promise<Finished>;
}

/** Origin of an answer. */
export interface Source extends Omit<CacheStatus, 'ttlS'> {
  /** False when the platform forbade storing it. */
  readonly storable: boolean;
  /** False without requested totals. */
  readonly isWhole: boolean;
}

export function createAnswerQuery(g: Gateway, memory: Pick<AnswerMemory, 'keep' | 'askedOf'>) {
  const { policy, now, history, evidence } = g;
  const withTotals = createWithTotals(g);
  const compareTotals = createCompareTotals();
  const columnsSeen = createColumnsSeen();

  /**
   * @param memoryKey of the answer
   * @throws GatewayError why there is no answer; `upstream_rejected` when the platform refuses the query
   */
  return async (query: Query, context: RequestContext, memoryKey: string): Promise<Answer> => {
    const { question, totals: totalsQuestion, moment, final } = query;
    refuseYoung(final, policy.rulesFor(question.report));
    const leavesNone = final?.leavesNone === true;
    const past = moment === null || leavesNone ? null : await readPast(g, question, moment);
    const { main, totals, areTotalsOld, totalsFailure } =
      totalsQuestion === null || leavesNone
        ? {
            ...NO_TOTALS,
            main: leavesNone ? NO_DAYS : (past?.answer ?? (await getReport(g, question, context))),
          }
        : await withTotals(question, totalsQuestion, context);
    const both = totals === null ? [main] : [main, totals];
    // Read now: the fetch may have found the limit of the platform's retention.
    const rules = policy.rulesFor(question.report);
    const found = { parts: main.parts, totals: totals?.parts[0] ?? null, areTotalsOld };
    const kept = keepFinal(final, question.report, { ...found, past: past?.known ?? null }, rules);
    const input = {
      report: question.report,
      ...query.shape,
      ...kept,
      totalsFailure,
      totalsApart:
        kept.totals === null
          ? []
          : await compareTotals({ report: question.report, ...kept, totals: kept.totals, rules }),
      rules,
      nowMs: now(),
      isRecorded: history.isRecorded(question.report),
      expectedChange: past === null ? expectedOf(evidence, question.report, kept.parts, rules) : null,
    };
    const seen = columnsSeen(question.series, kept.parts);
    const { body, ...head } = assembleAnswer(input, policy.negativeMs, seen);
    const coding = head.weight < query.compressFrom ? 'identity' : query.coding;
    const source = sourceOf(both, totalsFailure === null);
    const asked = memory.askedOf(question.report);
    asked.requests += 1;
    if (isFromCache(source.outcome)) asked.hits += 1;
    return {
      ...head,
      coding,
      source,
      async body() {
        const madeOf = both.map((one) => one.madeOf);
        const isKept = source.storable && isComplete(madeOf);
        const from = { checkFromMs: main.checkFromMs, madeOf: isKept ? madeOf : [], asked };
        const made = await finish(head, body(), coding, from, g.workerPool);
        if (isKept) memory.keep(memoryKey, made.finished, made.pieces);
        return made.finished;
      },
    };
  };
}

function isComplete(madeOf: readonly (MadeOf | null)[]): madeOf is readonly MadeOf[] {
  return !madeOf.includes(null);
}

/** Expected change of the youngest provisional day. */
function expectedOf(
  evidence: DayEvidence,
  report: Report,
  parts: readonly Entry[],
  rules: FreshnessRules,
): ExpectedChange | null {
  const header = parts.findLast((part) => !isFinal(part.header, rules))?.header;
  if (header?.form !== 'rows' || header.splitFrom === null) return null;
  return evidence.expectedChange(report, header.fetchedOn - (dayNumber(header.lastDay as string) as number));
}

/** Answer of `_final=only` without final days; nothing is fetched. */
const NO_DAYS: ReportAnswer = { ...answerWithoutCall([]), days: null, storable: false };

/** Combined origin of a report and its totals. @param isWhole false without requested totals, which the next request may get */
function sourceOf(all: readonly ReportAnswer[], isWhole: boolean): Source {
  const outcome = dearest(all.map(({ outcome }) => outcome));
  const [main, totals] = all;
  return {
    tier: isFromCache(outcome) ? 'store' : null,
    days: main?.days ? { ...main.days, totals: totals !== undefined && !isFromCache(totals.outcome) } : null,
    outcome,
    stored: all.some(({ stored }) => stored),
    degraded: all.some(({ degraded }) => degraded),
    storable: isWhole && all.every(({ storable }) => storable),
    isWhole,
  };
}

const MAX_SERIES = 2000;
/** Rows that each have names of their own would take unbounded memory. */
const MAX_COLUMNS = 500;

/** Columns of earlier answers: `_fields` may name a column that one answer lacks. */
function createColumnsSeen() {
  /** `last`: the list added last; days of an answer share one list. */
  const bySeries = createLastUsed<{ readonly columns: Set<string>; last: readonly string[] | null }>(
    MAX_SERIES,
  );
  /** @returns all columns seen of the series, those of `parts` included */
  return (series: string, parts: readonly Entry[]): ReadonlySet<string> => {
    const seen = bySeries.get(series) ?? { columns: new Set(), last: null };
    bySeries.set(series, seen);
    for (const { header } of parts) {
      if (header.form !== 'rows' || header.columns === seen.last) continue;
      seen.last = header.columns;
      for (const column of header.columns) if (seen.columns.size < MAX_COLUMNS) seen.columns.add(column);
    }
    return seen.columns;
  };
}

/**
 * @param negativeMs how long a refusal is cached
 * @param seenColumns of earlier answers
 * @throws GatewayError `upstream_rejected` with the platform's status, unless `raw` was requested; `invalid_query`
 */
export function assembleAnswer(
  given: AnswerInput,
  negativeMs: number,
  seenColumns: ReadonlySet<string>,
): Assembled {
  const input = { ...given, parts: settleNames(given.parts) };
  const { format, parts, totals, rules, nowMs } = input;
  const [main] = parts;
  if (main?.header.form === 'refusal') {
    if (format !== 'raw') throw rejected(main);
    if (main.header.tainted) throw invalid('the refusal contains the platform token');
    const answer = assembleBytes(main as Entry<RefusalHeader>, rules, nowMs);
    const freshUntilMs = main.header.fetchedAt + rememberedForMs(main.header, negativeMs);
    return { ...answer, freshUntilMs, stale: false };
  }
  checkFields(input, seenColumns);
  if (main?.header.form === 'bytes') return assembleBytes(main as Entry<BytesHeader>, rules, nowMs);
  if (totals?.header.form === 'refusal' && !isForgotten(input, totals.header)) throw rejected(totals);
  return assemble(input as AssembleInput);
}

/** Whether the platform refuses the totals because of days that it has forgotten: those of the rows are cached or from history. */
function isForgotten({ parts, report, rules }: AnswerInput, { status, fetchedOn }: RefusalHeader): boolean {
  if (!RANGE_REFUSED.includes(status)) return false;
  const days = report.from === null ? {} : { firstDay: report.from };
  return isRecalled(parts) || lacksDays({ ...days, lastDay: report.to, fetchedOn }, rules);
}

/** @throws GatewayError `invalid_query` for unknown columns */
function checkFields({ fields, parts }: AnswerInput, seenColumns: ReadonlySet<string>): void {
  if (fields === null) return;
  const hasBytes = parts.some(({ header }) => header.form === 'bytes');
  const columns = parts.flatMap(({ header }) => (header.form === 'rows' ? header.columns : []));
  const errors = hasBytes
    ? [
        {
          param: '_fields',
          message: 'requires rows, and the platform returns none for this report',
          help: 'Omit _fields.',
        },
      ]
    : fieldFaults(fields, [...new Set(columns)], seenColumns);
  if (errors.length === 0) return;
  const upstreamAccounts = [...new Set(parts.flatMap(({ header }) => header.accounts))];
  throw new GatewayError('invalid_query', { errors, upstreamAccounts });
}

function rejected({ header }: Entry): GatewayError {
  const { status, upstream, accounts } = header as RefusalHeader;
  return new GatewayError('upstream_rejected', { status, upstream, upstreamAccounts: accounts });
}
