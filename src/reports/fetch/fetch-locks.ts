/**
 * Locks on entries during a platform call: by promises in this process, by leases between replicas. A request for a locked key
 * waits for that call only. Locks expire: one granted after its call was aborted is released at once, and none is renewed for
 * longer than its call may take.
 */
import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { startTicks, startTimer, stopTicks, stopTimer, type Timer } from '../../lib/time.js';
import { within } from '../../platform/deadline.js';
import type { Claim, Claimed, DaysStore } from '../../store/days-port.js';
import type { Bus } from '../../store/port.js';
import { newPatience, type Patience } from '../question.js';

/** Interval at which a waiter looks for keys of other replicas, in case a message is lost. */
const POLL_MS = 200;
const RENEW_MS = 1000;
/** Time for writing the answer after the call. */
const GRACE_MS = 5000;
const LEASE_MS = 4000;
/** Longest wait for the store to grant locks; later they count as granted, as if the store were unavailable. */
const GRANT_MS = 250;
/** Channel with names of released locks. */
const RELEASED = 'released';

interface LockDeadline {
  /** Aborted when the caller gives up. */
  readonly signal: AbortSignal;
  /** Milliseconds that its call may take from now on. */
  leftMs(): number;
}

export interface FetchLock<T> {
  /** Keys that this caller fetches. */
  readonly mine: readonly string[];
  readonly epoch: number;
  /** Keys that another caller fetches. */
  readonly others: readonly string[];
  /** What the store said with the locks; null: it did not answer in time. */
  readonly claimed: Claimed | null;
  /** Releases some of `mine`, not fetched. */
  drop(keys: readonly string[]): Promise<void>;
  /** For another call, which may take so many milliseconds from now on. */
  prolong(leftMs: number): void;
  /** The release of `mine`, for a write that may carry it; undefined until the store has granted them. */
  handOver(): HandedOver | undefined;
  /** Waiters in this process get the result at once; other replicas are notified after `kept`, the write to the store. */
  succeed(result: T, kept?: Promise<unknown>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** Locks that end with a write, in the same command of the store. */
export interface HandedOver {
  readonly owner: string;
  readonly names: readonly string[];
  /** Set by the writer: they have ended, and the other replicas know. */
  isDone: boolean;
}

/** Keys that this process fetches, by lock name. */
type UnderWay<T> = Map<string, Pending<T>>;

export type FetchLocks<T> = ReturnType<typeof createFetchLocks<T>>;

/** Locks of one series that a call needs. */
export interface LocksWanted {
  readonly series: string;
  readonly keys: readonly string[];
  /** Months with the days that the call fetches, as they were read; see the port. */
  readonly known: Claim['known'];
  /** The newest purge known: a request after a purge does not wait for a fetch that began before it. */
  readonly epoch: number;
}

/** @param maxWaiting requests that may wait at once in this process */
export function createFetchLocks<T>(
  store: Pick<DaysStore, 'claim' | 'renew' | 'release'>,
  bus: Bus,
  logger: Logger,
  maxWaiting: number,
) {
  const underWay: UnderWay<T> = new Map();
  const leases = createLockLeases(store, logger);
  /** Emits the names of locks that other replicas released. */
  const released = new EventEmitter().setMaxListeners(0);
  const wake = (names: readonly string[]) => {
    for (const name of names) if (released.listenerCount(name) > 0) released.emit(name);
  };
  const unsubscribe = bus.subscribe(RELEASED, (message) => wake(message.split(' ')));
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
     * @param patience if spent, the store is not waited for: all keys count as granted
     * @throws the signal's reason if it was aborted meanwhile: then nothing is locked
     */
    async tryTake(
      { series, keys, known, epoch }: LocksWanted,
      { signal, leftMs }: LockDeadline,
      patience: Patience = newPatience(),
    ): Promise<FetchLock<T>> {
      const nameOf = (key: string) => lockName(key, epoch);
      const local = keys.filter((key) => underWay.has(nameOf(key)));
      const free = keys.filter((key) => !underWay.has(nameOf(key)));
      // Before the leases are requested: a second caller in this process must not request them too.
      for (const key of free) underWay.set(nameOf(key), createPending());
      // For this lock only: its lease is renewed while the result is written.
      const owner = randomId();
      const of = { series, owner };
      const { claimed, settled } = await leases.take({ ...of, known, names: free.map(nameOf) }, patience);
      const isHeld = (_key: string, index: number) => claimed?.held[index] ?? true;
      const granted = free.filter(isHeld);
      const foreign = free.filter((key, index) => !isHeld(key, index));
      settle(foreign.map(nameOf), (pending) => pending.resolve(null));
      if (signal.aborted) {
        settle(granted.map(nameOf), (pending) => pending.resolve(null));
        await leases.release(granted.map(nameOf), { ...of, settled, patience });
        throw signal.reason;
      }
      const granting = { granted, others: [...local, ...foreign], epoch, claimed, ...of, settled, patience };
      return holdLock(granting, leftMs(), { leases, logger, settle });
    },
    /** Whether this process fetches all of these keys. */
    areUnderWay: (keys: readonly string[], epoch: number): boolean =>
      keys.every((key) => underWay.has(lockName(key, epoch))),
    /**
     * Waits until some of `others` were fetched or released.
     * @returns the result of a call in this process; null: look into the store
     * @throws the error of a call in this process; GatewayError `overloaded`, or `upstream_timeout` when `signal` aborts
     */
    async wait(
      { others, epoch }: Pick<FetchLock<T>, 'others' | 'epoch'>,
      signal: AbortSignal,
    ): Promise<T | null> {
      if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
      waiting += 1;
      const names = others.map((key) => lockName(key, epoch));
      return await firstResult(names, underWay, released, signal).finally(() => {
        waiting -= 1;
      });
    },
    /** Names of locks that ended with a write of another replica. */
    wake,
    get waiting(): number {
      return waiting;
    },
    stop: unsubscribe,
  };
}

async function firstResult<T>(
  names: readonly string[],
  underWay: UnderWay<T>,
  released: EventEmitter,
  signal: AbortSignal,
): Promise<T | null> {
  const local = names.flatMap((name) => underWay.get(name)?.promise ?? []);
  const foreign = names.filter((name) => !underWay.has(name));
  const woken = foreign.length > 0 ? [oneReleased(released, foreign)] : [];
  return await within(signal, () => Promise.race([...local, ...woken])).catch((error: unknown) => {
    throw signal.aborted && error === signal.reason
      ? new GatewayError('upstream_timeout', { cause: error })
      : error;
  });
}

/** Resolves when another replica released one of the locks, or when it is time to look. */
function oneReleased(released: EventEmitter, names: readonly string[]): Promise<null> {
  return new Promise((resolve) => {
    const wake = () => {
      stopTimer(timer);
      for (const name of names) released.off(name, wake);
      resolve(null);
    };
    const timer = startTimer(wake, POLL_MS);
    for (const name of names) released.on(name, wake);
  });
}

function lockName(key: string, epoch: number): string {
  return `${key}@${epoch}`;
}

/** @param leftMs how long its call may take from now on */
function holdLock<T>(
  granting: Release & {
    readonly granted: readonly string[];
    readonly others: readonly string[];
    readonly epoch: number;
    readonly claimed: Claimed | null;
  },
  leftMs: number,
  options: {
    readonly leases: ReturnType<typeof createLockLeases>;
    readonly logger: Logger;
    /** Ends the wait for these names in this process. */
    readonly settle: (names: readonly string[], tell: (pending: Pending<T>) => void) => void;
  },
): FetchLock<T> {
  const { granted, others, epoch, claimed } = granting;
  const { leases, logger, settle } = options;
  const nameOf = (key: string) => lockName(key, epoch);
  const mine = new Set(granted);
  /** Keys whose lease is renewed, until their result is in the store. */
  const leased = new Set(granted);
  const renewal = startTicks(() => void leases.renew([...leased].map(nameOf), granting), RENEW_MS).unref();
  let life = startTimer(expire, leftMs + GRACE_MS).unref();

  let handedOver: HandedOver | null = null;

  function release(keys: readonly string[]): Promise<void> {
    const names = keys.filter((key) => leased.delete(key)).map(nameOf);
    if (leased.size === 0) {
      stopTicks(renewal);
      stopTimer(life);
    }
    const isOver = (name: string) => handedOver?.isDone === true && handedOver.names.includes(name);
    return leases.release(
      names.filter((name) => !isOver(name)),
      granting,
    );
  }

  function expire(): void {
    logger.warn({ keys: leased.size }, 'released fetch locks that outlived their call');
    // Other keys may belong to another caller of this process by now.
    const open = [...mine];
    mine.clear();
    settle(open.map(nameOf), (pending) => pending.resolve(null));
    void release([...leased]);
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
    await release(ended);
  }
  if (mine.size === 0) void release([]);
  return {
    epoch,
    mine: granted,
    others,
    claimed,
    drop: (dropped) => end(dropped, (pending) => pending.resolve(null)),
    handOver() {
      if (granting.settled !== null) return undefined;
      handedOver = { owner: granting.owner, names: [...mine].map(nameOf), isDone: false };
      return handedOver;
    },
    prolong(forMs) {
      if (mine.size === 0) return;
      stopTimer(life);
      life = startTimer(expire, forMs + GRACE_MS).unref();
    },
    succeed: (result, kept) => end([...mine], (pending) => pending.resolve(result), kept),
    fail: (error) => end([...mine], (pending) => pending.reject(error)),
  };
}

interface Release {
  readonly series: string;
  /** Lease holder, one for each lock. */
  readonly owner: string;
  /** The pending claim; null: the store has answered. */
  readonly settled: Promise<unknown> | null;
  readonly patience: Patience;
}

/** Locks between replicas, in the store. */
function createLockLeases(store: Pick<DaysStore, 'claim' | 'renew' | 'release'>, logger: Logger) {
  /** Never rejects. */
  async function tellReplicas(names: readonly string[], { series, owner, patience }: Release): Promise<void> {
    try {
      const news = { channel: RELEASED, message: names.join(' ') };
      await store.release(series, { owner, names, news });
    } catch (error) {
      patience.isSpent = true;
      logger.debug({ err: error }, 'failed to release a fetch lock; it expires by itself');
    }
  }

  return {
    /**
     * If the store is unavailable or slow, nothing is locked, and each replica fetches for itself.
     * @returns `claimed`: null if it did not answer in time: then all names count as held
     */
    async take(
      { series, ...claim }: Omit<Claim, 'leaseMs'> & Pick<Release, 'series'>,
      patience: Patience,
    ): Promise<Pick<Release, 'settled'> & { readonly claimed: Claimed | null }> {
      if (claim.names.length === 0) return { claimed: null, settled: null };
      const asked = store.claim(series, { ...claim, leaseMs: LEASE_MS }).catch((error: unknown) => {
        patience.isSpent = true;
        logger.debug({ err: error }, 'fetch lock unavailable; replicas may fetch the same days');
        return null;
      });
      if (patience.isSpent) return { claimed: null, settled: asked };
      let late: Timer | undefined;
      const waited = new Promise<'late'>((resolve) => {
        late = startTimer(() => resolve('late'), GRANT_MS);
      });
      const claimed = await Promise.race([asked, waited]);
      stopTimer(late);
      if (claimed !== 'late') return { claimed, settled: null };
      patience.isSpent = true;
      return { claimed: null, settled: asked };
    },
    /** Never rejects. */
    async renew(names: readonly string[], { series, owner }: Release): Promise<void> {
      await store.renew(series, { names, owner, leaseMs: LEASE_MS }).catch((error: unknown) => {
        logger.debug({ err: error }, 'failed to renew a fetch lock; another replica may fetch the same days');
      });
    },
    /** After the store's answer to the claim. Never rejects. */
    async release(names: readonly string[], how: Release): Promise<void> {
      if (names.length === 0) return;
      const tell = () => tellReplicas(names, how);
      const released = how.settled === null ? tell() : how.settled.then(tell);
      if (!how.patience.isSpent) await released;
    },
  };
}

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
  // There may be no waiter; the caller gets the error anyway.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
