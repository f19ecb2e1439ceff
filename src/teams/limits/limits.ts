/** The limits of teams, wired. Composed once, by services. */
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { Charge } from '../../platform/slot.js';
import type { Store } from '../../store/port.js';
import type { Team } from '../auth/team.js';
import { type Allowances, createAllowances } from './allowance.js';
import type { Bucket } from './bucket.js';
import { createReplicas, type ReplicasOptions } from './replicas.js';
import { createTeamLimits } from './team-limits.js';

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
  /** This process among all, and what it says of itself. */
  readonly self?: Pick<ReplicasOptions, 'id' | 'info'>;
  /** Undefined for what is no team. */
  readonly teamOf: (id: string) => Team | undefined;
}) {
  const replicas = createReplicas({ presence: store.presence, logger, ...self });
  const allowances = createAllowances({ quotas: store.quotas, replicas, clock, logger });
  return {
    replicas,
    teams: createTeamLimits(allowances, replicas),
    shares: createDailyShares(allowances, teamOf, clock),
    /** Gives back what is in hand, and says that this replica is gone. */
    async close(): Promise<void> {
      await allowances.close();
      await replicas.leave();
    },
  };
}

/** How many platform calls a team may cause a day, by UTC, shared by all replicas. */

interface DailyQuotaStatus {
  readonly left: number;
  /** ISO time at which the whole share is there again. */
  readonly resetsAt: string;
}

const DAY_MS = 86_400_000;
const UNCOUNTED: Charge = { putBack() {} };

/** @param teamOf undefined for what is no team, such as the gateway's own calls: they are not counted */
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
    // Drawn one by one, by the calls that are made: what never comes back must not lie with a replica that may be killed.
    batch: 1,
    // Longer than a day, for its day may be anywhere from here to there on the clocks of others.
    ttlMs: 2 * DAY_MS,
  });
  const exhausted = ({ limits }: Team) =>
    new GatewayError('upstream_budget_exhausted', {
      detail: `The team's ${share(limits.upstreamCallsPerDay)} used up; cached reports go on being served.`,
      retryAfterS: Math.max(1, Math.ceil((resetMs() - clock.now()) / 1000)),
    });

  return {
    async take(id: string): Promise<Charge> {
      const team = teamOf(id);
      if (team === undefined) return UNCOUNTED;
      const bucket = bucketOf(team);
      if ((await allowances.take(bucket)) !== null) throw exhausted(team);
      // Of the day it was charged to, which may be over by then.
      return { putBack: () => allowances.putBack(bucket) };
    },
    async exhausted(id: string): Promise<GatewayError | null> {
      const team = teamOf(id);
      return team !== undefined && (await allowances.isEmpty(bucketOf(team))) ? exhausted(team) : null;
    },
    /** Tells what a team has used today, for a store that has forgotten it. @throws StoreUnavailable */
    async recall(id: string, calls: number): Promise<void> {
      const team = teamOf(id);
      if (team !== undefined) await allowances.charge(bucketOf(team), calls);
    },
    /** What is left of a team's share, as far as the store can be asked. */
    async status(team: Team): Promise<DailyQuotaStatus> {
      const { left } = await allowances.refresh(bucketOf(team));
      return { left, resetsAt: new Date(resetMs()).toISOString() };
    },
  };
}

/** @returns `20 platform calls of this day (UTC) are` */
function share(calls: number): string {
  const isOne = calls === 1;
  return `${calls} platform ${isOne ? 'call' : 'calls'} of this day (UTC) ${isOne ? 'is' : 'are'}`;
}
