import type { StoreLog } from '../log.js';
import type { Unconfirmed } from '../port.js';
import type { Replicas } from './durable-scripts.js';
import { describeFailure, unwrap } from './failure.js';
import type { Link } from './link.js';

export interface ReplicaWait {
  readonly link: Link;
  /** Longest wait for replicas to confirm a change. */
  readonly replicaWaitMs: number;
  /** So many replicas have to confirm a change, or who made it is told. */
  readonly minReplicas: number;
  readonly logger: StoreLog;
}

/**
 * Waits until the replicas have the change made last. It is made already: when they do not confirm, that is said,
 * for a failover now could lose it. Those not heard from for seconds are not waited for: each would cost the full
 * time.
 *
 * @param key leads to the server of the change, in a cluster too
 * @param what says in the log which change it was
 * @returns by how many it was confirmed, when they are fewer than `minReplicas`
 */
export async function awaitReplicas(
  key: string,
  [connected, attentive]: Replicas,
  what: object,
  { link, replicaWaitMs, minReplicas, logger }: ReplicaWait,
): Promise<Unconfirmed | null> {
  // INFO may be forbidden to this user, and then none are known of.
  const waitFor = connected === 0 ? minReplicas : attentive;
  if (connected === 0 && minReplicas === 0) return null;
  let confirmed = 0;
  let fault = 'no answer in time';
  try {
    const [, count] = await link.call(async (client) =>
      unwrap(await client.pipeline().exists(key).wait(waitFor, replicaWaitMs).exec()),
    );
    confirmed = Number(count);
  } catch (error) {
    fault = describeFailure(error);
  }
  if (confirmed < connected || confirmed < minReplicas) {
    logger.warn(
      { ...what, replicas: connected, confirmed, minReplicas, fault },
      'a change was made, but not every replica of Redis has confirmed it',
    );
  }
  return confirmed < minReplicas ? { replicas: confirmed, wanted: minReplicas } : null;
}
