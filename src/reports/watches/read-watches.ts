/**
 * Reads the days of watches that are due: a job of the leader, one read at a time. What is due follows from the stored days, so
 * a new leader reads nothing twice. Its calls are charged to the team of the watch, and wait for those of all teams.
 */
import { GatewayError } from '../../errors.js';
import { NO_DIRECTIVES } from '../../lib/http/cache-directives.js';
import type { Job } from '../../store/jobs.js';
import { whenAway } from '../../store/port.js';
import { createTurns } from '../../store/turns.js';
import type { Team } from '../../teams/auth/team.js';
import { Trace } from '../../telemetry/trace.js';
import type { DayRange } from '../cache/plan.js';
import type { Gateway } from '../gateway.js';
import { fetchStale } from '../get-report.js';
import { isGone } from '../history/pins.js';
import type { Prover } from '../learn/prove-kind.js';
import { isoDay } from '../query/days.js';
import { newPatience } from '../question.js';
import type { Watch } from './watch-book.js';
import { type Judged, type Watches, wordsOf } from './watches.js';

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000];
/** A watch is judged again after so long at the latest, as a purge or a setting may have made days due. */
const LOOKS_AGAIN_MS = 10 * MINUTE_MS;
/** Longest rest after failures in a row, unless more is asked for, and then. */
const [LONGEST_REST_MS, LONGEST_ASKED_MS] = [15 * MINUTE_MS, HOUR_MS];
/** Errors that concern the watches of all teams. Nothing was sent, but for a 429. */
const CONCERN_ALL: readonly string[] = [
  'upstream_circuit_open',
  'upstream_rate_limited',
  'credential_unavailable',
  'overloaded',
];

interface ReadWatchesOptions {
  readonly watches: Watches;
  readonly prover: Pick<Prover, 'asked'>;
}

/** @returns the job */
export function createReadWatches(g: Gateway, { watches, prover }: ReadWatchesOptions): Job {
  const { book, teams } = watches;
  /** By watch: what it was, and when it is judged again. */
  const looks = new Map<string, { readonly mark: string; readonly atMs: number }>();
  const turns = createTurns();
  let restsUntilMs = Number.NEGATIVE_INFINITY;

  /** @returns when it is judged again, epoch milliseconds */
  async function look(watch: Watch, isStopped: () => boolean): Promise<number> {
    const nowMs = g.now();
    const team = teams.team(teamIn(watch));
    if (isGone(watch.owner, teams)) {
      await book.remove(watch.owner, watch.id);
      return nowMs;
    }
    const judged = team === undefined ? null : judgeFor(watches, team, watch);
    if (team === undefined || judged === null) return nowMs + MINUTE_MS;
    const { state, reason, question, untilMs } = judged;
    if (state === 'proving') {
      if (g.learner.mayProve(question.report)) g.background(prover.asked(question));
      return nowMs;
    }
    if (state === 'done' || reason !== null) return nowMs + MINUTE_MS;
    const plan = await watches.plan(judged, nowMs);
    if (plan === null) return nowMs + MINUTE_MS;
    if (plan.ranges.length === 0) return Math.min(plan.nextMs ?? untilMs, untilMs);
    const { failed } = (await watches.lastReads.of(watch.owner))(watch.id);
    if (failed !== undefined && isAhead(failed.restsUntil, nowMs)) return failed.restsUntil;
    return await read(watch, team, judged, plan.ranges, isStopped);
  }

  async function read(
    watch: Watch,
    team: Team,
    judged: Judged,
    ranges: readonly DayRange[],
    isStopped: () => boolean,
  ): Promise<number> {
    const sinceMs = g.now();
    try {
      for (const range of ranges) {
        if (isStopped()) return g.now();
        await readRange(g, team, judged, range);
      }
      const left = await watches.plan(judged, sinceMs);
      if (left !== null && left.ranges.length > 0) throw new GatewayError('upstream_error', NOT_BY_DAY);
      g.count('watch_reads', { outcome: 'read' });
      await watches.lastReads.note(watch, () => ({ readAt: g.now() }));
      return g.now();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return await rest(watch, error);
    }
  }

  async function rest(watch: Watch, error: GatewayError): Promise<number> {
    const nowMs = g.now();
    const concernsAll = CONCERN_ALL.includes(error.code);
    const askedMs = Math.min(LONGEST_ASKED_MS, (error.options.retryAfterS ?? 0) * SECOND_MS);
    let untilMs = nowMs;
    await watches.lastReads.note(watch, ({ failed, ...before }) => {
      const times = (failed?.times ?? 0) + 1;
      untilMs = nowMs + Math.max(askedMs, Math.min(LONGEST_REST_MS, MINUTE_MS * 2 ** (times - 1)));
      return { ...before, failed: { at: nowMs, message: wordsOf(error), times, restsUntil: untilMs } };
    });
    if (concernsAll) restsUntilMs = nowMs + Math.max(askedMs, SECOND_MS);
    g.count('watch_reads', { outcome: concernsAll ? 'postponed' : 'failed' });
    g.logger.warn(
      { err: error, endpoint: watch.endpoint, team: teamIn(watch) },
      'failed to read the days of a watch',
    );
    return Math.max(untilMs, nowMs + MINUTE_MS);
  }

  async function lookAtAll(isStopped: () => boolean): Promise<void> {
    const all = book.all().map((watch) => [`${watch.owner}/${watch.id}`, watch] as const);
    const names = new Set<string>(all.map(([name]) => name));
    for (const name of looks.keys()) if (!names.has(name)) looks.delete(name);
    for (const [name, watch] of all) {
      const nowMs = g.now();
      if (isStopped() || isAhead(restsUntilMs, nowMs)) return;
      const mark = `${watch.endpoint} ${watch.query} ${watch.maxAgeDays}`;
      const known = looks.get(name);
      if (known?.mark === mark && isAhead(known.atMs, nowMs)) continue;
      const atMs = Math.min(await look(watch, isStopped), g.now() + LOOKS_AGAIN_MS);
      looks.set(name, { mark, atMs });
    }
  }

  return (isStopped) => turns('', () => lookAtAll(isStopped)).catch(whenAway(() => {}));
}

const NOT_BY_DAY = { detail: "The platform's answer could not be stored by day, or only in part." };

/** A clock that was set back must not prolong a wait. */
function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs && atMs <= nowMs + HOUR_MS;
}

function teamIn({ owner }: Pick<Watch, 'owner'>): string {
  return owner.slice(0, owner.lastIndexOf(':'));
}

/** @returns null: the team may not see the report any more */
function judgeFor(watches: Watches, team: Team, watch: Watch): Judged | null {
  try {
    return watches.judgeFor(team, watch);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** One call, whatever is cached. @throws GatewayError */
async function readRange(g: Gateway, team: Team, { question }: Judged, range: DayRange): Promise<void> {
  const report = { ...question.report, from: isoDay(range.from), to: isoDay(range.to) };
  const refusal = await fetchStale(
    g,
    { ...question, report },
    {
      id: 'watch',
      team: team.id,
      directives: { ...NO_DIRECTIVES, maxAgeMs: 0 },
      arrivedAtMs: g.now(),
      trace: new Trace(),
      patience: newPatience(),
      waitsForAll: true,
    },
  );
  if (refusal === null || refusal.header.form !== 'refusal') return;
  throw new GatewayError('upstream_rejected', {
    detail: `The platform refused the days from ${report.from} to ${report.to} with status ${refusal.header.status}.`,
  });
}
