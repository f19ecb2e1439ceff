/** Cache state of a report, and the platform calls of an answer: `GET /gateway/v1/explain`. The platform is not called. */

import type { Static } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import type { Decision, Mode } from '../../reports/cache/decide.js';
import type { DivisibilityStatus } from '../../reports/learn/learn.js';
import { currentState, inWords } from '../../reports/learn/state.js';
import type { Format } from '../../reports/query/output-options.js';
import type { Period } from '../../reports/query/period.js';
import { buildPlatformCall } from '../../reports/query/platform-call.js';
import type { Query } from '../../reports/query.js';
import { dayRefs, type EntryRef, type ReportQuestion, wholeRef } from '../../reports/question.js';
import type { Look, Reports } from '../../reports/reports.js';
import type { Entry } from '../../reports/rows/entry.js';
import { freshForMs, isFinal, rememberedForMs } from '../../reports/rows/freshness.js';
import { questionWarnings } from '../../reports/rows/warnings.js';
import { refuseForeignAccounts } from '../../teams/policy/authorize.js';
import type {
  ExplainedEntry as EntrySchema,
  Explanation as ExplanationSchema,
  TeamExplanation as TeamExplanationSchema,
} from '../operations/cache.js';
import { type AskCall, ask, type NamedReport, parseNamed } from './ask.js';

type ExplainedEntry = Frozen<Static<typeof EntrySchema>>;
type TeamExplanation = Frozen<Static<typeof TeamExplanationSchema>>;
export type Explanation = Frozen<Static<typeof ExplanationSchema>>;

/** @returns also the accounts of the entries that are described */
async function explainQuery(g: Reports, { question, totals, moment }: Query, named: NamedReport) {
  const { learner, policy, now } = g;
  const { report, series } = question;
  const looked = await g.look(question);
  const { run, decision } = looked;
  const both = totals === null ? [looked] : [looked, await g.look(totals)];
  const isSelected = decision.fetches.length > 0 && (await g.isSelected(question));
  const isPast = moment !== null;
  const rangesOf = (select: (decision: Decision) => Decision['fetches']) =>
    isPast ? [] : both.flatMap((one) => select(one.decision).map(({ range }) => range));
  const calls = rangesOf((one) => (isSelected && one === decision ? [] : one.fetches));
  const behind = rangesOf((one) => one.behind);
  const { mode } = decision;
  const because = isSelected ? 'selected from the report of all campaigns' : decision.because;
  const whole = wholeRef(question);
  const rules = policy.rulesFor(report);
  const known = learner.show(report);
  const explanation: Explanation = {
    report: { endpoint: named.endpoint, query: named.query },
    inWords: {
      kept: isPast ? FROM_HISTORY : keptInWords({ mode, because }, learner.status(report)),
      price: priceInWords(calls, behind),
      divisibility: divisibilityInWords(g, question),
    },
    price: { calls: calls.length, behind: behind.length },
    canonical: buildPlatformCall(report, report.from, report.to),
    series,
    key: whole.id,
    policy: {
      mode,
      because,
      // The current state may differ from the stored one.
      divisibility: known === null ? null : { ...known, state: currentState(known, now()) },
      restatementDays: rules.restatementDays,
      staleWhileRevalidateSeconds: rules.staleWhileRevalidateMs / 1000,
      staleIfErrorSeconds: rules.staleIfErrorMs / 1000,
    },
    days: explainDays(g, question, looked),
    whole: mode === 'days' ? null : explainEntry(g, whole, whole.to, looked),
    refusal: explainRefusal(g, decision.refusal),
    calls,
    behind,
    storeAway: run.degraded,
    passedOn: report.passedOn.map(({ name }) => name),
    warnings: [...questionWarnings(report)],
  };
  const described = both.flatMap(({ decision: { known, refusal } }) => [
    ...known.values(),
    ...(refusal === null ? [] : [refusal]),
  ]);
  return { explanation, accounts: [...new Set(described.flatMap(({ header }) => header.accounts))] };
}

/**
 * @param defaultFormat of the team that would send the query
 * @throws GatewayError `invalid_query` as the report call itself would
 */
export async function explain(
  g: Reports,
  endpoint: string,
  query: string,
  defaultFormat: Format = 'json',
): Promise<Explanation> {
  const named = { endpoint, query };
  return (await explainQuery(g, parseNamed(g.parse, named, defaultFormat), named)).explanation;
}

