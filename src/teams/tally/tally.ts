/**
 * The one tally of requests and platform calls of this process: by minute, of each team and of all together, in typed arrays, so
 * that counting allocates nothing within a minute. Each second it is added to the counters of all replicas, in one batch, exactly
 * once. Usage, series, ledger and forecasts read these; `kill -9` loses at most what was counted since. Daily shares have their own.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createRecentMinutes, createRecentRuns } from '../../lib/recent.js';
import { repeat } from '../../lib/repeat.js';
import { type Counted, FAILED_PARTS, isOfReport } from '../../outcome.js';
import { createCountBatches } from '../../store/count-batches.js';
import { type CounterRaise, type Counters, StoreUnavailable } from '../../store/port.js';
import { createLimitRefusals } from '../../telemetry/limit-refusals.js';
import { AT, addRequest, type Cell, emptyCell, grow, laterBy, mergeInto, raise } from './cell.js';
import { ALL, keptMsOf, MINUTE_MS, minutesKeptMs, NO_KEY, SECOND_MS, toBatch } from './groups.js';

/** Written with the counts: raises without counts of their own, such as the last use of a key. */
export interface Notes {
  isEmpty(): boolean;
  /** Returns them, and forgets them. */
  take(): readonly CounterRaise[];
}

interface TallyOptions {
  readonly counters: Counters;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly logger: Logger;
  /** Length of the queue for platform calls, and the platform's remaining rate if it shows one. */
  readonly traffic: {
    readonly budget: { readonly queued: number };
    readonly pace: { status(): { readonly remaining: number } | null };
  };
  /** A team in its present life, as `nameInLife` writes it. Absent: the id. */
  readonly nameOf?: (team: string) => string;
  readonly notes?: Notes;
  /** Time between two batches; null: flushed only by its owner. */
  readonly everyMs?: number | null;
}

const EVERY_MS = 1000;
const CLOSE_TRIES = 5;

export type Tally = ReturnType<typeof createTally>;

export function createTally(options: TallyOptions) {
  const { counters, clock, logger, traffic, notes, nameOf = (team) => team } = options;
  const reports = createRecentReports(clock.now);
  let all = createMinutes(ALL);
  let teams = new Map<string, ReturnType<typeof createMinutes>>();

  function minutesOf(team: string | null) {
    const name = team === null ? NO_KEY : nameOf(team);
    const known = teams.get(name);
    if (known !== undefined) return known;
    const made = createMinutes(name);
    teams.set(name, made);
    return made;
  }

  function noteQueue(nowMs: number): void {
    const { queued } = traffic.budget;
    if (queued > 0) raise(all.at(nowMs), AT.queue, queued);
  }

  /** Returns all counts and resets them. */
  function take() {
    const cells = new Map([
      [ALL, all.cells],
      ...[...teams].map(([name, { cells }]) => [name, cells] as const),
    ]);
    all = createMinutes(ALL);
    teams = new Map();
    const found = [toBatch(cells, clock.now()), { adds: [], raises: notes?.take() ?? [] }];
    return found
      .filter(({ adds, raises }) => adds.length + raises.length > 0)
      .map((batch) => ({ ...batch, ttlMs: keptMsOf }));
  }

  const batches = createCountBatches({
    ...{ counters, clock, logger, take },
    what: 'counts of requests',
    everyMs: null,
    isEmpty: () => all.cells.size + teams.size === 0 && (notes?.isEmpty() ?? true),
  });
  const everyMs = options.everyMs === undefined ? EVERY_MS : options.everyMs;
  const turns =
    everyMs === null
      ? null
      : repeat(everyMs, async () => {
          noteQueue(clock.now());
          await batches.flush();
        });

  return {
    counters,
    nameOf,
    /** A request has ended. */
    add(counted: Counted, durationMs: number): void {
      const nowMs = clock.now();
      const second = Math.floor((nowMs % MINUTE_MS) / SECOND_MS) + 1;
      addRequest(all.at(nowMs), counted, durationMs, second);
      addRequest(minutesOf(counted.team).at(nowMs), counted, durationMs, second);
      reports.add(counted);
    },
    /** Of this process. */
    recentReports: reports.sum,
    /** At this process, teams within the last five minutes: whose reports failed, and what their limits refused. */
    ...{ failedReports: reports.failed, limitRefusals: reports.limitRefusals },
    /** An attempt of a platform call, whoever answers the request. */
    addCall(team: string): void {
      const nowMs = clock.now();
      const cell = all.at(nowMs);
      grow(cell, AT.platformCalls, 1);
      grow(minutesOf(team).at(nowMs), AT.platformCalls, 1);
      noteQueue(nowMs);
      const left = traffic.pace.status()?.remaining ?? null;
      if (left === null) return;
      const budget = cell[AT.budget] as number;
      cell[AT.budget] = budget === 0 ? left + 1 : Math.min(budget, left + 1);
    },
    /** @returns whether the store has all counts. Never rejects */
    flush: batches.flush,
    /** So that reads include the counts of this process. @throws StoreUnavailable */
    async writeAll(): Promise<void> {
      // A running flush may have started before the last count.
      await batches.flush();
      if (!(await batches.flush())) throw new StoreUnavailable('what was counted cannot be written');
    },
    /** Writes the rest, if the store takes it within a few seconds. */
    async close(): Promise<void> {
      await turns?.stop();
      if (!(await batches.close(CLOSE_TRIES)))
        logger.error('what was counted since the store became unavailable is lost');
    },
  };
}

