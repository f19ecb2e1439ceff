/** What decides when the platform is called: slots, places of streams, pace, circuit and pause, wired. */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import { asGatewayError, GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { startTimer, stopTimer } from '../lib/time.js';
import { type Budget, createBudget } from './budget.js';
import { createCircuit } from './circuit.js';
import { createPace, createPause } from './pace.js';

/** Slots that are kept for calls whose answers are read at once. */
const KEPT_FOR_OTHERS = 2;

export type StreamPlaces = ReturnType<typeof createStreamPlaces>;

/**
 * A call whose answer is streamed holds a slot for as long as its caller reads. So that slow readers cannot hold all
 * slots, such a call takes a place first: there are two fewer places than slots, and no team takes the last one while
 * it has others.
 * @param options of the platform's budget; `maxConcurrent` are its slots
 */
export function createStreamPlaces(options: {
  readonly maxConcurrent: () => number;
  readonly maxQueued: number;
}) {
  const places = () => Math.max(1, options.maxConcurrent() - KEPT_FOR_OTHERS);
  const all = createBudget({ ...options, maxConcurrent: places });
  const teams = new Map<string, Budget>();

  function budgetOf(team: string): Budget {
    const budget =
      teams.get(team) ??
      createBudget({ maxQueued: options.maxQueued, maxConcurrent: () => Math.max(1, places() - 1) });
    teams.set(team, budget);
    return budget;
  }

  /** Waits for a place of the team, then for one of all. @returns a function that frees both */
  async function acquire(team: string, signal: AbortSignal): Promise<() => void> {
    const own = budgetOf(team);
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
     * Waits for a place, shared out fairly by team.
     * @param timeoutMs longest wait
     * @returns a function that frees the place; more than once does no harm
     * @throws GatewayError `overloaded` when none is free in time, or too many wait; the signal's reason
     */
    async enter(team: string, timeoutMs: number, caller: AbortSignal | undefined): Promise<() => void> {
      const late = new AbortController();
      const timer = startTimer(() => late.abort(noPlace()), timeoutMs);
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

function noPlace(): GatewayError {
  return new GatewayError('overloaded', {
    detail: 'Too many answers are being streamed to their callers; this call was not made.',
    retryAfterS: 1,
  });
}

export type Traffic = ReturnType<typeof createTraffic>;

export function createTraffic({
  settings,
  replicas,
  bus,
  clock,
  logger,
}: {
  readonly settings: Config['platform'];
  readonly replicas: {
    readonly count: number;
    /** This process' part of what all may do together. */
    share(of: number): number;
  };
  readonly bus: {
    publish(channel: string, message: string): Promise<void>;
    subscribe(channel: string, listener: (message: string) => void): unknown;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { maxQueued, circuit: breaks } = settings;
  const maxPauseMs = settings.maxPauseSeconds * 1000;
  // Half of a call's time: whatever rate the platform shows, a waiting call is made in time.
  const maxPaceMs = Math.min(maxPauseMs, settings.timeoutMs / 2);
  const pace = createPace(clock, () => replicas.count, maxPaceMs);
  /** Platform calls that this process may make at once, as of now. */
  const maxConcurrent = () => replicas.share(settings.maxConcurrent);
  const pause = createPause(clock, maxPauseMs, (message) => {
    // A replica that does not hear of it gets a 429 of its own.
    bus.publish('pause', message).catch((error: unknown) => {
      logger.debug({ err: error }, 'failed to announce a pause to the other replicas');
    });
  });
  bus.subscribe('pause', pause.hear);
  const budget = createBudget({ maxConcurrent, maxQueued, paceMs: pace.waitMs });
  const circuit = createCircuit({ failures: breaks.failures, openMs: breaks.openSeconds * 1000, clock });
  return {
    budget,
    /** Places of calls whose answers are streamed. */
    streamPlaces: createStreamPlaces({ maxConcurrent, maxQueued }),
    pause,
    pace,
    circuit,
    maxConcurrent,
    recentCalls: createRecentCalls(clock.now),
    /** Nothing waits, half of the slots are free, and the platform may be called: time for background calls. */
    isIdle: (): boolean =>
      budget.queued === 0 &&
      2 * budget.running < maxConcurrent() &&
      !circuit.isOpen &&
      pause.leftMs() === 0 &&
      pace.waitMs() <= 0,
  };
}

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** How many platform calls this process made in the last day, by the hour. */
function createRecentCalls(now: () => number) {
  const byHour = new Map<number, number>();
  const hourNow = () => Math.floor(now() / HOUR_MS);
  return {
    add(): void {
      const hour = hourNow();
      byHour.set(hour, (byHour.get(hour) ?? 0) + 1);
      // A clock that was set back leaves hours that are still to come.
      for (const known of byHour.keys()) if (Math.abs(known - hour) >= HOURS) byHour.delete(known);
    },
    /** Of the last 24 hours, the present hour included. */
    count(): number {
      const hour = hourNow();
      let sum = 0;
      for (const [known, calls] of byHour) if (known <= hour && known > hour - HOURS) sum += calls;
      return sum;
    },
  };
}
