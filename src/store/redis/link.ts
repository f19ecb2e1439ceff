import { Cluster } from 'ioredis';
import type { Clock } from '../../lib/clock.js';
import { startTimer, stopTimer, type Timer, turn, uptimeMs } from '../../lib/time.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import type { StoreLog } from '../refused.js';
import { disconnect, type RedisClient, retryDelayMs } from './connect.js';
import { bounded, describeFailure, isAnswer, isOutOfMemory, unavailable } from './failure.js';

/** A call of Redis that has ended: a command, a script, or a batch of them. */
export interface RedisCall {
  readonly name: string;
  /** By `uptimeMs()`. */
  readonly startedMs: number;
  readonly failed: boolean;
}

export interface LinkOptions {
  /** A client that has connected. */
  readonly client: RedisClient;
  /** Purpose of the connection, for the log. */
  readonly role: string;
  /** Longest time a call takes. */
  readonly timeoutMs: number;
  /** Called when Redis refused a write for lack of memory. */
  readonly onOutOfMemory: () => void;
  /** Called after every call. */
  readonly onCall?: ((call: RedisCall) => void) | undefined;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/** How long a server is called slow after a late answer: probes are made more often. */
const SLOW_FOR_MS = 10_000;
const TOO_LATE =
  'Redis answers, but too late; calls are refused until it answers in time. Bring it closer, or raise redis.timeoutMs';

export type Link = ReturnType<typeof createLink>;

/** The only way to a Redis: every call ends in time, and none is made while Redis does not answer. */
export function createLink(options: LinkOptions) {
  const { role, timeoutMs, onOutOfMemory, onCall, clock, logger } = options;
  let current = options.client;
  let closed = false;
  let fault = 'the connection was closed';
  let lateAtMs = Number.NEGATIVE_INFINITY;
  const isSlow = () => clock.monotonicMs() - lateAtMs < SLOW_FOR_MS;
  const late = (error?: unknown) => {
    if (error === undefined || isAnswer(error)) lateAtMs = clock.monotonicMs();
  };
  const circuit = createCircuit({
    clock,
    patienceMs: 2 * timeoutMs,
    probe: () => bounded(current.ping(), timeoutMs, late),
    onChange: (open) => {
      if (!open) logger.info({ role }, 'Redis answers again');
      else if (isSlow()) logger.warn({ role, fault }, TOO_LATE);
      else logger.warn({ role, fault }, 'Redis does not answer; calls are refused until it does');
    },
  });
  watch(current);

  function watch(client: RedisClient): void {
    watchConnection(client, () => client === current && !closed, options, {
      failed: (what) => {
        fault = what;
      },
      ready: circuit.heard,
    });
  }

  function health(): StoreHealth {
    if (closed) return { ok: false, reason: 'the store is closed' };
    if (circuit.open)
      return isSlow()
        ? { ok: false, slow: true, reason: `Redis answers too late: ${fault}` }
        : { ok: false, reason: `Redis does not answer: ${fault}` };
    if (current.status === 'ready') return { ok: true };
    return { ok: false, reason: `not connected to Redis: ${fault}` };
  }

  async function attempt<T>(client: RedisClient, work: Promise<T>): Promise<T> {
    try {
      const result = await bounded(work, timeoutMs, late);
      if (client === current) circuit.heard();
      return result;
    } catch (error) {
      const [isAnswered, isFull] = [isAnswer(error), isOutOfMemory(error)];
      // The previous server says nothing about the current one.
      if (client === current) {
        if (isFull) onOutOfMemory();
        if (isAnswered) circuit.heard();
        else {
          fault = describeFailure(error);
          circuit.unanswered();
        }
      }
      if (isFull)
        throw new StoreUnavailable(`Redis has no memory left: ${describeFailure(error)}`, 'no-room');
      throw unavailable(isAnswered ? 'Redis refused the call' : 'Redis did not answer', error);
    }
  }

  return {
    /**
     * @param name of the call, for traces: a command or a script
     * @throws StoreUnavailable whenever `run` fails; it holds no secret
     */
    async call<T>(name: string, run: (client: RedisClient) => Promise<T>): Promise<T> {
      const { ok, reason } = health();
      if (!ok) throw unavailable(reason ?? 'not connected to Redis');
      if (onCall === undefined) return attempt(current, run(current));
      const startedMs = uptimeMs();
      let failed = true;
      try {
        const result = await attempt(current, run(current));
        failed = false;
        return result;
      } finally {
        onCall({ name, startedMs, failed });
      }
    },
    health,
    /** Sends later calls to `next`; those in flight end on their own client. */
    async swap(next: RedisClient): Promise<void> {
      const previous = current;
      current = next;
      watch(next);
      circuit.heard();
      // Reads of this turn are not sent yet, see read-batches.ts.
      await turn();
      await disconnect(previous, timeoutMs);
    },
    async close(): Promise<void> {
      closed = true;
      circuit.stop();
      await turn();
      await disconnect(current, timeoutMs);
    },
  };
}

/**
 * Reports a client's faults, and logs once that its connection was lost or is back.
 * @param inUse whether the client is the current one; faults of others are ignored
 */
function watchConnection(
  client: RedisClient,
  inUse: () => boolean,
  { role, logger }: Pick<LinkOptions, 'role' | 'logger'>,
  told: { failed(fault: string): void; ready(): void },
): void {
  let fault = 'closed by the other side';
  let lost = false;

  function failed(error: unknown): void {
    fault = describeFailure(error);
    if (inUse()) told.failed(fault);
  }
  client.on('error', failed);
  client.on('node error', failed);
  client.on('close', () => {
    if (!inUse() || lost) return;
    lost = true;
    logger.warn({ role, fault }, 'the connection to Redis was lost; reconnecting');
  });
  client.on('ready', () => {
    if (!inUse()) return;
    if (lost) logger.info({ role }, 'the connection to Redis is back');
    lost = false;
    told.ready();
  });
  if (client instanceof Cluster) {
    client.on('-node', () => {
      if (inUse()) logger.warn({ role, fault }, 'a node of the Redis cluster was lost');
    });
  }
}

/** So many unanswered calls in a row, … */
const FAILURES = 5;

/**
 * Decides whether calls to a server are made. While it is open, none is made, and the server is probed with growing,
 * random pauses until it answers.
 */
export function createCircuit(options: {
  readonly clock: Clock;
  /** … over at least this time open the circuit. A hiccup of many calls at once is shorter. */
  readonly patienceMs: number;
  /** A cheap call to the server; rejects when it does not answer in time. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (open: boolean) => void;
}) {
  const { clock, patienceMs, probe, onChange } = options;
  let stopped = false;
  let failures = 0;
  let failingSinceMs = 0;
  /** Of probes, while the circuit is open. */
  let timer: Timer | null = null;

  function probeLater(attempt: number): void {
    const mine = startTimer(() => {
      probe().then(heard, () => {
        // Another timer probes if the circuit was closed and opened again meanwhile.
        if (timer === mine && !stopped) probeLater(attempt + 1);
      });
    }, retryDelayMs(attempt)).unref();
    timer = mine;
  }

  /** To be called when the server answered in time, even with an error. */
  function heard(): void {
    failures = 0;
    if (timer === null) return;
    stopTimer(timer);
    timer = null;
    onChange(false);
  }

  return {
    get open() {
      return timer !== null;
    },
    heard,
    /** To be called when a call ended without an answer in time. */
    unanswered(): void {
      if (timer !== null || stopped) return;
      if (failures === 0) failingSinceMs = clock.monotonicMs();
      failures += 1;
      if (failures < FAILURES || clock.monotonicMs() - failingSinceMs < patienceMs) return;
      onChange(true);
      probeLater(1);
    },
    /** Ends the probing. */
    stop(): void {
      stopped = true;
      if (timer !== null) stopTimer(timer);
    },
  };
}