/** Cells by number of their minute since the epoch. The present one is at hand, also if the clock was set back. */
function createMinutes(name: string) {
  const keptMs = minutesKeptMs(name);
  const cells = new Map<number, Cell>();
  let [fromMs, present] = [Number.NaN, emptyCell()];
  return {
    cells,
    at(nowMs: number): Cell {
      if (nowMs - fromMs < MINUTE_MS && nowMs >= fromMs) return present;
      const minute = Math.floor(nowMs / MINUTE_MS);
      fromMs = minute * MINUTE_MS;
      present = cells.get(minute) ?? emptyCell();
      cells.set(minute, present);
      joinOld(cells, nowMs - keptMs);
      return present;
    },
  };
}

/** While the store is away, minutes that are no longer shown are joined by hour. */
function joinOld(cells: Map<number, Cell>, beforeMs: number): void {
  for (const [minute, cell] of cells) {
    const first = minute - (minute % 60);
    if (minute * MINUTE_MS >= beforeMs || minute === first) continue;
    const hour = cells.get(first) ?? emptyCell();
    mergeInto(hour, laterBy(cell, (minute - first) * 60));
    cells.set(first, hour);
    cells.delete(minute);
  }
}

/** Of the last five minutes. @param now wall time */
function createRecentReports(now: () => number) {
  const counts = createRecentMinutes(now);
  const teams = { platform: createRecentRuns(now), credential: createRecentRuns(now) };
  const limited = createLimitRefusals(now);
  let failedAtMs: number | null = null;
  return {
    add({ outcome, team, limit, failedBy }: Pick<Counted, 'outcome' | 'team' | 'limit' | 'failedBy'>): void {
      if (limit !== null && team !== null) limited.note(team, limit);
      if (!isOfReport(outcome)) return;
      counts.add(failedBy !== null);
      if (failedBy === null) return;
      failedAtMs = now();
      if (team !== null) teams[failedBy].note(team);
    },
    sum: counts.sum,
    failed: () => ({
      teams: FAILED_PARTS.flatMap((part) =>
        teams[part].list().map(({ name, ...run }) => ({ team: name, part, ...run })),
      ),
      reportFailedAtMs: failedAtMs,
    }),
    limitRefusals: limited.list,
  };
}
