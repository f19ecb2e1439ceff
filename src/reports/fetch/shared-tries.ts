/**
 * Tries shared by several callers. Of callers of one team who want the same, one waits in line for a slot; of callers whose
 * try failed together, one tries again, and its result is for all. The others wait for it, holding nothing.
 */
import { GatewayError } from '../../errors.js';
import { within } from '../../platform/deadline.js';
import type { CallFailed } from '../../platform/failure.js';
import { isShareSpent } from './call-platform.js';

interface TryInput<T> {
  /** What is wanted, and the team that is charged for it. */
  readonly name: string;
  /** The failure of the try before; null: this is the first. */
  readonly after: CallFailed | null;
  /** Ends the wait for another caller's try. */
  readonly signal: AbortSignal;
  /** Makes it. */
  readonly attempt: () => Promise<T>;
}

export type SharedTries<T> = ReturnType<typeof createSharedTries<T>>;

/** @param maxWaiting callers that may wait at once in this process */
export function createSharedTries<T>(maxWaiting: number) {
  const underWay = new Map<string, Promise<T>>();
  /** The one try that followed a failure. It is kept when it is over: a caller that still backs off takes it for its own. */
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
    /**
     * @returns the result; `isOwn` false: of another caller's try
     * @throws the reason of the signal; the failure of the try, own or not; GatewayError `overloaded` when too many wait
     */
    async share(input: TryInput<T>): Promise<{ readonly value: T; readonly isOwn: boolean }> {
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
    /** Callers who wait for another's try. */
    get waiting(): number {
      return waiting;
    },
  };
}

/** A share that is spent, or time that was over before a call was made: the others try again. */
function concernsOne(error: unknown): boolean {
  return isShareSpent(error) || (error instanceof GatewayError && error.code === 'upstream_timeout');
}
