/**
 * Who fetches what: within this process by promises, between replicas by leases on single keys. A key is locked only for the
 * time of one platform call; a request that wants it meanwhile waits for that call and no other.
 *
 * A lock ends by itself: one that is granted when its call was given up is released at once, and none is renewed for longer
 * than its call may take, whatever becomes of the code that took it.
 */
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { startTicks, startTimer, stopTicks, stopTimer, type Timer } from '../../lib/time.js';
import { within } from '../../platform/deadline.js';
import type { Bus, Leases } from '../../store/port.js';
import { newPatience, type Patience } from '../question.js';

/** How often a key that another replica holds is looked at, when its message is lost. */
const POLL_MS = 200;
const RENEW_MS = 1000;
/** How long a lock may outlive the time of its call: the answer is kept meanwhile. */
const GRACE_MS = 5000;
const LEASE_MS = 4000;
/** Longest wait for the store to grant locks; after it they count as granted, as with a store that is away. */
const GRANT_MS = 250;
/** Where replicas are told of locks that were released. */
const RELEASED = 'released';

/** Until when a lock is wanted. */
export interface LockDeadline {
  /** Aborted when nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Milliseconds that its call may take from now on. */
  leftMs(): number;
}

export interface FetchLock<T> {
  /** Keys this caller is to fetch. */
  readonly mine: readonly string[];
  readonly epoch: number;
  /** Keys that another caller has under way. */
  readonly others: readonly string[];
  /** Gives some of `mine` back unfetched. */
  drop(keys: readonly string[]): Promise<void>;
  /** Another call is made under it, which may take so many milliseconds from now on. */
  prolong(leftMs: number): void;
  /**
   * Ends the lock: waiters in this process get the result at once; others are told to look when `kept`, the write to the
   * store, has settled.
   */
  succeed(result: T, kept?: Promise<unknown>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** Calls of this process that are under way. */
type UnderWay<T> = Map<string, Pending<T>>;

export type FetchLocks<T> = ReturnType<typeof createFetchLocks<T>>;

/** @param maxWaiting requests that may wait at once in this process */
export function createFetchLocks<T>(store: Leases, bus: Bus, logger: Logger, maxWaiting: number) {
  const underWay: UnderWay<T> = new Map();
  const leases = createLockLeases(store, logger);
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
    /**
     * @param epoch the newest purge known: a request after one does not wait for a fetch that began before it
     * @param patience where it is spent, the store is told and not waited for: every key is taken for granted
     * @throws the reason of the signal when it was aborted meanwhile: then nothing is held
     */
    async tryTake(
      keys: readonly string[],
      epoch: number,
      { signal, leftMs }: LockDeadline,
      patience: Patience = newPatience(),
    ): Promise<FetchLock<T>> {
      const nameOf = (key: string) => lockName(key, epoch);
      const local = keys.filter((key) => underWay.has(nameOf(key)));
      const free = keys.filter((key) => !underWay.has(nameOf(key)));
      // Entered before the leases are requested: a second caller in this process must not request them too.
      for (const key of free) underWay.set(nameOf(key), createPending());
      // Of this lock alone: a lease is kept up while the result is written, and must not be taken for another's.
      const owner = randomId();
      const { held, settled } = await leases.take(free.map(nameOf), owner, patience);
      const granted = free.filter((_, index) => held[index]);
      const foreign = free.filter((_, index) => !held[index]);
      settle(foreign.map(nameOf), (pending) => pending.resolve(null));
      if (signal.aborted) {
        // The caller has given up, and will not end it.
        settle(granted.map(nameOf), (pending) => pending.resolve(null));
        await leases.release(granted.map(nameOf), { owner, settled, patience });
        throw signal.reason;
      }
      const granting = { granted, others: [...local, ...foreign], epoch, owner, settled, patience };
      return holdLock(granting, leftMs(), { leases, logger, settle });
    },
    /** Whether calls of this process have all of these keys under way. */
    areUnderWay: (keys: readonly string[], epoch: number): boolean =>
      keys.every((key) => underWay.has(lockName(key, epoch))),
    /**
     * Waits until some of `others` were fetched, or may be free again.
     * @returns the result of a call in this process; null when another replica had it: look into the store
     * @throws the error of the call in this process that was to fetch a key; GatewayError `overloaded`, or
     *   `upstream_timeout` when `signal` ends the wait
     */
    async wait(
      { others, epoch }: Pick<FetchLock<T>, 'others' | 'epoch'>,
      signal: AbortSignal,
    ): Promise<T | null> {
      if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
      waiting += 1;
      const names = others.map((key) => lockName(key, epoch));
      return await firstResult(names, underWay, wakers, signal).finally(() => {
        waiting -= 1;
      });
    },
    get waiting(): number {
      return waiting;
    },
    stop: unsubscribe,
  };
}

async function firstResult<T>(
  names: readonly string[],
  underWay: UnderWay<T>,
  wakers: ReturnType<typeof createWakers>,
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

/** A lock in hand. @param leftMs how long its call may take from now on */
function holdLock<T>(
  granting: Release & {
    readonly granted: readonly string[];
    readonly others: readonly string[];
    readonly epoch: number;
  },
  leftMs: number,
  options: {
    readonly leases: ReturnType<typeof createLockLeases>;
    readonly logger: Logger;
    /** Tells those who wait in this process for these names. */
    readonly settle: (names: readonly string[], tell: (pending: Pending<T>) => void) => void;
  },
): FetchLock<T> {
  const { granted, others, epoch, owner } = granting;
  const { leases, logger, settle } = options;
  const nameOf = (key: string) => lockName(key, epoch);
  const mine = new Set(granted);
  /** Keys whose lease is kept up: until their result is in the store. */
  const leased = new Set(granted);
  const renewal = startTicks(() => void leases.renew([...leased].map(nameOf), owner), RENEW_MS).unref();
  let life = startTimer(expire, leftMs + GRACE_MS).unref();

  function letGoOf(keys: readonly string[]): Promise<void> {
    const names = keys.filter((key) => leased.delete(key)).map(nameOf);
    if (leased.size === 0) {
      stopTicks(renewal);
      stopTimer(life);
    }
    return leases.release(names, granting);
  }

  function expire(): void {
    logger.warn({ keys: leased.size }, 'released fetch locks that outlived their call');
    // Keys that were ended before may be another caller's in this process by now.
    const open = [...mine];
    mine.clear();
    settle(open.map(nameOf), (pending) => pending.resolve(null));
    void letGoOf([...leased]);
  }

  async function end(
    keys: readonly string[],
    tell: (pending: Pending<T>) => void,
    kept?: Promise<unknown>,
  ): Promise<void> {
    const ended = keys.filter((key) => mine.delete(key));
    settle(ended.map(nameOf), tell);
    // Else at once: a waiter in this process locks next, and must find the lease free.
    if (kept !== undefined) await kept.catch(() => {});
    await letGoOf(ended);
  }
  if (mine.size === 0) void letGoOf([]);
  return {
    epoch,
    mine: granted,
    others,
    drop: (dropped) => end(dropped, (pending) => pending.resolve(null)),
    prolong(forMs) {
      if (mine.size === 0) return;
      stopTimer(life);
      life = startTimer(expire, forMs + GRACE_MS).unref();
    },
    succeed: (result, kept) => end([...mine], (pending) => pending.resolve(result), kept),
    fail: (error) => end([...mine], (pending) => pending.reject(error)),
  };
}

/** What a lease is released with. */
interface Release {
  /** The holder: one for each lock. */
  readonly owner: string;
  /** Resolves when the store has answered whether they are held; null: it has. */
  readonly settled: Promise<unknown> | null;
  readonly patience: Patience;
}

/** Locks between replicas: leases of the store on their names, kept up while they are held. */
function createLockLeases(leases: Leases, logger: Logger) {
  /** Never rejects. */
  async function tellReplicas(names: readonly string[], { owner, patience }: Release): Promise<void> {
    try {
      await leases.release(names.map(leaseOf), owner, { channel: RELEASED, message: names.join(' ') });
    } catch (error) {
      patience.isSpent = true;
      logger.debug({ err: error }, 'failed to release a fetch lock; it expires by itself');
    }
  }

  return {
    /**
     * A store that is away, or late, locks nothing: every replica then fetches for itself.
     * @returns for each name, whether it is held now
     */
    async take(
      names: readonly string[],
      owner: string,
      patience: Patience,
    ): Promise<Pick<Release, 'settled'> & { readonly held: readonly boolean[] }> {
      const all = names.map(() => true);
      if (names.length === 0) return { held: all, settled: null };
      const asked = leases.claim(names.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
        patience.isSpent = true;
        logger.debug({ err: error }, 'fetch lock unavailable; replicas may fetch the same days');
        return all;
      });
      if (patience.isSpent) return { held: all, settled: asked };
      let late: Timer | undefined;
      const waited = new Promise<null>((resolve) => {
        late = startTimer(() => resolve(null), GRANT_MS);
      });
      const held = await Promise.race([asked, waited]);
      stopTimer(late);
      if (held !== null) return { held, settled: null };
      patience.isSpent = true;
      return { held: all, settled: asked };
    },
    /** Never rejects. */
    async renew(names: readonly string[], owner: string): Promise<void> {
      await leases.renew(names.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
        logger.debug({ err: error }, 'failed to renew a fetch lock; another replica may fetch the same days');
      });
    },
    /** A release must not overtake the store's answer to the taking. Never rejects. */
    async release(names: readonly string[], how: Release): Promise<void> {
      if (names.length === 0) return;
      const tell = () => tellReplicas(names, how);
      const released = how.settled === null ? tell() : how.settled.then(tell);
      if (!how.patience.isSpent) await released;
    },
  };
}

