/**
 * Who fetches what: within this process by promises, between replicas by leases on single keys. A key is claimed
 * only for the time of one platform call; whoever wants it meanwhile waits for that call and no other.
 *
 * A claim ends by itself: one that is granted when its call was given up is let go at once, and none is renewed for
 * longer than its call may take, whatever becomes of the code that took it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { Bus, Leases } from '../store/port.js';
import { createPending, type Pending, rejectOnAbort } from './pending.js';
import { newPatience, type Patience } from './store-patience.js';
import { createWakers } from './wakers.js';

const LEASE_MS = 4000;
const RENEW_MS = 1000;
/** How often a key that another replica holds is looked at, when its message is lost. */
const POLL_MS = 200;
const CHANNEL = 'released';
/** How long a claim may outlive the time of its call: the answer is kept meanwhile. */
const GRACE_MS = 5000;
/** Longest wait for the store to grant locks; after it they count as granted, as with a store that is away. */
const GRANT_MS = 250;

/** Until when a claim is wanted. */
export interface ClaimDeadline {
  /** Aborted when nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Milliseconds that its call may take from now on. */
  leftMs(): number;
}

export interface Claim<T> {
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
   * Ends the claim: those who wait in this process get what was brought at once; others are told to look when `kept`,
   * the write to the store, has settled.
   */
  succeed(brought: T, kept?: Promise<unknown>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

export interface Claims<T> {
  /**
   * @param epoch the newest purge known: whoever asks after one does not wait for what was asked for before it
   * @param patience where it is spent, the store is told and not waited for: every key is taken for granted
   * @throws the reason of the signal when it was aborted meanwhile: then nothing is held
   */
  take(
    keys: readonly string[],
    epoch: number,
    deadline: ClaimDeadline,
    patience?: Patience,
  ): Promise<Claim<T>>;
  /** Whether calls of this process have all of these keys under way. */
  areUnderWay(keys: readonly string[], epoch: number): boolean;
  /**
   * Waits until some of `others` were brought, or may be free again.
   * @returns what a call in this process brought; null when another replica had it: look into the store
   * @throws the error of the call in this process that was to bring a key; GatewayError `overloaded`, or
   *   `upstream_timeout` when `signal` ends the wait
   */
  wait(claim: Pick<Claim<T>, 'others' | 'epoch'>, signal: AbortSignal): Promise<T | null>;
  readonly waiting: number;
  stop(): void;
}

export interface ClaimsOptions {
  readonly leases: Leases;
  readonly bus: Bus;
  readonly logger: Logger;
  /** Askers that may wait at once in this process. */
  readonly maxWaiting: number;
}

export function createClaims<T>({ leases, bus, logger, maxWaiting }: ClaimsOptions): Claims<T> {
  const underWay = new Map<string, Pending<T>>();
  const wakers = createWakers();
  let waiting = 0;

  const unsubscribe = bus.subscribe(CHANNEL, (message) => {
    wakers.wake(message.split(' '));
  });

  async function take(
    keys: readonly string[],
    epoch: number,
    { signal, leftMs }: ClaimDeadline,
    patience: Patience = newPatience(),
  ): Promise<Claim<T>> {
    const nameOf = (key: string) => claimName(key, epoch);
    const local = keys.filter((key) => underWay.has(nameOf(key)));
    const free = keys.filter((key) => !underWay.has(nameOf(key)));
    // Entered before the leases are asked for: a second asker in this process must not ask for them too.
    for (const key of free) underWay.set(nameOf(key), createPending());
    // Of this one alone: a lease is kept up while what was brought is written, and must not be taken for another's.
    const owner = randomUUID();
    const { held, settled } = await claimAll(free.map(nameOf), owner, patience);
    const granted = free.filter((_, index) => held[index]);
    const foreign = free.filter((_, index) => !held[index]);
    settle(foreign.map(nameOf), (pending) => pending.resolve(null));
    if (signal.aborted) {
      // Whoever asked has given up, and will not end it.
      settle(granted.map(nameOf), (pending) => pending.resolve(null));
      await release(granted.map(nameOf), { owner, settled, patience });
      throw signal.reason;
    }
    return hold({ granted, others: [...local, ...foreign], epoch, settled, owner }, leftMs(), patience);
  }

  function hold(granting: Granting, leftMs: number, patience: Patience): Claim<T> {
    const { granted, others, epoch, settled, owner } = granting;
    const nameOf = (key: string) => claimName(key, epoch);
    const mine = new Set(granted);
    /** Those whose lease is kept up: until what was brought for them is in the store. */
    const leased = new Set(granted);
    const renewal = setInterval(() => void renew([...leased].map(nameOf), owner), RENEW_MS).unref();
    let life = setTimeout(expire, leftMs + GRACE_MS).unref();

    function letGoOf(keys: readonly string[]): Promise<void> {
      const names = keys.filter((key) => leased.delete(key)).map(nameOf);
      if (leased.size === 0) {
        clearInterval(renewal);
        clearTimeout(life);
      }
      return release(names, { owner, settled, patience });
    }

    function expire(): void {
      logger.warn({ keys: leased.size }, 'a fetch lock outlived its call; it is let go');
      const keys = [...leased];
      for (const key of keys) mine.delete(key);
      settle(keys.map(nameOf), (pending) => pending.resolve(null));
      void letGoOf(keys);
    }

    /** What was ended before may be somebody else's by now. */
    async function end(
      keys: readonly string[],
      tell: (pending: Pending<T>) => void,
      kept?: Promise<unknown>,
    ): Promise<void> {
      const ended = keys.filter((key) => mine.delete(key));
      settle(ended.map(nameOf), tell);
      // Else at once: whoever waits in this process claims next, and must find the lease free.
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
        clearTimeout(life);
        life = setTimeout(expire, forMs + GRACE_MS).unref();
      },
      succeed: (brought, kept) => end([...mine], (pending) => pending.resolve(brought), kept),
      fail: (error) => end([...mine], (pending) => pending.reject(error)),
    };
  }

  function settle(keys: readonly string[], tell: (pending: Pending<T>) => void): void {
    for (const key of keys) {
      const pending = underWay.get(key);
      underWay.delete(key);
      if (pending !== undefined) tell(pending);
    }
  }

  /** A store that is away, or late, claims nothing: every replica then fetches for itself. */
  async function claimAll(
    keys: readonly string[],
    owner: string,
    patience: Patience,
  ): Promise<{ readonly held: readonly boolean[]; readonly settled: Promise<unknown> | null }> {
    const all = keys.map(() => true);
    if (keys.length === 0) return { held: all, settled: null };
    const asked = leases.claim(keys.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
      patience.isSpent = true;
      logger.debug({ err: error }, 'fetch lock unavailable: replicas may ask twice');
      return all;
    });
    if (patience.isSpent) return { held: all, settled: asked };
    const late = new AbortController();
    const waited = sleep(GRANT_MS, null, { signal: late.signal }).catch(() => null);
    const held = await Promise.race([asked, waited]);
    late.abort();
    if (held !== null) return { held, settled: null };
    patience.isSpent = true;
    return { held: all, settled: asked };
  }

