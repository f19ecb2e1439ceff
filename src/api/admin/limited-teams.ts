/** Teams that their limits refuse: notes of `status`. */
import type { Services } from '../../server/services.js';
import { whenAway } from '../../store/port.js';
import type { Team } from '../../teams/auth/team.js';
import type { ProcessHealth } from '../../telemetry/health.js';

const SHOWN = 5;

/**
 * At most five teams, those with the most refused requests of the last five minutes first, and how many more there are. What a
 * team has left of the day is read of those only that are refused, or that are known to have used most of it.
 */
export async function describeLimited(
  { directory, budgets, limits }: Pick<Services, 'directory' | 'budgets' | 'limits'>,
  processes: readonly Pick<ProcessHealth, 'limitedTeams'>[],
): Promise<readonly string[]> {
  const refusals = new Map<string, number>();
  for (const { limitedTeams } of processes)
    for (const [id, count] of Object.entries(limitedTeams)) refusals.set(id, (refusals.get(id) ?? 0) + count);
  const all = directory
    .teams()
    .map((team) => ({ team, refused: refusals.get(team.id) ?? 0 }))
    .filter(({ team, refused }) => refused > 0 || budgets.isNearlySpent(team))
    .sort((one, other) => other.refused - one.refused);
  const notes = await Promise.all(
    all.slice(0, SHOWN).map(async ({ team, refused }) => {
      const { left } = await limits.shares.status(team).catch(whenAway(() => ({ left: 1 })));
      return describe(team, refused, left <= 0);
    }),
  );
  const rest = all.length - SHOWN;
  return [
    ...notes.filter((note) => note !== null),
    ...(rest > 0 ? [`${rest} more ${rest === 1 ? 'team' : 'teams'} at or near a limit`] : []),
  ];
}

/** @returns null if nothing was refused and calls are left */
function describe({ id, limits, managedBy }: Team, refused: number, isSpent: boolean): string | null {
  if (refused === 0 && !isSpent) return null;
  const { requestsPerMinute, maxConcurrent, upstreamCallsPerDay } = limits;
  const requests = `${refused} ${refused === 1 ? 'request' : 'requests'} refused`;
  const raise = (flags: string) =>
    managedBy === undefined
      ? `to raise it: dsp-gateway teams update ${id} ${flags}`
      : 'to raise it, change the file of teams and apply it';
  const within = 'within the last 5 minutes';
  if (!isSpent)
    return `${id}: ${requests} by its limit of ${requestsPerMinute} a minute or ${maxConcurrent} at once ${within} (${raise('--requests-per-minute <number>')}, or --max-concurrent)`;
  const also = refused === 0 ? '' : `, ${requests} ${within}`;
  return `${id} has used up its ${upstreamCallsPerDay} platform calls of today (until 00:00 UTC)${also} (${raise('--upstream-calls-per-day <number>')})`;
}
