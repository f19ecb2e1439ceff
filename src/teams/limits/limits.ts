/**
 * The limits of teams: requests a minute and at once, and platform calls a day. All replicas share them.
 *
 * A minute's requests may come together; after that one comes back every minute / limit (the generic cell rate
 * algorithm, whose burst is the limit). How many may run at once is split among the replicas.
 */
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { Charge } from '../../platform/slot.js';
import type { Store } from '../../store/port.js';
import type { Team } from '../auth/team.js';
import { Allowances, type Bucket } from './allowance.js';
import { createReplicas, type Replicas, type ReplicasOptions } from './replicas.js';

export type Limits = ReturnType<typeof createLimits>;

export function createLimits({
  store,
  clock,
  logger,
  teamOf,
  self = {},
}: {
  readonly store: Pick<Store, 'quotas' | 'presence'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The id of this process among all, and the information it publishes. */
  readonly self?: Pick<ReplicasOptions, 'id' | 'info'>;
  /** Undefined for ids that are not teams. */
  readonly teamOf: (id: string) => Team | undefined;
}) {
  const replicas = createReplicas({ presence: store.presence, logger, ...self });
  const allowances = new Allowances({ quotas: store.quotas, replicas, clock, logger });
  return {
    replicas,
    teams: createTeamLimits(allowances, replicas),
    shares: createDailyShares(allowances, teamOf, clock),
    /** Returns unused permits, and takes this replica off the list. */
    async close(): Promise<void> {
      await allowances.close();
      await replicas.leave();
    },
  };
}

export interface RateStanding {
  /** Requests a minute. */
  readonly limit: number;
  readonly left: number;
  /** Seconds until the limit is whole again or, where none is left, until there is one. */
  readonly resetS: number;
}

export type TeamLimits = ReturnType<typeof createTeamLimits>;

const MINUTE_MS = 60_000;

export function createTeamLimits(
  allowances: Pick<Allowances, 'take' | 'takeAtHand' | 'look'>,
  replicas: Pick<Replicas, 'share'>,
) {
  const running = new Map<string, number>();

  /** Concurrent requests of the team that this replica accepts: its part of `maxConcurrent`. */
  const concurrencyHere = ({ limits }: Team): number => replicas.share(limits.maxConcurrent);

  /** Further requests of the team that this replica would accept now. */
  const concurrencyLeft = (team: Team): number =>
    Math.max(0, concurrencyHere(team) - (running.get(team.id) ?? 0));

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
      detail: `The team has used up its ${team.limits.requestsPerMinute} requests per minute.`,
      retryAfterS: Math.ceil(waitMs / 1000),
    });
  }

  return {
    /**
     * Charges a request to its team.
     * @param onResponseClosed gets the function to call at the end of the request, which may be called more than once
     * @returns null where it is charged already, without the store
     * @throws GatewayError `rate_limited`, from the promise as well
     */
    enter(team: Team, onResponseClosed: (leave: () => void) => void): Promise<void> | null {
      if (concurrencyLeft(team) === 0) {
        const [here, all] = [concurrencyHere(team), team.limits.maxConcurrent];
        const ofAll = here === all ? '' : `, this replica's part of ${all}`;
        throw new GatewayError('rate_limited', {
          detail: `The team has reached its limit of ${here} concurrent requests${ofAll}.`,
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
    concurrencyHere,
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

const DAY_MS = 86_400_000;
const UNCOUNTED: Charge = { putBack() {} };

/**
 * Platform calls a day, by UTC.
 * @param teamOf undefined for ids that are not teams, such as the gateway itself, whose calls are not counted
 */
export function createDailyShares(
  allowances: Pick<Allowances, 'take' | 'putBack' | 'charge' | 'refresh' | 'isEmpty'>,
  teamOf: (id: string) => Team | undefined,
  clock: Clock,
) {
  const resetMs = () => (Math.floor(clock.now() / DAY_MS) + 1) * DAY_MS;
  const bucketOf = ({ id, limits }: Team): Bucket => ({
    key: `calls:${id}:${new Date(clock.now()).toISOString().slice(0, 10)}`,
    capacity: limits.upstreamCallsPerDay,
    refillPerMs: 0,
    // Drawn one by one, for each call: a permit that never comes back must not lie with a replica that may be killed.
    batch: 1,
    // Longer than a day: the clocks of other replicas may be ahead or behind.
    ttlMs: 2 * DAY_MS,
  });
  const exhausted = ({ limits }: Team) =>
    new GatewayError('upstream_budget_exhausted', {
      detail: `The team has used up its ${limits.upstreamCallsPerDay} platform calls of this UTC day; cached reports are still served.`,
      retryAfterS: Math.max(1, Math.ceil((resetMs() - clock.now()) / 1000)),
    });

  return {
    async take(id: string): Promise<Charge> {
      const team = teamOf(id);
      if (team === undefined) return UNCOUNTED;
      const bucket = bucketOf(team);
      if ((await allowances.take(bucket)) !== null) throw exhausted(team);
      // To the day it was charged to, which may be over by then.
      return { putBack: () => allowances.putBack(bucket) };
    },
    async exhausted(id: string): Promise<GatewayError | null> {
      const team = teamOf(id);
      return team !== undefined && (await allowances.isEmpty(bucketOf(team))) ? exhausted(team) : null;
    },
    /** Restores today's use of a team to a store that has lost it. @throws StoreUnavailable */
    async recall(id: string, calls: number): Promise<void> {
      const team = teamOf(id);
      if (team !== undefined) await allowances.charge(bucketOf(team), calls);
    },
    /** Remaining platform calls of a team, and the time (ISO) of the reset. */
    async status(team: Team): Promise<{ readonly left: number; readonly resetsAt: string }> {
      const { left } = await allowances.refresh(bucketOf(team));
      return { left, resetsAt: new Date(resetMs()).toISOString() };
    },
  };
}
