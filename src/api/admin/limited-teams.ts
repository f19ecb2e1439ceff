/** Teams that their limits refuse: notes of `status`. */
import type { ErrorCode, TeamLimit } from '../../errors.js';
import { groupBy } from '../../lib/group-by.js';
import type { Services } from '../../server/services.js';
import { whenAway } from '../../store/port.js';
import type { Team } from '../../teams/auth/team.js';
import type { ProcessHealth } from '../../telemetry/health.js';
import { joinLimitRefusals, type LimitRefusals } from '../../telemetry/limit-refusals.js';

const SHOWN = 5;

/**
 * At most five teams, those with the most refused requests of the last five minutes first, and how many more there are: a note
 * for each. What a team has left of the day is read of those only that are refused, or
 * that are known to have used most of it.
 */
export async function describeLimited(
  { directory, budgets, limits }: Pick<Services, 'directory' | 'budgets' | 'limits'>,
  processes: readonly Pick<ProcessHealth, 'limitRefusals'>[],
): Promise<readonly string[]> {
  const refusals = groupBy(
    joinLimitRefusals(processes.flatMap((one) => one.limitRefusals)),
    ({ team }) => team,
  );
  const all = directory
    .teams()
    .map((team) => ({ team, refused: refusals.get(team.id) ?? [] }))
    .filter(({ team, refused }) => refused.length > 0 || budgets.isNearlySpent(team))
    .sort((one, other) => sumOf(other.refused) - sumOf(one.refused));
  const notes = await Promise.all(
    all.slice(0, SHOWN).map(async ({ team, refused }) => {
      const { left } = await limits.shares.status(team).catch(whenAway(() => ({ left: 1 })));
      return describe(team, refused, left <= 0);
    }),
  );
  const rest = all.length - SHOWN;
  return [
    ...notes.flat(),
    ...(rest > 0 ? [`${rest} more ${rest === 1 ? 'team' : 'teams'} at or near a limit`] : []),
  ];
}

const LIMITS: Readonly<
  Record<TeamLimit['name'], { readonly flag: string; readonly words: string; readonly code: ErrorCode }>
> = {
  requestsPerMinute: { flag: '--requests-per-minute', words: 'requests a minute', code: 'rate_limited' },
  maxConcurrent: { flag: '--max-concurrent', words: 'requests at once', code: 'rate_limited' },
  upstreamCallsPerDay: {
    ...{ flag: '--upstream-calls-per-day', words: 'platform calls a day' },
    code: 'upstream_budget_exhausted',
  },
};

const WITHIN = 'within the last 5 minutes';

/** One line, with the limits as they are now. @returns nothing if nothing was refused and calls are left */
function describe(team: Team, refusals: readonly LimitRefusals[], isSpent: boolean): readonly string[] {
  const { id, limits } = team;
  if (!isSpent && refusals.length === 0) return [];
  const spent = isSpent
    ? `${id} has used up its ${limits.upstreamCallsPerDay} platform calls of today (until 00:00 UTC)`
    : null;
  const byLimit = [...groupBy(refusals, ({ limit }) => limit)];
  const others = byLimit.filter(([limit]) => !isSpent || limit !== 'upstreamCallsPerDay');
  const parts = byLimit.map(([limit, all]) => {
    const { words } = LIMITS[limit];
    const isSame = all.every(({ value }) => value === limits[limit]);
    const by = isSame ? `${limits[limit]} ${words}` : `${words} (${limits[limit]} now)`;
    return `${refused(sumOf(all))}${others.some(([other]) => other === limit) ? ` by its limit of ${by}` : ''}`;
  });
  const said = parts.length === 0 ? [] : [`${parts.join('; ')} ${WITHIN}`];
  // What refused them may be mended already.
  const low = others.filter(([limit, all]) => all.some(({ value }) => value >= limits[limit]));
  const raised = [...(isSpent ? (['upstreamCallsPerDay'] as const) : []), ...low.map(([limit]) => limit)];
  const codes = new Set(others.map(([limit]) => LIMITS[limit].code));
  const advice = [
    ...[...codes].map((code) => `to see them: dsp-gateway requests list --team ${id} --code ${code}`),
    ...(raised.length === 0 ? [] : [raise(team, raised)]),
  ];
  return [`${spent === null ? `${id}: ${said}` : [spent, ...said].join(', ')} (${advice.join('; ')})`];
}

const sumOf = (all: readonly LimitRefusals[]) => all.reduce((sum, { requests }) => sum + requests, 0);

const refused = (count: number) => `${count} ${count === 1 ? 'request' : 'requests'} refused`;

const raise = ({ id, managedBy }: Team, limits: readonly TeamLimit['name'][]) =>
  managedBy === undefined
    ? `to raise ${limits.length === 1 ? 'it' : 'them'}: dsp-gateway teams update ${id} ${limits.map((limit) => `${LIMITS[limit].flag} <number>`).join(' ')}`
    : 'to raise it, change the file of teams and apply it';