  async function renew(keys: readonly string[], owner: string): Promise<void> {
    await leases.renew(keys.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
      logger.debug({ err: error }, 'a fetch lock could not be renewed; another replica may ask too');
    });
  }

  /** A release must not overtake the store's answer to the claim. Never rejects. */
  async function release(keys: readonly string[], { owner, settled, patience }: Release): Promise<void> {
    if (keys.length === 0) return;
    const tell = () => tellReplicas(keys, owner, patience);
    const released = settled === null ? tell() : settled.then(tell);
    if (!patience.isSpent) await released;
  }

  /** Never rejects. */
  async function tellReplicas(keys: readonly string[], owner: string, patience: Patience): Promise<void> {
    try {
      await leases.release(keys.map(leaseOf), owner);
      await bus.publish(CHANNEL, keys.join(' '));
    } catch (error) {
      patience.isSpent = true;
      logger.debug({ err: error }, 'a fetch lock could not be released; it ends by itself');
    }
  }

  async function wait(
    { others, epoch }: Pick<Claim<T>, 'others' | 'epoch'>,
    signal: AbortSignal,
  ): Promise<T | null> {
    if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
    waiting += 1;
    const giveUp = rejectOnAbort(signal);
    try {
      const names = others.map((key) => claimName(key, epoch));
      const local = names.flatMap((name) => underWay.get(name)?.promise ?? []);
      const foreign = names.filter((name) => !underWay.has(name));
      return await Promise.race([
        ...local,
        giveUp.promise,
        ...(foreign.length > 0 ? [wakers.woken(foreign, POLL_MS)] : []),
      ]);
    } finally {
      giveUp.stop();
      waiting -= 1;
    }
  }

  return {
    take,
    areUnderWay: (keys, epoch) => keys.every((key) => underWay.has(claimName(key, epoch))),
    wait,
    get waiting() {
      return waiting;
    },
    stop: unsubscribe,
  };
}

/** What a lease is released with. */
interface Release {
  /** Who holds it: one owner for each claim. */
  readonly owner: string;
  /** Resolves when the store has answered the claim; null: it has. */
  readonly settled: Promise<unknown> | null;
  readonly patience: Patience;
}

/** What came of asking for keys. */
interface Granting extends Omit<Release, 'patience'> {
  readonly granted: readonly string[];
  readonly others: readonly string[];
  readonly epoch: number;
}

function claimName(key: string, epoch: number): string {
  return `${key}@${epoch}`;
}

/** Beside the entry, in its slot. */
function leaseOf(name: string): string {
  return `${name}:lease`;
}
