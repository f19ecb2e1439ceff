/**
 * Asks the platform whether reports of a kind are divisible by day: in the background, at the lowest priority, one proof at a time in
 * all replicas. It begins when callers rest after the first report by date of the kind, or with its third period, as callers that ask
 * for one period after another do not rest. A kind with unknown parameters waits for a second period, because such a parameter may
 * differ in each call.
 */
import type { Logger } from 'pino';
import { createLastUsed } from '../../lib/last-used.js';
import { startTimer, stopTimer, type Timer, uptimeMs } from '../../lib/time.js';
import type { Leases } from '../../store/port.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type DayPair, isComparable } from './compare-days.js';
import { type ComparedShapes, comparedName, shapesOf } from './compared.js';
import { type Comparison, type Learner, MAX_KINDS } from './learn.js';
import { type AskPlatform, isOneAnswer, LEAST_DAYS, PROOF_DAYS, proveDivisible } from './proof.js';
import { PROVING_MS } from './state.js';

export interface ProverOptions {
  readonly learner: Learner;
  readonly compared: ComparedShapes;
  readonly policy: Pick<ReportPolicy, 'endpoints' | 'rulesFor' | 'plan' | 'timezoneOf'>;
  readonly now: () => number;
  readonly ask: AskPlatform;
  readonly leases: Leases;
  /** Of which the latest is known. */
  readonly purges: { readonly seq: number };
  /** Identity of this process as a lease holder. */
  readonly self: string;
  /** Platform calls of this process in the last day. */
  readonly recentCalls: { count(): number };
  readonly background: (work: Promise<unknown>) => void;
  readonly logger: Logger;
}

/** Callers rest once no report was fetched for them for so long. */
const REST_MS = 500;
/** Then a proof begins although callers do not rest. */
const LONGEST_WAIT_MS = 10_000;
/** A kind of which so many periods were asked for does not wait for callers to rest. */
const AT_ONCE = 3;
const DAY_MS = 86_400_000;
/** Calls of all proofs in a day: a share of all calls, and at least so many. */
const [SHARE, AT_LEAST] = [0.05, 50];
const LEASE = 'lease:{gateway}:divisibility';
/** Kinds that wait for their proof, and accounts of a kind that are remembered. */
const [MAX_WAITING, MAX_ACCOUNTS] = [100, 20];

/** What was asked for of one account. */
interface Asked extends ReportSeries {
  readonly rowsPerDay: number;
}

/** A kind whose proof was caused by a report. */
interface Cause extends ReportSeries {
  /** Days of the answer of the platform; null: only the report is known. */
  readonly fresh: readonly Entry<RowsHeader>[] | null;
  readonly isAsked: boolean;
  /** The newest purge when it began to wait. */
  readonly seq: number;
}

export type Prover = ReturnType<typeof createProver>;

/** Waits until callers rest. */
function createRest(begin: () => void) {
  let timer: Timer | undefined;
  let sinceMs: number | null = null;
  function stop(): void {
    stopTimer(timer);
    sinceMs = null;
  }
  function end(): void {
    stop();
    begin();
  }
  return {
    isWaiting: () => sinceMs !== null,
    /** Begins the wait, or begins it anew. */
    wait(): void {
      sinceMs ??= uptimeMs();
      stopTimer(timer);
      const leftMs = Math.max(0, sinceMs + LONGEST_WAIT_MS - uptimeMs());
      timer = startTimer(end, Math.min(REST_MS, leftMs)).unref();
    },
    end,
    stop,
  };
}

/** @returns a function that makes a proof, if it may be made now */
function createProofs(options: ProverOptions, lately: ReturnType<typeof createLately>) {
  const { learner, compared, policy, now, leases, self, recentCalls, logger } = options;
  /** Times of the calls of proofs in the last day. */
  let made: readonly number[] = [];

  function callsAllowed(): number {
    made = made.filter((at) => Math.abs(now() - at) < DAY_MS);
    return Math.max(AT_LEAST, Math.floor(SHARE * recentCalls.count())) - made.length;
  }

  /** By the account with most rows among those asked for lately. */
  async function run(cause: Cause, maxCalls: number): Promise<void> {
    const { id, generation } = learner.status(cause.report);
    const { report, series } = lately.withMostRows(id) ?? cause;
    const rules = policy.rulesFor(report);
    const today = dayAt(now(), policy.timezoneOf(report.account));
    const own = series === cause.series && cause.fresh !== null ? cause.fresh : [];
    const finals = own.filter((day) => isComparable(day, generation, rules));
    const isLong = finals.length >= PROOF_DAYS && isOneAnswer(own, report as { from: string; to: string });
    const periods = isLong ? [[report.from, report.to] as [string, string]] : [];
    const result = await proveDivisible({
      of: { report, series },
      own: isLong ? own : null,
      range: rangeOf(report.to, today, rules, policy.plan.maxDaysPerCall),
      generation,
      rules,
      maxCalls,
      ask(what, from, to) {
        made = [...made, now()];
        periods.push([from, to]);
        return options.ask(what, from, to);
      },
      onRestated: (days: readonly DayPair[]) => learner.noteRestated(report, days),
    });
    if (result.verdict === 'proven') {
      const shapes = periods.flatMap(([from, to]) => shapesOf(from, to, today - rules.restatementDays));
      await compared.add(comparedName(id, generation, report.account), [...new Set(shapes)]);
    }
    await learner.endProof(report, result);
    logger.info({ kind: id, endpoint: report.endpoint, ...result }, 'compared a period with its parts');
  }

  return async (cause: Cause): Promise<void> => {
    const allowed = callsAllowed();
    if (allowed <= 0 || !learner.mayProve(cause.report, cause.isAsked)) return;
    const [isMine = false] = await leases.claim([LEASE], self, PROVING_MS);
    if (!isMine) return;
    try {
      const left = await learner.beginProof(cause.report, cause.isAsked);
      if (left > 0) await run(cause, Math.min(left, allowed));
    } finally {
      await leases.release([LEASE], self);
    }
  };
}

