/** The limits of teams, wired. Composed once, by services. */
import type { Logger } from 'pino';
import type { Team } from '../auth/team.js';
import type { Clock } from '../clock.js';
import type { Store } from '../store/port.js';
import { createAllowances } from './allowance.js';
import { createDailyShares, type DailyShares } from './daily-share.js';
import { createReplicas, type Replicas, type ReplicasOptions } from './replicas.js';
import { createTeamLimits, type TeamLimits } from './team-limits.js';

export interface Limits {
  readonly replicas: Replicas;
  readonly teams: TeamLimits;
  readonly shares: DailyShares;
  /** Gives back what is in hand, and says that this replica is gone. */
  close(): Promise<void>;
}

export interface LimitsOptions {
  readonly store: Pick<Store, 'quotas' | 'presence'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process among all, and what it says of itself. */
  readonly self?: Pick<ReplicasOptions, 'id' | 'info'>;
  /** Undefined for what is no team. */
  readonly teamOf: (id: string) => Team | undefined;
}

export function createLimits({ store, clock, logger, teamOf, self = {} }: LimitsOptions): Limits {
  const replicas = createReplicas({ presence: store.presence, logger, ...self });
  const allowances = createAllowances({ quotas: store.quotas, replicas, clock, logger });
  return {
    replicas,
    teams: createTeamLimits(allowances, replicas),
    shares: createDailyShares(allowances, teamOf, clock),
    async close() {
      await allowances.close();
      await replicas.leave();
    },
  };
}
