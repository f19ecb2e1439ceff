/** Shared attempts: one of a team's equal requests queues for a slot, and after a failure one retries for all. The others wait. */
import { GatewayError } from '../../errors.js';
import { within } from '../../platform/deadline.js';
import type { CallFailed } from '../../platform/failure.js';

interface AttemptInput<T> {
  /** Identity of the request and the team that is charged. */
  readonly name: string;
  /** Failure of the previous attempt; null for the first. */
  readonly after: CallFailed | null;
  /** Ends the wait for another caller. */
  readonly signal: AbortSignal;
  readonly attempt: () => Promise<T>;
}

export type SharedAttempts<T> = ReturnType<typeof createSharedAttempts<T>>;

/** @param maxWaiting callers that may wait at once in this process */
export function createSharedAttempts<T>(maxWaiting: number) {
  const underWay = new Map<string, Promise<T>>();
  /** The attempt after a failure, also a settled one: callers that still back off share it. */
  const following = new WeakMap<CallFailed, Promise<T>>();
  let waiting = 0;

  async function make({ name, after, attempt }: AttemptInput<T>): Promise<T> {
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
    /** @throws the signal's reason; the failure of the shared attempt; GatewayError `overloaded` if too many wait */
    async share(input: AttemptInput<T>): Promise<{ readonly value: T; readonly isOwn: boolean }> {
      const { name, after, signal } = input;
      for (;;) {
        const others = (after === null ? undefined : following.get(after)) ?? underWay.get(name);
        if (others === undefined) return { value: await make(input), isOwn: true };
        try {
          return { value: await wait(others, signal), isOwn: false };
        } catch (error) {
          signal.throwIfAborted();
          // A spent share or an early timeout concerns one caller; the others retry.
          const isEarly = error instanceof GatewayError && error.code === 'upstream_timeout';
          if (!isEarly && !isShareSpent(error)) throw error;
          if (after !== null && following.get(after) === others) following.delete(after);
        }
      }
    },
    /** Callers waiting for another one. */
    get waiting(): number {
      return waiting;
    },
  };
}

/** Whether the team's share is spent, by the error or a cause of it. */
export function isShareSpent(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  return error.code === 'upstream_budget_exhausted' || isShareSpent(error.cause);
}
