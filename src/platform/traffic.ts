/** Composes slots, places of streams, pace, circuit and pause. */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import { asGatewayError, GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { startTimer, stopTimer } from '../lib/time.js';
import type { Bus } from '../store/port.js';
import { type Budget, createBudget } from './budget.js';
import { createCircuit } from './circuit.js';
import { createPace, createPause } from './pace.js';
import { createRecentCalls } from './recent-calls.js';

/** Slots reserved for calls whose responses are read at once. */
const KEPT_FOR_OTHERS = 2;

/**
 * A streamed response holds a slot as long as its caller reads. Such a call first takes a place, so that slow readers cannot
 * hold all slots: there are two fewer places than slots, and no team takes the last one while it has others.
 * @param options of the platform budget; `maxConcurrent` is the number of slots
 */
export function createStreamPlaces(options: {
  readonly maxConcurrent: () => number;
  readonly maxQueued: number;
}) {
  const places = () => Math.max(1, options.maxConcurrent() - KEPT_FOR_OTHERS);
  const all = createBudget({ ...options, maxConcurrent: places });
  const teams = new Map<string, Budget>();

  /** Waits for a place of the team, then a shared one. @returns a function that frees both */
  async function acquire(team: string, signal: AbortSignal): Promise<() => void> {
    const own =
      teams.get(team) ??
      createBudget({ maxQueued: options.maxQueued, maxConcurrent: () => Math.max(1, places() - 1) });
    teams.set(team, own);
    const leaveOwn = await own.acquire(team, signal);
    const leaveTeam = () => {
      leaveOwn();
      if (own.running === 0 && own.queued === 0 && teams.get(team) === own) teams.delete(team);
    };
    const leaveAll = await all.acquire(team, signal).catch((error: unknown) => {
      leaveTeam();
      throw error;
    });
    return () => {
      leaveAll();
      leaveTeam();
    };
  }

  return {
    /**
     * Waits for a place, fair by team.
     * @returns a function that frees the place; idempotent
     * @throws GatewayError `overloaded` if none is free in time, or too many wait; the signal's reason
     */
    async enter(team: string, timeoutMs: number, caller: AbortSignal | undefined): Promise<() => void> {
      const late = new AbortController();
      const timer = startTimer(() => late.abort(new GatewayError('overloaded', NO_PLACE)), timeoutMs);
      const signal = caller === undefined ? late.signal : AbortSignal.any([late.signal, caller]);
      try {
        return await acquire(team, signal);
      } catch (error) {
        throw asGatewayError(error);
      } finally {
        stopTimer(timer);
      }
    },
    get running(): number {
      return all.running;
    },
  };
}

const NO_PLACE = {
  detail: 'Too many responses are being streamed to callers. This call was not made.',
  retryAfterS: 1,
  noSlot: true,
} as const;

export function createTraffic({
  settings,
  replicas,
  answeredMs,
  bus,
  clock,
  logger,
}: {
  readonly settings: Config['platform'];
  readonly replicas: {
    readonly count: number;
    /** This process's share of a limit for all. */
    share(of: number): number;
  };
  /** When the platform last answered another process, epoch milliseconds; 0: not known. */
  readonly answeredMs: () => number;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { maxQueued, circuit: breaks } = settings;
  const maxPauseMs = settings.maxPauseSeconds * 1000;
  // Half of the deadline, so that a waiting call is made in time at any rate.
  const maxPaceMs = Math.min(maxPauseMs, settings.timeoutMs / 2);
  const pace = createPace(clock, () => replicas.count, maxPaceMs);
  /** Current maximum of concurrent platform calls of this process. */
  const maxConcurrent = () => replicas.share(settings.maxConcurrent);
  const pause = createPause(clock, maxPauseMs, (message) => {
    // A replica that misses it gets a 429 itself.
    bus.publish('pause', message).catch((error: unknown) => {
      logger.debug({ err: error }, 'failed to announce a pause to the other replicas');
    });
  });
  bus.subscribe('pause', pause.hear);
  const budget = createBudget({ maxConcurrent, maxQueued, paceMs: pace.waitMs });
  const recentCalls = createRecentCalls(clock.now, answeredMs);
  const circuit = createCircuit({
    ...{ failures: breaks.failures, openMs: breaks.openSeconds * 1000, clock },
    isOver: recentCalls.isOver,
  });
  return {
    budget,
    streamPlaces: createStreamPlaces({ maxConcurrent, maxQueued }),
    pause,
    pace,
    circuit,
    maxConcurrent,
    recentCalls,
    /** No call waits, half of the slots are free, and calls are allowed: background calls may run. */
    isIdle: (): boolean =>
      budget.queued === 0 &&
      2 * budget.running < maxConcurrent() &&
      !circuit.isOpen &&
      pause.leftMs() === 0 &&
      pace.waitMs() <= 0,
  };
}
