import { Cluster, type Redis } from 'ioredis';
import type { Clock } from '../../lib/clock.js';
import { startTimer, stopTimer, type Timer, turn, uptimeMs } from '../../lib/time.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import type { StoreLog } from '../refused.js';
import { disconnect, type RedisClient, retryDelayMs, serversOf } from './connect.js';
import { bounded, describeFailure, isAnswer, isOutOfMemory, unavailable } from './failure.js';

/** A call of Redis that has ended: a command, a script, or a batch of them. */
export interface RedisCall {
  readonly name: string;
  /** By `uptimeMs()`. */
  readonly startedMs: number;
  readonly failed: boolean;
}

export interface LinkOptions {
  /** Purpose of the connection, for the log. */
  readonly role: string;
  /** Of a call. */
  readonly timeoutMs: number;
  /** Redis refused a write for lack of memory. */
  readonly onOutOfMemory: () => void;
  /** Called after every call. */
  readonly onCall?: ((call: RedisCall) => void) | undefined;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/** How long a server counts as slow after a late answer; probes are more frequent. */
const SLOW_FOR_MS = 10_000;
const TOO_LATE =
  'Redis answers, but too late; calls are refused until it answers in time. Bring it closer, or raise redis.timeoutMs';

/** All calls of a Redis: each ends in time, and none is made while Redis does not answer. */
export class Link {
  #closed = false;
  #fault = 'the connection was closed';
  #lateAtMs = Number.NEGATIVE_INFINITY;
  readonly #options: LinkOptions;
  readonly #circuit: ReturnType<typeof createCircuit>;

  /** @param client connected already */
  constructor(
    private client: RedisClient,
    options: LinkOptions,
  ) {
    const { role, timeoutMs, clock, logger } = options;
    this.#options = options;
    this.#circuit = createCircuit({
      clock,
      patienceMs: 2 * timeoutMs,
      probe: () => bounded(this.client.ping(), timeoutMs, this.#late),
      onChange: (open) => {
        if (!open) logger.info({ role }, 'Redis answers again');
        else if (this.#isSlow()) logger.warn({ role, fault: this.#fault }, TOO_LATE);
        else
          logger.warn({ role, fault: this.#fault }, 'Redis does not answer; calls are refused until it does');
      },
    });
    this.#watch(client);
  }

  /**
   * @param name a command or a script, for traces
   * @throws StoreUnavailable whenever `run` fails; it holds no secret
   */
  async call<T>(name: string, run: (client: RedisClient) => Promise<T>): Promise<T> {
    this.#requireHealth();
    const { onCall } = this.#options;
    if (onCall === undefined) return this.#attempt(this.client, run(this.client));
    const startedMs = uptimeMs();
    let failed = true;
    try {
      const result = await this.#attempt(this.client, run(this.client));
      failed = false;
      return result;
    } finally {
      onCall({ name, startedMs, failed });
    }
  }

  get isCluster(): boolean {
    return this.client instanceof Cluster;
  }

  /** Each server, of a cluster those with keys. @throws StoreUnavailable */
  servers(): readonly Redis[] {
    this.#requireHealth();
    return serversOf(this.client);
  }

  #requireHealth(): void {
    const { ok, reason } = this.health();
    if (!ok) throw unavailable(reason ?? 'not connected to Redis');
  }

  health(): StoreHealth {
    if (this.#closed) return { ok: false, reason: 'the store is closed' };
    if (this.#circuit.open)
      return this.#isSlow()
        ? { ok: false, slow: true, reason: `Redis answers too late: ${this.#fault}` }
        : { ok: false, reason: `Redis does not answer: ${this.#fault}` };
    if (this.client.status === 'ready') return { ok: true };
    return { ok: false, reason: `not connected to Redis: ${this.#fault}` };
  }

  /** Sends later calls to `next`; those in flight end on their own client. */
  async swap(next: RedisClient): Promise<void> {
    const previous = this.client;
    this.client = next;
    this.#watch(next);
    this.#circuit.heard();
    // Commands of this turn are not sent yet, see batches.ts.
    await turn();
    await disconnect(previous, this.#options.timeoutMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#circuit.stop();
    await turn();
    await disconnect(this.client, this.#options.timeoutMs);
  }

  #isSlow(): boolean {
    return this.#options.clock.monotonicMs() - this.#lateAtMs < SLOW_FOR_MS;
  }

  readonly #late = (error?: unknown): void => {
    if (error === undefined || isAnswer(error)) this.#lateAtMs = this.#options.clock.monotonicMs();
  };

  async #attempt<T>(client: RedisClient, work: Promise<T>): Promise<T> {
    try {
      const result = await bounded(work, this.#options.timeoutMs, this.#late);
      if (client === this.client) this.#circuit.heard();
      return result;
    } catch (error) {
      const [isAnswered, isFull] = [isAnswer(error), isOutOfMemory(error)];
      // The previous server says nothing about the current one.
      if (client === this.client) {
        if (isFull) this.#options.onOutOfMemory();
        if (isAnswered) this.#circuit.heard();
        else {
          this.#fault = describeFailure(error);
          this.#circuit.unanswered();
        }
      }
      if (isFull)
        throw new StoreUnavailable(`Redis has no memory left: ${describeFailure(error)}`, 'no-room');
      throw unavailable(isAnswered ? 'Redis refused the call' : 'Redis did not answer', error);
    }
  }

  /** Follows a client while it is the current one. Logs once that its connection was lost, or is back. */
  #watch(client: RedisClient): void {
    const { role, logger } = this.#options;
    let fault = 'closed by the other side';
    let lost = false;
    const whileInUse = (work: () => void) => () => {
      if (client === this.client && !this.#closed) work();
    };
    const failed = (error: unknown) => {
      fault = describeFailure(error);
      if (client === this.client && !this.#closed) this.#fault = fault;
    };
    client.on('error', failed);
    client.on('node error', failed);
    const onClose = whileInUse(() => {
      if (!lost) logger.warn({ role, fault }, 'the connection to Redis was lost; reconnecting');
      lost = true;
    });
    const onReady = whileInUse(() => {
      if (lost) logger.info({ role }, 'the connection to Redis is back');
      lost = false;
      this.#circuit.heard();
    });
    const onNodeLost = whileInUse(() => logger.warn({ role, fault }, 'a node of the Redis cluster was lost'));
    client.on('close', onClose);
    client.on('ready', onReady);
    if (client instanceof Cluster) client.on('-node', onNodeLost);
  }
}

/** Consecutive unanswered calls that open the circuit. */
const FAILURES = 5;

/** While it is open, no call is made, and the server is probed with growing, random pauses until it answers. */
export function createCircuit(options: {
  readonly clock: Clock;
  /** Minimum duration of the failures, as many calls may fail at once. */
  readonly patienceMs: number;
  /** A cheap call to the server; rejects when it does not answer in time. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (open: boolean) => void;
}) {
  const { clock, patienceMs, probe, onChange } = options;
  let stopped = false;
  let failures = 0;
  let failingSinceMs = 0;
  /** Of probes; null while the circuit is closed. */
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

  /** The server answered in time, even with an error. */
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
    /** A call ended without an answer in time. */
    unanswered(): void {
      if (timer !== null || stopped) return;
      if (failures === 0) failingSinceMs = clock.monotonicMs();
      failures += 1;
      if (failures < FAILURES || clock.monotonicMs() - failingSinceMs < patienceMs) return;
      onChange(true);
      probeLater(1);
    },
    stop(): void {
      stopped = true;
      if (timer !== null) stopTimer(timer);
    },
  };
}
