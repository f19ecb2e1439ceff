/**
 * Learns from new answers in the background. Answers that agree and share an end, as those of a dashboard do, prove nothing: one
 * range with other ends is fetched. While reports of their kind are on probation (see state.ts), compares a whole answer with the
 * join of its days, and fetches days that the join lacks.
 */
import { createLastUsed } from '../../lib/last-used.js';
import type { DayRange, PlanRules } from '../cache/plan.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import {
  compareDays,
  type DayPair,
  type Days,
  daysByDate,
  type FetchDays,
  type FetchRange,
  independentOf,
  isComparable,
} from './compare-days.js';
import { type Comparison, type Learner, MAX_KINDS } from './learn.js';
import {
  isNewTrial,
  NEEDED_DAYS,
  NEEDED_TRIALS,
  piecesToTry,
  rangeToTry,
  TRIAL_DAYS_WITH_ROWS,
} from './state.js';

export interface TryKindOptions {
  readonly learner: Learner;
  readonly fetchDays: FetchDays;
  readonly policy: Pick<ReportPolicy, 'rulesFor' | 'plan'>;
}

/** Calls that a kind costs before its probation, so that a platform that does not confirm costs no more. */
const MAX_PROOFS = 3;

/** Call for every split answer, with the earlier entries of its days as `known`. */
export type LearnFrom = (news: Comparison) => Promise<void>;

export function createLearnFrom({ learner, fetchDays, policy }: TryKindOptions): LearnFrom {
  const { rulesFor, plan } = policy;
  /**
   * Waiting answers by kind. One trial of a kind runs at a time, because trials cost calls; a few others wait, so that quick
   * answers end a probation even with a slow store.
   */
  const waiting = new Map<string, Comparison[]>();
  const prove = createProof(learner, plan);

  return async function learnFrom(news) {
    const fetch: FetchRange = (from, to) => fetchDays(news, from, to);
    const { verdict, shared } = await learner.compare(news, fetch);
    const { id } = learner.status(news.report);
    if (verdict === 'same' && shared.length >= NEEDED_DAYS) await prove(news, shared, fetch);
    if (verdict !== 'same' || !isOnProbation(news)) return;
    const others = waiting.get(id);
    if (others !== undefined) {
      if (others.length < NEEDED_TRIALS - 1) others.push(news);
      return;
    }
    const queue = [news];
    waiting.set(id, queue);
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await tryAnswer(next);
    } finally {
      waiting.delete(id);
    }
  };

  function isOnProbation({ report }: Comparison): boolean {
    const { pinned, state } = learner.status(report);
    return !pinned && state === 'probation';
  }

  async function tryAnswer(news: Comparison): Promise<void> {
    if (!isOnProbation(news)) return;
    const { generation } = learner.status(news.report);
    const isOfUse = (entry: Entry<RowsHeader>) => isComparable(entry, generation, rulesFor(news.report));
    const finals = news.fresh.filter(isOfUse).map(dayOf);
    const [from, to] = [finals[0], finals.at(-1)];
    if (from === undefined || to === undefined) return;
    await tryRange(news, { from, to }, (first, last) => fetchDays(news, first, last));
  }

  async function tryRange(news: Comparison, answered: DayRange, fetch: FetchRange): Promise<void> {
    const before = learner.show(news.report)?.trials ?? [];
    const range = rangeToTry(before, answered);
    const trial = { from: isoDay(range.from), to: isoDay(range.to), days: range.to - range.from + 1 };
    if (trial.days > plan.maxDaysPerCall || !isNewTrial(before, trial)) return;
    const whole = await wholeOf(news, answered, range, fetch);
    if (whole === null) return;
    const { generation } = learner.status(news.report);
    const same = new Set(compareDays({ ...news, ...whole, generation, rules: rulesFor(news.report) }).same);
    const dates = daysBetween(trial.from, trial.to);
    const missing = dates.filter((date) => !same.has(date)).map((date) => dayNumber(date) as number);
    for (const entry of piecesToTry(range, missing)) {
      const days = await fetch(isoDay(entry.from), isoDay(entry.to));
      if (days === null) return;
      const known = daysByDate(whole.fresh);
      const compared = await learner.compare({ ...news, fresh: [...days.values()], known }, fetch);
      if (compared.verdict !== 'same') return;
      for (const date of compared.same) same.add(date);
    }
    const withRows = whole.fresh.filter(
      ({ header }) => header.rowCount > 0 && same.has(header.lastDay as string),
    );
    if (!dates.every((date) => same.has(date))) return;
    if (withRows.length < Math.min(TRIAL_DAYS_WITH_ROWS, trial.days)) return;
    await learner.passed(news.report, trial);
  }

  /** The whole answer for a range, which is fetched unless it is the given one; and the known days. */
  async function wholeOf(
    { report, series, fresh, known }: Comparison,
    answered: DayRange,
    range: DayRange,
    fetch: FetchRange,
  ): Promise<{ fresh: readonly Entry<RowsHeader>[]; known: Days } | null> {
    const inside = fresh.filter((entry) => dayOf(entry) >= range.from && dayOf(entry) <= range.to);
    if (range.from === answered.from && range.to === answered.to) return { fresh: inside, known };
    const days = await fetch(isoDay(range.from), isoDay(range.to));
    if (days === null) return null;
    const beside = new Map([...known, ...daysByDate(fresh)]);
    const asked = [...days.values()];
    const { verdict } = await learner.compare({ report, series, fresh: asked, known: beside }, fetch);
    return verdict === 'same' ? { fresh: asked, known: beside } : null;
  }
}

function createProof(learner: Learner, { maxDaysPerCall }: PlanRules) {
  /** Number of them by kind and generation. */
  const proofs = createLastUsed<number>(MAX_KINDS);

  /** Fetches a range with other ends than the answers that share one, and compares it with both. */
  return async (news: Comparison, shared: readonly DayPair[], fetch: FetchRange): Promise<void> => {
    const { id, pinned, state, generation } = learner.status(news.report);
    const name = `${id} ${generation}`;
    const made = proofs.get(name) ?? 0;
    const range = independentOf(shared);
    if (pinned || state !== 'learning' || made >= MAX_PROOFS || range === null) return;
    if (range.to - range.from >= maxDaysPerCall) return;
    proofs.set(name, made + 1);
    const days = await fetch(isoDay(range.from), isoDay(range.to));
    if (days === null) return;
    for (const known of [news.known, daysByDate(news.fresh)])
      await learner.compare({ ...news, known, fresh: [...days.values()] }, fetch);
  };
}

function dayOf({ header }: Entry<RowsHeader>): number {
  return dayNumber(header.lastDay as string) as number;
}
