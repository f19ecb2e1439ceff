/**
 * Tries that stand for several callers. Of those of one team who want the same, one stands in line for a slot; of those
 * whose try failed together, one tries again, and what comes of it is for all. The others wait for it, holding nothing.
 */
import { GatewayError } from '../errors.js';
import { within } from '../platform/deadline.js';
import type { CallFailed } from '../platform/failure.js';
import { isShareSpent } from './fetch-days.js';

export interface TryInput<T> {
  /** What is wanted, and who is charged for it. */
  readonly name: string;
  /** The failure of the try before; null: this is the first. */
  readonly after: CallFailed | null;
  /** Ends the waiting for somebody else's. */
  readonly signal: AbortSignal;
  /** Makes it. */
  readonly attempt: () => Promise<T>;
}

export interface TryResult<T> {
  readonly value: T;
  /** False: somebody else made it. */
  readonly isOwn: boolean;
}

export interface SharedTries<T> {
  /**
   * @throws the reason of the signal; what the try came to, be it one's own or another's; GatewayError `overloaded` when
   *   too many wait already
   */
  share(input: TryInput<T>): Promise<TryResult<T>>;
  /** Callers who wait for somebody else's. */
  readonly waiting: number;
}

/** @param maxWaiting callers that may wait at once in this process */
export function createSharedTries<T>(maxWaiting: number): SharedTries<T> {
  const underWay = new Map<string, Promise<T>>();
  /** The one try that followed a failure. It is kept when it is over: whoever still backs off takes it for his own. */
  const following = new WeakMap<CallFailed, Promise<T>>();
  let waiting = 0;

  async function make({ name, after, attempt }: TryInput<T>): Promise<T> {
    const made = attempt();
    underWay.set(name, made);
    if (after !== null) following.set(after, made);
    try {
      return await made;
    } finally {
      if (underWay.get(name) === made) underWay.delete(name);
    }
  }

  async function wait(others: Promise<T>, signal: AbortSignal): Promise<T> {
    if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
    waiting += 1;
    try {
      return await within(signal, () => others);
    } finally {
      waiting -= 1;
    }
  }

  return {
    async share(input) {
      const { name, after, signal } = input;
      for (;;) {
        const others = (after === null ? undefined : following.get(after)) ?? underWay.get(name);
        if (others === undefined) return { value: await make(input), isOwn: true };
        try {
          return { value: await wait(others, signal), isOwn: false };
        } catch (error) {
          signal.throwIfAborted();
          if (!concernsOne(error)) throw error;
          if (after !== null && following.get(after) === others) following.delete(after);
        }
      }
    },
    get waiting() {
      return waiting;
    },
  };
}

/** A share that is spent, or time that was over before a call was made: the others go on without him. */
function concernsOne(error: unknown): boolean {
  return isShareSpent(error) || (error instanceof GatewayError && error.code === 'upstream_timeout');
}