export function createProver(options: ProverOptions) {
  const { learner, policy, purges, logger, background } = options;
  const lately = createLately();
  const prove = createProofs(options, lately);
  const waiting = new Map<string, Cause>();
  const rest = createRest(() => background(proveWaiting()));
  let isRunning = false;
  let isStopped = false;

  /** One after another; what another replica proves waits for the next report. */
  async function proveWaiting(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      for (const [id, cause] of waiting) {
        waiting.delete(id);
        // What was purged meanwhile is fetched for callers first: the next report begins the proof anew.
        if (!isStopped && (cause.isAsked || cause.seq === purges.seq)) await prove(cause);
      }
    } catch (error) {
      logger.debug(
        { err: error },
        'could not prove that single days of reports add up; tried again with a later report',
      );
    } finally {
      isRunning = false;
    }
  }

  return {
    /** A caller's report was fetched. */
    async fetched(news: Comparison): Promise<void> {
      const { report, series, fresh } = news;
      // Of an answer that is not what was asked for nothing is learned.
      if (isStopped || fresh.length === 0 || fresh.some(({ header }) => header.flaws !== undefined)) return;
      if (policy.endpoints.get(report.endpoint)?.freshness !== 'own') return;
      const { id } = learner.status(report);
      lately.note(id, news);
      if (rest.isWaiting()) rest.wait();
      const periods = lately.periodsOf(id, report);
      if (!learner.mayProve(report) || waiting.size >= MAX_WAITING) return;
      if (report.passedOn.length > 0 && periods < 2) return;
      if (!waiting.has(id)) waiting.set(id, { report, series, fresh, isAsked: false, seq: purges.seq });
      if (periods >= AT_ONCE) await proveWaiting();
      else rest.wait();
    },
    /** A person asks for it: there is no wait for another report, nor after the last proof. */
    async asked({ report, series }: ReportSeries): Promise<void> {
      const { id } = learner.status(report);
      waiting.set(id, { report, series, fresh: null, isAsked: true, seq: purges.seq });
      await proveWaiting();
    },
    /** Begins what waits, as if callers rested. */
    begin(): void {
      if (rest.isWaiting()) rest.end();
    },
    /** Starts no further proof. */
    stop(): void {
      isStopped = true;
      rest.stop();
    },
  };
}

/** What was asked for lately, by kind. */
function createLately() {
  /** By kind, then by account. */
  const accounts = createLastUsed<Map<string | null, Asked>>(MAX_KINDS);
  const periods = createLastUsed<Set<string>>(MAX_KINDS);
  return {
    note(id: string, { report, series, fresh }: Comparison): void {
      const all = accounts.get(id) ?? new Map<string | null, Asked>();
      const rows = fresh.reduce((sum, { header }) => sum + header.rowCount, 0);
      // The latest are last.
      all.delete(report.account);
      all.set(report.account, { report, series, rowsPerDay: rows / fresh.length });
      const [oldest] = all.keys();
      if (all.size > MAX_ACCOUNTS && oldest !== undefined) all.delete(oldest);
      accounts.set(id, all);
    },
    withMostRows(id: string): Asked | undefined {
      return [...(accounts.get(id)?.values() ?? [])].sort((a, b) => b.rowsPerDay - a.rowsPerDay)[0];
    },
    /** Notes a period. @returns how many periods of the kind were asked for, at most {@link AT_ONCE} */
    periodsOf(id: string, { from, to }: Report): number {
      const known = periods.get(id) ?? new Set();
      if (known.size < AT_ONCE) known.add(`${from}/${to}`);
      periods.set(id, known);
      return known.size;
    },
  };
}

/** Final days that the platform should have: until the end of the caller's period, if that is past. */
function rangeOf(
  asked: string | null,
  today: number,
  { restatementDays, edgeDays }: { readonly restatementDays: number; readonly edgeDays?: number },
  maxDays: number,
) {
  const lastFinal = today - restatementDays - 1;
  const first = edgeDays === undefined ? Number.NEGATIVE_INFINITY : today - edgeDays + 1;
  const end = Math.min(lastFinal, asked === null ? lastFinal : (dayNumber(asked) as number));
  const to = end - first + 1 < LEAST_DAYS ? lastFinal : end;
  const days = Math.max(LEAST_DAYS, Math.min(PROOF_DAYS, maxDays, to - first + 1));
  return { from: to - days + 1, to };
}
