import { Cluster } from 'ioredis';
import type { StoreLog } from '../log.js';
import type { RedisClient } from './connection.js';
import { describeFailure } from './failure.js';

export interface WatchOptions {
  readonly client: RedisClient;
  /** What the connection is for, in log lines. */
  readonly role: string;
  readonly logger: StoreLog;
  /** Whether the client is still the one in use; of others nothing is said. */
  readonly inUse: () => boolean;
  readonly onFault: (fault: string) => void;
  readonly onReady: () => void;
}

/** Tells of a client's faults, and logs once, not at every retry, that its connection was lost or is back. */
export function watchConnection({ client, role, logger, inUse, onFault, onReady }: WatchOptions): void {
  let fault = 'closed by the other side';
  let lost = false;

  function failed(error: unknown): void {
    fault = describeFailure(error);
    if (inUse()) onFault(fault);
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
    onReady();
  });
  if (client instanceof Cluster) {
    client.on('-node', () => {
      if (inUse()) logger.warn({ role, fault }, 'a node of the Redis cluster was lost');
    });
  }
}