/** Beside the entry, in its slot. */
function leaseOf(name: string): string {
  return `${name}:lease`;
}

/** A promise that is settled from outside. */
interface Pending<T> {
  readonly promise: Promise<T | null>;
  resolve(result: T | null): void;
  reject(error: unknown): void;
}

function createPending<T>(): Pending<T> {
  let resolve: Pending<T>['resolve'] = () => {};
  let reject: Pending<T>['reject'] = () => {};
  const promise = new Promise<T | null>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  // There may be no waiter; the caller is told of its failure anyway.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** Requests that wait for keys that other replicas have under way. */
function createWakers() {
  const wakers = new Map<string, Set<() => void>>();
  return {
    /** These keys were released: a request that waits for one of them looks. */
    wake(keys: readonly string[]): void {
      for (const key of keys) for (const wake of wakers.get(key) ?? []) wake();
    },
    /** Resolves, with nothing in hand, when one of the keys was released elsewhere, or when it is time to look. */
    woken(keys: readonly string[], pollMs: number): Promise<null> {
      return new Promise((resolve) => {
        const wake = () => {
          stopTimer(timer);
          for (const key of keys) {
            const set = wakers.get(key);
            set?.delete(wake);
            if (set?.size === 0) wakers.delete(key);
          }
          resolve(null);
        };
        const timer = startTimer(wake, pollMs);
        for (const key of keys) {
          const set = wakers.get(key) ?? new Set();
          set.add(wake);
          wakers.set(key, set);
        }
      });
    },
  };
}