/** Null for a report that is not by date. */
function explainDays(g: Reports, question: ReportQuestion, looked: Look): Explanation['days'] {
  const { split, from, to } = question.report;
  if (!split.includes('date') || from === null || to === null) return null;
  return dayRefs(question).map((ref) => {
    const date = ref.from as string;
    if (looked.decision.mode === 'days') return { date, ...explainEntry(g, ref, date, looked) };
    return { date, ...explainEntry(g, wholeRef(question), date, looked), rows: null };
  });
}

function explainRefusal(g: Reports, part: Entry | null): Explanation['refusal'] {
  if (part?.header.form !== 'refusal') return null;
  const { status, fetchedAt } = part.header;
  const leftMs = rememberedForMs(part.header, g.policy.negativeMs) - Math.max(0, g.now() - fetchedAt);
  return { status, ttlSeconds: Math.floor(leftMs / 1000) };
}

/** @param lastDay the day, or the last of several; null when the platform chose the period */
function explainEntry(g: Reports, ref: EntryRef, lastDay: string | null, looked: Look): ExplainedEntry {
  const { run, decision } = looked;
  const part = decision.known.get(ref.id);
  if (part === undefined) {
    const none = { asOf: null, ageSeconds: null, ttlSeconds: null, rows: null, purgedAt: null };
    return { state: 'missing', final: false, ...none };
  }
  const { header } = part;
  const rules = g.policy.rulesFor(run.question.report);
  const final = isFinal({ ...header, lastDay }, rules);
  const ageMs = Math.max(0, g.now() - header.fetchedAt);
  const freshMs = freshForMs(header, rules);
  const isPurged = header.expiredAtMs !== undefined && freshMs === header.expiredAtMs - header.fetchedAt;
  return {
    state: g.isFresh(looked, part, ref) ? (final ? 'final' : 'fresh') : 'stale',
    final,
    asOf: new Date(header.fetchedAt).toISOString(),
    ageSeconds: Math.floor(ageMs / 1000),
    ttlSeconds: Math.floor((freshMs - ageMs) / 1000),
    rows: header.form === 'rows' ? header.rowCount : null,
    purgedAt: isPurged ? new Date(header.expiredAtMs).toISOString() : null,
  };
}

/** Null for a report that is never split by day, or whose kind is configured. */
function divisibilityInWords(g: Reports, { report }: ReportQuestion): string | null {
  if (!report.split.includes('date') || g.learner.status(report).pinned) return null;
  return inWords(g.learner.show(report), g.now());
}

const FROM_HISTORY =
  'Answered from history alone, with the data of each day at a past moment. The cache is not used.';

function keptInWords({ mode, because }: Mode, { state, pinned }: DivisibilityStatus): string {
  if (mode === 'days')
    return `Cached by day: ${because}. Each day is kept separately, so another period costs only its missing days.`;
  const isOpen = !pinned && (state === 'unknown' || state === 'proving');
  return `Cached as one period${isOpen ? ' for now' : ''}: ${because}. Every other period and every refresh costs a platform call.`;
}

function priceInWords(before: readonly Period[], behind: readonly Period[]): string {
  const waits =
    before.length === 0
      ? 'Answering it now makes no platform call'
      : `Answering it now makes ${counted(before)}`;
  return behind.length === 0
    ? `${waits}.`
    : `${waits}. After the answer it makes ${counted(behind)}, to refresh stale data.`;
}

const MAX_NAMED = 5;

function counted(ranges: readonly Period[]): string {
  const list = ranges.slice(0, MAX_NAMED).map(showRange);
  const more = ranges.length > MAX_NAMED ? [`and ${ranges.length - MAX_NAMED} more`] : [];
  return `${ranges.length} platform ${ranges.length === 1 ? 'call' : 'calls'} (${[...list, ...more].join('; ')})`;
}

function showRange({ from, to }: Period): string {
  if (from === null && to === null) return 'period chosen by the platform';
  return from === to ? (from as string) : `${from ?? 'open'} to ${to ?? 'open'}`;
}

export async function showExplanation(g: Reports, call: AskCall): Promise<TeamExplanation> {
  const asked = await ask(g, call);
  const { explanation, accounts } = await explainQuery(g, asked, asked.named);
  // Number and age of rows are shown only for advertisers that the team may see.
  refuseForeignAccounts(asked.caller, accounts);
  call.trace.mark('answer');
  // Learned data and keys would reveal queries of other teams.
  const { series: _series, key: _key, policy, ...shown } = explanation;
  const { divisibility: _divisibility, ...own } = policy;
  const { divisibility: _words, ...inWords } = shown.inWords;
  return { ...shown, inWords, policy: own };
}
