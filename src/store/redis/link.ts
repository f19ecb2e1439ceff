import { Cluster } from 'ioredis';
import type { Clock } from '../../clock.js';
import { turn } from '../../time.js';
import type { StoreLog } from '../log.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import { bounded } from './bounded.js';
import { disconnect } from './connect.js';
import type { RedisClient } from './connection.js';
import { describeFailure, isAnswer, isOutOfMemory, unavailable } from './failure.js';
import { type OnRedisCall, observed } from './observed.js';
import { createReachability, type Reachability } from './reachability.js';

export interface LinkOptions {
  /** A client that has connected. */
  readonly client: RedisClient;
  /** What the connection is for, in log lines. */
  readonly role: string;
  /** Longest time a call takes. */
  readonly timeoutMs: number;
  /** Redis refused a write for lack of memory. */
  readonly onOutOfMemory?: () => void;
  /** Told of every call when it is over; absent where nobody wants to know. */
  readonly onCall?: OnRedisCall | undefined;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/** The one way to a Redis: every call ends in time, and calls are not tried while nothing answers. */
export interface Link {
  /** @throws StoreUnavailable whenever `run` fails; it holds no secret. */
  call<T>(run: (client: RedisClient) => Promise<T>): Promise<T>;
  health(): StoreHealth;
  /** Later calls go to `next`; those in flight end on the client they were sent to. */
  swap(next: RedisClient): Promise<void>;
  close(): Promise<void>;
}

export function createLink(options: LinkOptions): Link {
  const { client, role, timeoutMs, onCall, clock, logger } = options;
  let current = client;
  let closed = false;
  const server = createReachability({
    role,
    timeoutMs,
    probe: async () => {
      await bounded(current.ping(), timeoutMs, (error) => {
        if (error === undefined) server.late();
      });
    },
    clock,
    logger,
  });
  watch(client);

  function watch(watched: RedisClient): void {
    watchConnection(watched, () => watched === current && !closed, server, options);
  }

  async function call<T>(run: (client: RedisClient) => Promise<T>): Promise<T> {
    const { ok, reason } = health();
    if (!ok) throw unavailable(reason ?? 'not connected to Redis');
    const used = current;
    // What comes from a server that was moved away from says nothing of the one in use.
    const inUse = () => used === current;
    const outcomes = {
      heard: () => inUse() && server.heard(),
      late: server.late,
      unanswered: (fault: string) => inUse() && server.unanswered(fault),
      outOfMemory: () => inUse() && options.onOutOfMemory?.(),
    };
    if (onCall === undefined) return await attempt(run(used), timeoutMs, outcomes);
    return await observed(used, (seen) => attempt(run(seen), timeoutMs, outcomes), onCall);
  }

  function health(): StoreHealth {
    if (closed) return { ok: false, reason: 'the store is closed' };
    const answers = server.health();
    if (!answers.ok || current.status === 'ready') return answers;
    return { ok: false, reason: `not connected to Redis: ${server.fault}` };
  }

  return {
    call,
    health,
    async swap(next) {
      const previous = current;
      current = next;
      watch(next);
      server.heard();
      // Reads of this turn are not sent yet, see read-batches.ts.
      await turn();
      await disconnect(previous, timeoutMs);
    },
    async close() {
      closed = true;
      server.stop();
      await turn();
      await disconnect(current, timeoutMs);
    },
  };
}

interface Outcomes {
  /** The server answered in time, be it with an error. */
  heard(): void;
  /** It answered when nobody waited any more. */
  late(): void;
  unanswered(fault: string): void;
  outOfMemory(): void;
}

async function attempt<T>(work: Promise<T>, limitMs: number, outcomes: Outcomes): Promise<T> {
  const { heard, late, unanswered, outOfMemory } = outcomes;
  try {
    const result = await bounded(work, limitMs, (error) => {
      if (error === undefined || isAnswer(error)) late();
    });
    heard();
    return result;
  } catch (error) {
    if (isAnswer(error)) {
      heard();
      if (!isOutOfMemory(error)) throw unavailable('Redis refused the call', error);
      outOfMemory();
      throw new StoreUnavailable(`Redis has no memory left: ${describeFailure(error)}`, 'no-room');
    }
    unanswered(describeFailure(error));
    throw unavailable('Redis did not answer', error);
  }
}

/**
 * Tells of a client's faults, and logs once, not at every retry, that its connection was lost or is back.
 * @param inUse whether the client is still the one in use; of others nothing is said
 */
function watchConnection(
  client: RedisClient,
  inUse: () => boolean,
  server: Pick<Reachability, 'failed' | 'heard'>,
  { role, logger }: Pick<LinkOptions, 'role' | 'logger'>,
): void {
  let fault = 'closed by the other side';
  let lost = false;

  function failed(error: unknown): void {
    fault = describeFailure(error);
    if (inUse()) server.failed(fault);
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
    server.heard();
  });
  if (client instanceof Cluster) {
    client.on('-node', () => {
      if (inUse()) logger.warn({ role, fault }, 'a node of the Redis cluster was lost');
    });
  }
}
