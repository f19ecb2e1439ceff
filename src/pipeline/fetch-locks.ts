/**
 * Who fetches what: within this process by promises, between replicas by leases on single keys. A key is claimed
 * only for the time of one platform call; whoever wants it meanwhile waits for that call and no other.
 *
 * A claim ends by itself: one that is granted when its call was given up is let go at once, and none is renewed for
 * longer than its call may take, whatever becomes of the code that took it.
 */
import { randomUUID } from 'node:crypto';
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
  /** Ends the claim: those who wait in this process get what was brought, others are told to look. */
  succeed(brought: T): Promise<void>;
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
  const owner = randomUUID();
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
    const held = await claimAll(free.map(nameOf), patience);
    const granted = free.filter((_, index) => held[index]);
    const foreign = free.filter((_, index) => !held[index]);
    settle(foreign.map(nameOf), (pending) => pending.resolve(null));
    if (signal.aborted) {
      // Whoever asked has given up, and will not end it.
      settle(granted.map(nameOf), (pending) => pending.resolve(null));
      await letGo(granted.map(nameOf), patience);
      throw signal.reason;
    }
    return hold({ granted, others: [...local, ...foreign], epoch }, leftMs(), patience);
  }

  function hold({ granted, others, epoch }: Granted, leftMs: number, patience: Patience): Claim<T> {
    const nameOf = (key: string) => claimName(key, epoch);
    const mine = new Set(granted);
    const renewal = setInterval(() => void renew([...mine].map(nameOf)), RENEW_MS).unref();
    let life = setTimeout(expire, leftMs + GRACE_MS).unref();

    function stop(): void {
      clearInterval(renewal);
      clearTimeout(life);
    }

    function expire(): void {
      logger.warn({ keys: mine.size }, 'a fetch lock outlived its call; it is let go');
      void end([...mine], (pending) => pending.resolve(null));
    }

    /** What was let go of before may be somebody else's by now. */
    async function end(keys: readonly string[], tell: (pending: Pending<T>) => void): Promise<void> {
      const names = keys.filter((key) => mine.delete(key)).map(nameOf);
      if (mine.size === 0) stop();
      settle(names, tell);
      await letGo(names, patience);
    }
    if (mine.size === 0) stop();
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
      succeed: (brought) => end([...mine], (pending) => pending.resolve(brought)),
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

  /** A store that is away claims nothing: every replica then fetches for itself. */
  async function claimAll(keys: readonly string[], patience: Patience): Promise<readonly boolean[]> {
    if (keys.length === 0) return [];
    const asked = leases.claim(keys.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
      patience.isSpent = true;
      logger.debug({ err: error }, 'fetch lock unavailable: replicas may ask twice');
      return keys.map(() => true);
    });
    return patience.isSpent ? keys.map(() => true) : asked;
  }

  async function renew(keys: readonly string[]): Promise<void> {
    await leases.renew(keys.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
      logger.debug({ err: error }, 'a fetch lock could not be renewed; another replica may ask too');
    });
  }

  async function letGo(keys: readonly string[], patience: Patience): Promise<void> {
    if (keys.length === 0) return;
    const told = tellReplicas(keys, patience);
    if (!patience.isSpent) await told;
  }

  /** Never rejects. */
  async function tellReplicas(keys: readonly string[], patience: Patience): Promise<void> {
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

/** What came of asking for keys. */
interface Granted {
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
