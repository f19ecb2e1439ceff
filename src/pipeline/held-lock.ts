/**
 * A lock in hand. It ends by itself: its leases are renewed for no longer than its call may take, whatever becomes of
 * the code that took it.
 */
import type { Logger } from 'pino';
import { startTicks, startTimer, stopTicks, stopTimer } from '../time.js';
import type { LockLeases, Release } from './lock-leases.js';
import type { Pending } from './pending.js';

const RENEW_MS = 1000;

/** How long a lock may outlive the time of its call: the answer is kept meanwhile. */
const GRACE_MS = 5000;

export interface FetchLock<T> {
  /** Keys this caller is to fetch. */
  readonly mine: readonly string[];
  readonly epoch: number;
  /** Keys somebody else has under way. */
  readonly others: readonly string[];
  /** Gives some of `mine` back unfetched. */
  drop(keys: readonly string[]): Promise<void>;
  /** Another call is made under it, which may take so many milliseconds from now on. */
  prolong(leftMs: number): void;
  /**
   * Ends the lock: those who wait in this process get what was brought at once; others are told to look when `kept`,
   * the write to the store, has settled.
   */
  succeed(brought: T, kept?: Promise<unknown>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** What came of asking for keys. */
export interface Granting extends Release {
  readonly granted: readonly string[];
  readonly others: readonly string[];
  readonly epoch: number;
}

export interface HoldOptions<T> {
  readonly leases: LockLeases;
  readonly logger: Logger;
  readonly nameOf: (key: string) => string;
  /** Tells those who wait in this process for these names. */
  readonly settle: (names: readonly string[], tell: (pending: Pending<T>) => void) => void;
}

/** @param leftMs how long its call may take from now on */
export function holdLock<T>(granting: Granting, leftMs: number, options: HoldOptions<T>): FetchLock<T> {
  const { granted, others, epoch, owner } = granting;
  const { leases, logger, nameOf, settle } = options;
  const mine = new Set(granted);
  /** Those whose lease is kept up: until what was brought for them is in the store. */
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
    logger.warn({ keys: leased.size }, 'a fetch lock outlived its call; it is let go');
    // What was ended before may be somebody else's in this process by now.
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
    // Else at once: whoever waits in this process locks next, and must find the lease free.
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
    succeed: (brought, kept) => end([...mine], (pending) => pending.resolve(brought), kept),
    fail: (error) => end([...mine], (pending) => pending.reject(error)),
  };
}
