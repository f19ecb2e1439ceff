/**
 * The limits of teams over all replicas: requests per minute, concurrent requests, platform calls per day. Requests follow
 * the generic cell rate algorithm with a burst of a whole minute; concurrency is divided among the replicas.
 */
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import type { Charge } from '../../platform/slot.js';
import type { Store } from '../../store/port.js';
import type { Team } from '../auth/team.js';
import { Allowances, type Bucket } from './allowance.js';
import { createReplicas, type Replicas, type ReplicasOptions } from './replicas.js';

export type Limits = ReturnType<typeof createLimits>;

/** With the longest pause between two reconnections less than a second. */
const SETTLE_EVERY_MS = 250;

export function createLimits({
  store,
  clock,
  logger,
  teamOf,
  onCharged = () => {},
  self = {},
}: {
  readonly store: Pick<Store, 'quotas' | 'presence' | 'bus'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Id and published information of this process. */
  readonly self?: Pick<ReplicasOptions, 'id' | 'info'>;
  /** Undefined for ids that are not teams. */
  readonly teamOf: (id: string) => Team | undefined;
  /** A platform call was charged to a team, which has so many left today. */
  readonly onCharged?: (team: Team, left: number) => void;
}) {
  const onAway = () => allowances.sawAway();
  const replicas = createReplicas({ presence: store.presence, logger, onAway, ...self });
  const allowances = new Allowances({ quotas: store.quotas, bus: store.bus, replicas, clock, logger });
  const settling = repeat(SETTLE_EVERY_MS, () =>
    allowances.settle().catch((error: unknown) => {
      logger.error({ err: error }, 'failed to charge what was used without the store');
    }),
  );
  return {
    replicas,
    teams: createTeamLimits(allowances, replicas),
    shares: createDailyShares(allowances, teamOf, clock, onCharged),
    /** Charges what was used without the store, returns unused permits, and removes this replica from the list. */
    async close(): Promise<void> {
      await settling.stop();
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
  const standings = new Map<string, Standing>();

  function standingOf(team: Team): Standing {
    const known = standings.get(team.id);
    if (known?.team === team) return known;
    const made = { team, bucket: bucketOf(team), running: known?.running ?? { count: 0 } };
    standings.set(team.id, made);
    return made;
  }

  /** This replica's part of `maxConcurrent`. */
  const concurrencyHere = ({ limits }: Team): number => replicas.share(limits.maxConcurrent);

  /** Further concurrent requests that this replica accepts now. */
  const concurrencyLeft = (team: Team): number =>
    Math.max(0, concurrencyHere(team) - standingOf(team).running.count);

  /** @throws GatewayError `rate_limited` */
  function takePlace({ team, running }: Standing): () => void {
    const here = concurrencyHere(team);
    if (running.count < here) return begin(running);
    const all = team.limits.maxConcurrent;
    const ofAll = here === all ? '' : `, this replica's part of ${all}`;
    throw new GatewayError('rate_limited', {
      detail: `The team has reached its limit of ${here} concurrent requests${ofAll}.`,
      limit: { name: 'maxConcurrent', value: all },
      retryAfterS: 1,
    });
  }

  async function charge({ team, bucket }: Standing, leave: () => void): Promise<void> {
    const waitMs = await allowances.take(bucket);
    if (waitMs === null) return;
    leave();
    throw minuteUsedUp(team, Math.ceil(waitMs / 1000));
  }

  async function chargePerson(id: string, standing: Standing, leave: () => void): Promise<void> {
    const waitMs = await allowances.take({ ...PERSON_BUCKET, key: `requests:${id}` });
    if (waitMs === null) return allowances.takeAtHand(standing.bucket) ? undefined : charge(standing, leave);
    leave();
    throw new GatewayError('rate_limited', {
      detail: `You have used up the ${PERSON_BUCKET.capacity} requests per minute of a person.`,
      retryAfterS: Math.ceil(waitMs / 1000),
    });
  }

  return {
    /**
     * Charges a request to its team.
     * @param onResponseClosed receives the function to call at the end of the request, once or more
     * @param person has a limit of its own within the team's
     * @returns null: charged without the store
     * @throws GatewayError `rate_limited`, directly or by the promise
     */
    enter({ team, person }: Entering, onResponseClosed: (leave: () => void) => void): Promise<void> | null {
      const standing = standingOf(team);
      const leave = takePlace(standing);
      onResponseClosed(leave);
      if (person !== undefined) return chargePerson(person.id, standing, leave);
      return allowances.takeAtHand(standing.bucket) ? null : charge(standing, leave);
    },
    /**
     * A place among the concurrent requests of the team, for work that is charged by its result.
     * @returns ends it, called once or more. @throws GatewayError `rate_limited`
     */
    place: (team: Team): (() => void) => takePlace(standingOf(team)),
    /**
     * Charges an answer that does not count as a concurrent request, as its caller mostly waits.
     * @throws GatewayError `rate_limited`
     */
    async count(team: Team): Promise<void> {
      const standing = standingOf(team);
      if (!allowances.takeAtHand(standing.bucket)) await charge(standing, () => {});
    },
    /** Without the store. */
    rate(team: Team): RateStanding {
      const { left, nextInMs } = allowances.look(standingOf(team).bucket);
      const limit = team.limits.requestsPerMinute;
      const fullInMs = ((limit - left) * MINUTE_MS) / limit;
      return { limit, left, resetS: Math.max(1, Math.ceil((left === 0 ? nextInMs : fullInMs) / 1000)) };
    },
    concurrencyHere,
    concurrencyLeft,
  };
}

/** @param retryAfterS whole seconds until the next request is available */
export function minuteUsedUp(
  { limits: { requestsPerMinute: value } }: Team,
  retryAfterS: number,
): GatewayError {
  return new GatewayError('rate_limited', {
    detail: `The team has used up its ${value} requests per minute.`,
    limit: { name: 'requestsPerMinute', value },
    retryAfterS,
  });
}

/** A caller who enters. */
interface Entering {
  readonly team: Team;
  readonly person?: { readonly id: string };
}

/** What limits a team here. */
interface Standing {
  /** A changed team is another object. */
  readonly team: Team;
  readonly bucket: Bucket;
  /** Concurrent requests. */
  readonly running: { count: number };
}

function begin(running: Standing['running']): () => void {
  running.count += 1;
  let over = false;
  return () => {
    if (!over) running.count -= 1;
    over = true;
  };
}

const PERSON_BUCKET = { capacity: 120, refillPerMs: 120 / MINUTE_MS, ttlMs: 2 * MINUTE_MS };

function bucketOf({ id, limits: { requestsPerMinute } }: Team): Bucket {
  return {
    key: `requests:${id}`,
    capacity: requestsPerMinute,
    refillPerMs: requestsPerMinute / MINUTE_MS,
    ttlMs: 2 * MINUTE_MS,
  };
}

const DAY_MS = 86_400_000;
const UNCOUNTED: Charge = { putBack() {} };

/** Platform calls per UTC day. @param teamOf undefined for other ids, such as the gateway's, whose calls are not counted */
export function createDailyShares(
  allowances: Pick<Allowances, 'take' | 'putBack' | 'charge' | 'refresh' | 'isEmpty' | 'look'>,
  teamOf: (id: string) => Team | undefined,
  clock: Clock,
  onCharged: (team: Team, left: number) => void = () => {},
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
      limit: { name: 'upstreamCallsPerDay', value: limits.upstreamCallsPerDay },
      retryAfterS: Math.max(1, Math.ceil((resetMs() - clock.now()) / 1000)),
    });

  return {
    async take(id: string): Promise<Charge> {
      const team = teamOf(id);
      if (team === undefined) return UNCOUNTED;
      const bucket = bucketOf(team);
      if ((await allowances.take(bucket)) !== null) throw exhausted(team);
      onCharged(team, allowances.look(bucket).left);
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
