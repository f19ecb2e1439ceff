/** The limits of teams, wired. Composed once, by services. */
import type { Logger } from 'pino';
import type { Team } from '../auth/team.js';
import type { Clock } from '../lib/clock.js';
import type { Store } from '../store/port.js';
import { createAllowances } from './allowance.js';
import { createDailyShares } from './daily-share.js';
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
