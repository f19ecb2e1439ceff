/**
 * The limits of teams over all replicas: requests per minute, concurrent requests, platform calls per day. Requests follow
 * the generic cell rate algorithm with a burst of a whole minute; concurrency is divided among the replicas.
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
  /** Id and published information of this process. */
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
    /** Returns unused permits, and removes this replica from the list. */
    async close(): Promise<void> {
      await allowances.close();
      await replicas.leave();
    },
  };
}

export interface RateStanding {
  /** Requests per minute. */
  readonly limit: number;
  readonly left: number;
  /** Seconds until all requests are available, or the next one if none is left. */
  readonly resetS: number;
}

export type TeamLimits = ReturnType<typeof createTeamLimits>;

const MINUTE_MS = 60_000;

export function createTeamLimits(
  allowances: Pick<Allowances, 'take' | 'takeAtHand' | 'look'>,
  replicas: Pick<Replicas, 'share'>,
) {
  const running = new Map<string, number>();

  /** This replica's part of `maxConcurrent`. */
  const concurrencyHere = ({ limits }: Team): number => replicas.share(limits.maxConcurrent);

  /** Further concurrent requests that this replica accepts now. */
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
     * @param onResponseClosed receives the function to call at the end of the request, once or more
     * @returns null: charged without the store
     * @throws GatewayError `rate_limited`, directly or by the promise
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
    /** Without the store. */
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

/** A changed team is another object. */
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

/** Platform calls per UTC day. @param teamOf undefined for other ids, such as the gateway's, whose calls are not counted */
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
    // A killed replica would lose permits held in advance.
    batch: 1,
    // Clocks of replicas may differ.
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
      // To the day it was charged to, which may be over.
      return { putBack: () => allowances.putBack(bucket) };
    },
    async exhausted(id: string): Promise<GatewayError | null> {
      const team = teamOf(id);
      return team !== undefined && (await allowances.isEmpty(bucketOf(team))) ? exhausted(team) : null;
    },
    /** Restores today's use of a team in a store that has lost it. @throws StoreUnavailable */
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
