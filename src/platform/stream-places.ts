/**
 * Calls whose answers are streamed to callers hold a slot for as long as their caller reads. So that slow readers
 * cannot hold them all, such calls take a place first, of which there are two less than slots; and no team takes the
 * last place while it has others.
 */
import { asGatewayError, GatewayError } from '../errors.js';
import { startTimer, stopTimer } from '../lib/time.js';
import { type Budget, createBudget } from './budget.js';

/** Slots that are left to calls whose answers are read at once. */
const LEFT_TO_OTHERS = 2;

export type StreamPlaces = ReturnType<typeof createStreamPlaces>;

/** @param options as of the platform's budget; `maxConcurrent` are its slots */
export function createStreamPlaces(options: {
  readonly maxConcurrent: () => number;
  readonly maxQueued: number;
}) {
  const places = () => Math.max(1, options.maxConcurrent() - LEFT_TO_OTHERS);
  const all = createBudget({ ...options, maxConcurrent: places });
  const teams = new Map<string, Budget>();

  function budgetOf(team: string): Budget {
    const budget =
      teams.get(team) ??
      createBudget({ maxQueued: options.maxQueued, maxConcurrent: () => Math.max(1, places() - 1) });
    teams.set(team, budget);
    return budget;
  }

  async function acquire(team: string, signal: AbortSignal): Promise<() => void> {
    const own = budgetOf(team);
    const leaveOwn = await own.acquire(team, signal);
    const leaveTeam = () => {
      leaveOwn();
      if (own.running === 0 && own.queued === 0 && teams.get(team) === own) teams.delete(team);
    };
    try {
      const leaveAll = await all.acquire(team, signal);
      return () => {
        leaveAll();
        leaveTeam();
      };
    } catch (error) {
      leaveTeam();
      throw error;
    }
  }

  return {
    /**
     * Waits for a place; teams get them fairly.
     * @param timeoutMs longest wait
     * @returns a function to be called when the answer is through; more than once does no harm
     * @throws GatewayError `overloaded` when there is none in time, or too many wait; the signal's reason
     */
    async enter(team: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<() => void> {
      const late = new AbortController();
      const timer = startTimer(() => late.abort(noPlace()), timeoutMs);
      try {
        return await acquire(
          team,
          signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]),
        );
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
