/**
 * What a team may ask of the gateway: so many requests a minute, shared by all replicas, and so many at once.
 *
 * A minute's requests may come together; after that one comes back every minute / limit (the generic cell rate
 * algorithm, whose burst is the limit). How many may run at once is split among the replicas.
 */

import { GatewayError } from '../../errors.js';
import type { Team } from '../auth/team.js';
import type { Allowances } from './allowance.js';
import type { Bucket } from './bucket.js';
import type { Replicas } from './replicas.js';

export interface RateStanding {
  /** Requests a minute. */
  readonly limit: number;
  readonly left: number;
  /** Seconds until all of them are there again or, where none is left, until there is one. */
  readonly resetS: number;
}

export type TeamLimits = ReturnType<typeof createTeamLimits>;

const MINUTE_MS = 60_000;

export function createTeamLimits(
  allowances: Pick<Allowances, 'take' | 'takeAtHand' | 'look'>,
  replicas: Pick<Replicas, 'share'>,
) {
  const running = new Map<string, number>();

  /** Further requests of the team that this replica would let in now. */
  const concurrencyLeft = ({ id, limits }: Team): number =>
    Math.max(0, replicas.share(limits.maxConcurrent) - (running.get(id) ?? 0));

  function begin({ id }: Team): () => void {
    running.set(id, (running.get(id) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (running.get(id) ?? 1) - 1;
      if (left === 0) running.delete(id);
      else running.set(id, left);
    };
  }

  async function charge(team: Team, leave: () => void): Promise<void> {
    const waitMs = await allowances.take(bucketOf(team));
    if (waitMs === null) return;
    leave();
    throw new GatewayError('rate_limited', {
      detail: `The team's ${team.limits.requestsPerMinute} requests a minute are used up.`,
      retryAfterS: Math.ceil(waitMs / 1000),
    });
  }

  return {
    /**
     * Charges a request to its team.
     * @param onResponseClosed told what to call when the request is over; it may be called more than once
     * @returns null where it is charged already, without the store
     * @throws GatewayError `rate_limited`, from the promise as well
     */
    enter(team: Team, onResponseClosed: (leave: () => void) => void): Promise<void> | null {
      if (concurrencyLeft(team) === 0) {
        throw new GatewayError('rate_limited', {
          detail: `The team has as many requests under way as it may (${team.limits.maxConcurrent} at once).`,
          retryAfterS: 1,
        });
      }
      const leave = begin(team);
      onResponseClosed(leave);
      return allowances.takeAtHand(bucketOf(team)) ? null : charge(team, leave);
    },
    /** Without asking the store. */
    rate(team: Team): RateStanding {
      const { left, nextInMs } = allowances.look(bucketOf(team));
      const limit = team.limits.requestsPerMinute;
      const fullInMs = ((limit - left) * MINUTE_MS) / limit;
      return { limit, left, resetS: Math.max(1, Math.ceil((left === 0 ? nextInMs : fullInMs) / 1000)) };
    },
    concurrencyLeft,
  };
}

/** A team whose limits are changed is another value. */
const buckets = new WeakMap<Team, Bucket>();

function bucketOf(team: Team): Bucket {
  const known = buckets.get(team);
  if (known !== undefined) return known;
  const { requestsPerMinute } = team.limits;
  const bucket = {
    key: `requests:${team.id}`,
    capacity: requestsPerMinute,
    refillPerMs: requestsPerMinute / MINUTE_MS,
    ttlMs: 2 * MINUTE_MS,
  };
  buckets.set(team, bucket);
  return bucket;
}
