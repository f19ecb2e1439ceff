/**
 * Who fetches what: within this process by promises, between replicas by leases on single keys. A key is locked
 * only for the time of one platform call; whoever wants it meanwhile waits for that call and no other.
 *
 * A lock ends by itself: one that is granted when its call was given up is let go at once, and none is renewed for
 * longer than its call may take, whatever becomes of the code that took it.
 */
import type { Logger } from 'pino';
import { randomId } from '../chance.js';
import { GatewayError } from '../errors.js';
import { within } from '../platform/deadline.js';
import type { Bus, Leases } from '../store/port.js';
import { type FetchLock, holdLock } from './held-lock.js';
import { createLockLeases, RELEASED } from './lock-leases.js';
import { createPending, createWakers, type Pending, type Wakers } from './pending.js';
import { newPatience, type Patience } from './question.js';

/** How often a key that another replica holds is looked at, when its message is lost. */
const POLL_MS = 200;

/** Until when a lock is wanted. */
export interface LockDeadline {
  /** Aborted when nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Milliseconds that its call may take from now on. */
  leftMs(): number;
}

export interface FetchLocks<T> {
  /**
   * @param epoch the newest purge known: whoever asks after one does not wait for what was asked for before it
   * @param patience where it is spent, the store is told and not waited for: every key is taken for granted
   * @throws the reason of the signal when it was aborted meanwhile: then nothing is held
   */
  tryTake(
    keys: readonly string[],
    epoch: number,
    deadline: LockDeadline,
    patience?: Patience,
  ): Promise<FetchLock<T>>;
  /** Whether calls of this process have all of these keys under way. */
  areUnderWay(keys: readonly string[], epoch: number): boolean;
  /**
   * Waits until some of `others` were brought, or may be free again.
   * @returns what a call in this process brought; null when another replica had it: look into the store
   * @throws the error of the call in this process that was to bring a key; GatewayError `overloaded`, or
   *   `upstream_timeout` when `signal` ends the wait
   */
  wait(lock: Pick<FetchLock<T>, 'others' | 'epoch'>, signal: AbortSignal): Promise<T | null>;
  readonly waiting: number;
  stop(): void;
}

export interface FetchLocksOptions {
  readonly leases: Leases;
  readonly bus: Bus;
  readonly logger: Logger;
  /** Askers that may wait at once in this process. */
  readonly maxWaiting: number;
}

/** Calls of this process that are under way. */
type UnderWay<T> = Map<string, Pending<T>>;

export function createFetchLocks<T>({
  leases: store,
  bus,
  logger,
  maxWaiting,
}: FetchLocksOptions): FetchLocks<T> {
  const underWay: UnderWay<T> = new Map();
  const leases = createLockLeases({ leases: store, logger });
  const wakers = createWakers();
  const unsubscribe = bus.subscribe(RELEASED, (message) => wakers.wake(message.split(' ')));
  let waiting = 0;

  function settle(names: readonly string[], tell: (pending: Pending<T>) => void): void {
    for (const name of names) {
      const pending = underWay.get(name);
      underWay.delete(name);
      if (pending !== undefined) tell(pending);
    }
  }

  return {
    async tryTake(keys, epoch, { signal, leftMs }, patience = newPatience()) {
      const nameOf = (key: string) => lockName(key, epoch);
      const local = keys.filter((key) => underWay.has(nameOf(key)));
      const free = keys.filter((key) => !underWay.has(nameOf(key)));
      // Entered before the leases are asked for: a second asker in this process must not ask for them too.
      for (const key of free) underWay.set(nameOf(key), createPending());
      // Of this lock alone: a lease is kept up while what was brought is written, and must not be taken for another's.
      const owner = randomId();
      const { held, settled } = await leases.take(free.map(nameOf), owner, patience);
      const granted = free.filter((_, index) => held[index]);
      const foreign = free.filter((_, index) => !held[index]);
      settle(foreign.map(nameOf), (pending) => pending.resolve(null));
      if (signal.aborted) {
        // Whoever asked has given up, and will not end it.
        settle(granted.map(nameOf), (pending) => pending.resolve(null));
        await leases.release(granted.map(nameOf), { owner, settled, patience });
        throw signal.reason;
      }
      const granting = { granted, others: [...local, ...foreign], epoch, owner, settled, patience };
      return holdLock<T>(granting, leftMs(), { leases, logger, nameOf, settle });
    },
    areUnderWay: (keys, epoch) => keys.every((key) => underWay.has(lockName(key, epoch))),
    async wait({ others, epoch }, signal) {
      if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
      waiting += 1;
      const names = others.map((key) => lockName(key, epoch));
      return await firstBrought(names, underWay, wakers, signal).finally(() => {
        waiting -= 1;
      });
    },
    get waiting() {
      return waiting;
    },
    stop: unsubscribe,
  };
}

async function firstBrought<T>(
  names: readonly string[],
  underWay: UnderWay<T>,
  wakers: Wakers,
  signal: AbortSignal,
): Promise<T | null> {
  const local = names.flatMap((name) => underWay.get(name)?.promise ?? []);
  const foreign = names.filter((name) => !underWay.has(name));
  const woken = foreign.length > 0 ? [wakers.woken(foreign, POLL_MS)] : [];
  return await within(signal, () => Promise.race([...local, ...woken])).catch((error: unknown) => {
    throw signal.aborted && error === signal.reason
      ? new GatewayError('upstream_timeout', { cause: error })
      : error;
  });
}

function lockName(key: string, epoch: number): string {
  return `${key}@${epoch}`;
}
