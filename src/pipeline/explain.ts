/** What the cache holds of a report and what answering it would cost, without asking the platform. */

import type { Learner } from '../divisibility/learn.js';
import { currentState, type Divisibility } from '../divisibility/state.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Entry } from '../report/entry.js';
import type { ExplainedEntry } from '../report/explained.js';
import { freshForMs, isFinal, rememberedForMs } from '../report/freshness.js';
import type { Format } from '../report/output-options.js';
import type { Range } from '../report/period.js';
import { buildPlatformCall } from '../report/platform-call.js';
import { questionWarnings } from '../report/warnings.js';
import { type NamedReport, parseNamed } from './ask.js';
import type { Decision } from './decide.js';
import { keptInWords, priceInWords } from './explain-words.js';
import type { Explanation } from './explanation.js';
import type { ParseQuery, Query } from './query.js';
import { dayRefs, type EntryRef, ownContext, type ReportQuestion, wholeRef } from './question.js';
import { beginRun, decideFor, isFresh, type Run, type RunDeps } from './run.js';
import type { Selections } from './select.js';

export interface ExplainOptions extends RunDeps {
  readonly parse: ParseQuery;
  readonly learner: Pick<Learner, 'status' | 'show'>;
  readonly selections: Pick<Selections, 'peek'>;
}

/**
 * @param defaultFormat of the team that would ask
 * @throws GatewayError `invalid_query` as the report call itself would
 */
export type Explain = (endpoint: string, query: string, defaultFormat?: Format) => Promise<Explanation>;

/** Of a question that was read. @returns also which accounts the entries hold that are told of */
export type ExplainAsked = (
  asked: Query,
  named: NamedReport,
) => Promise<{ readonly explanation: Explanation; readonly accounts: readonly string[] }>;

export function createExplain(options: ExplainOptions): {
  readonly explain: Explain;
  readonly explainAsked: ExplainAsked;
} {
  const { learner, policy, now } = options;

  const explainAsked: ExplainAsked = async ({ question, totals, moment }, named) => {
    const { report, series } = question;
    const looked = await look(options, question);
    const { run, decision } = looked;
    const isSelected = decision.fetches.length > 0 && (await options.selections.peek(question));
    const beside = totals === null ? null : await look(options, totals);
    const freshness = policy.rulesFor(report);
    const whole = wholeRef(question);
    const isPast = moment !== null;
    const calls = rangesOf(
      isPast ? [] : [...(isSelected ? [] : decision.fetches), ...(beside?.decision.fetches ?? [])],
    );
    const behind = rangesOf(isPast ? [] : [...decision.behind, ...(beside?.decision.behind ?? [])]);
    const because = isSelected ? 'selected from the report of all campaigns' : decision.because;
    const explanation: Explanation = {
      report: { endpoint: named.endpoint, query: named.query },
      inWords: {
        kept: keptInWords({ mode: decision.mode, because }, isPast),
        price: priceInWords(calls, behind),
      },
      price: { calls: calls.length, behind: behind.length },
      canonical: buildPlatformCall(report, report.from.iso, report.to.iso),
      series,
      key: whole.id,
      policy: {
        mode: decision.mode,
        because,
        divisibility: shown(learner.show(report), now()),
        restatementDays: freshness.restatementDays,
        staleWhileRevalidateSeconds: freshness.staleWhileRevalidateMs / 1000,
        staleIfErrorSeconds: freshness.staleIfErrorMs / 1000,
      },
      days: isByDate(report) ? explainDays(options, question, looked) : null,
      whole: decision.mode === 'days' ? null : explainEntry(options, whole, whole.to, looked),
      refusal: explainRefusal(options, decision.refusal),
      calls,
      behind,
      storeAway: run.degraded,
      passedOn: report.passedOn.map(({ name }) => name),
      warnings: [...questionWarnings(report)],
    };
    return { explanation, accounts: accountsOf(beside === null ? [looked] : [looked, beside]) };
  };

  return {
    explainAsked,
    async explain(endpoint, query, defaultFormat = 'json') {
      const named = { endpoint, query };
      return (await explainAsked(parseNamed(options.parse, named, defaultFormat), named)).explanation;
    },
  };
}

/** Accounts in entries that are told of, and in the refusal. */
function accountsOf(looks: readonly Look[]): readonly string[] {
  const entries = looks.flatMap(({ decision: { known, refusal } }) => [
    ...known.values(),
    ...(refusal === null ? [] : [refusal]),
  ]);
  return [...new Set(entries.flatMap(({ header }) => header.accounts))];
}

interface Look {
  readonly run: Run;
  readonly decision: Decision;
}

/** What a request would find, and what it would ask for: before its answer, and behind it. */
async function look(options: ExplainOptions, question: ReportQuestion): Promise<Look> {
  const run = await beginRun(options, question, ownContext('explain', options.now()), 'usual');
  return { run, decision: decideFor(options, run) };
}

/** Where the report is kept as a whole, that holds all days. */
function explainDays(options: ExplainOptions, question: ReportQuestion, looked: Look) {
  return dayRefs(question).map((ref) => {
    const date = ref.from as string;
    if (looked.decision.mode === 'days') return { date, ...explainEntry(options, ref, date, looked) };
    return { date, ...explainEntry(options, wholeRef(question), date, looked), rows: null };
  });
}

function explainRefusal(options: ExplainOptions, part: Entry | null): Explanation['refusal'] {
  if (part?.header.form !== 'refusal') return null;
  const { status, fetchedAt } = part.header;
  const leftMs =
    rememberedForMs(part.header, options.policy.negativeMs) - Math.max(0, options.now() - fetchedAt);
  return { status, ttlSeconds: Math.floor(leftMs / 1000) };
}

/** @param lastDay the day it is about, or the last of several; null when the platform chose the period */
function explainEntry(
  options: ExplainOptions,
  ref: EntryRef,
  lastDay: string | null,
  { run, decision }: Look,
): ExplainedEntry {
  const part = decision.known.get(ref.id);
  if (part === undefined) {
    return { state: 'missing', final: false, asOf: null, ageSeconds: null, ttlSeconds: null, rows: null };
  }
  const { header } = part;
  const rules = options.policy.rulesFor(run.question.report);
  const final = isFinal({ ...header, lastDay }, rules);
  const ageMs = Math.max(0, options.now() - header.fetchedAt);
  return {
    state: isFresh(options, run, part, ref) ? (final ? 'final' : 'fresh') : 'stale',
    final,
    asOf: new Date(header.fetchedAt).toISOString(),
    ageSeconds: Math.floor(ageMs / 1000),
    ttlSeconds: Math.floor((freshForMs(header, rules) - ageMs) / 1000),
    rows: header.form === 'rows' ? header.rowCount : null,
  };
}

/** As it is now, which is not always as it was written. */
function shown(known: Divisibility | null, nowMs: number): Divisibility | null {
  return known === null ? null : { ...known, state: currentState(known, nowMs) };
}

function rangesOf(fetches: Decision['fetches']): Range[] {
  return fetches.map(({ range }) => range);
}

function isByDate({ split, from, to }: CanonicalReport): boolean {
  return split.includes('date') && from.iso !== null && to.iso !== null;
}
