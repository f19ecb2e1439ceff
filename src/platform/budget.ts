/**
 * The platform's attention is scarce: so many calls at once, and those who wait take turns by team, so that one
 * team's thousand calls cannot hold up another's single one.
 */
import { GatewayError } from '../errors.js';

export interface Budget {
  /**
   * Waits for a turn.
   * @param team who the call is charged to
   * @param signal aborts the waiting; rejects with its reason
   * @returns a function to be called exactly once, when the call is over
   * @throws GatewayError `overloaded` when too many wait already
   */
  acquire(team: string, signal: AbortSignal): Promise<() => void>;
  readonly running: number;
  readonly queued: number;
}

interface Waiter {
  readonly start: () => void;
}

/**
 * @param maxConcurrent calls at once
 * @param maxQueued calls that may wait, all teams together
 */
export function createBudget(maxConcurrent: number, maxQueued: number): Budget {
  /** Teams with waiters, in the order of their next turn; a Map keeps it. */
  const queues = new Map<string, Set<Waiter>>();
  let running = 0;
  let queued = 0;

  function enter(): () => void {
    running += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      running -= 1;
      startNext();
    };
  }

  function startNext(): void {
    const next = queues.entries().next();
    if (next.done || running >= maxConcurrent) return;
    const [team, queue] = next.value;
    const waiter = queue.values().next().value as Waiter;
    remove(team, queue, waiter);
    // The team goes to the end of the line for its next call.
    if (queue.size > 0) {
      queues.delete(team);
      queues.set(team, queue);
    }
    waiter.start();
  }

  function remove(team: string, queue: Set<Waiter>, waiter: Waiter): void {
    if (!queue.delete(waiter)) return;
    queued -= 1;
    if (queue.size === 0) queues.delete(team);
  }

  function wait(team: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const queue = queues.get(team) ?? new Set<Waiter>();
      const giveUp = () => {
        remove(team, queue, waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        start: () => {
          signal.removeEventListener('abort', giveUp);
          resolve(enter());
        },
      };
      queue.add(waiter);
      queues.set(team, queue);
      queued += 1;
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    get running() {
      return running;
    },
    get queued() {
      return queued;
    },
    async acquire(team, signal) {
      signal.throwIfAborted();
      if (running < maxConcurrent && queued === 0) return enter();
      if (queued >= maxQueued) throw new GatewayError('overloaded', { retryAfterS: 1 });
      return wait(team, signal);
    },
  };
}
