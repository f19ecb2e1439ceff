/** What a team may know about itself: `GET /gateway/v1/me`, and its counters over time: `GET /gateway/v1/series`. */
import type { Services } from '../../server/services.js';
import { whenAway } from '../../store/port.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { Team } from '../../teams/auth/team.js';
import { readQuery } from '../http/read-query.js';
import type { AnswerOf } from '../operations/operation.js';
import { type getMe, getOwnSeries } from '../operations/own.js';
import { type AskCall, readParameters, unlessAway } from './ask.js';

type MeParts = Pick<Services, 'limits' | 'budgets' | 'pace' | 'pause' | 'clock' | 'usage' | 'outlook'>;

export function createShowMe(parts: MeParts): (caller: Caller) => Promise<Me> {
  return async (caller) => {
    const left = await leftOf(caller, parts.limits);
    const applies = appliedTo(caller, left, parts);
    const usage = await parts.usage.recent(caller.team.id);
    const forecast = await parts.budgets
      .forecast(caller.team, left.upstreamCallsPerDay)
      .catch(whenAway(() => null));
    return {
      ...describe(caller),
      left,
      credential: parts.outlook(),
      applies,
      usage,
      ...(forecast === null ? {} : { forecast }),
    };
  };
}

async function leftOf({ team }: Caller, { teams, shares }: Services['limits']): Promise<Me['left']> {
  const { left: upstreamCallsPerDay, resetsAt } = await shares.status(team);
  return {
    requestsPerMinute: teams.rate(team).left,
    maxConcurrent: teams.concurrencyLeft(team),
    upstreamCallsPerDay,
    upstreamCallsResetAt: resetsAt,
  };
}

/** The limits that apply now: a replica accepts its part of `maxConcurrent`, and the platform may allow fewer calls. */
function appliedTo(
  { team }: Caller,
  { upstreamCallsPerDay, upstreamCallsResetAt }: Me['left'],
  { limits, pace, pause, clock }: MeParts,
): Me['applies'] {
  const maxConcurrent = limits.teams.concurrencyHere(team);
  const pauseMs = pause.leftMs();
  const platform = pauseMs > 0 ? { remaining: 0, resetInMs: pauseMs } : pace.status();
  const isByPlatform = platform !== null && platform.remaining < upstreamCallsPerDay;
  return {
    maxConcurrent,
    upstreamCalls: isByPlatform ? platform.remaining : upstreamCallsPerDay,
    upstreamCallsResetAt: isByPlatform
      ? new Date(clock.now() + platform.resetInMs).toISOString()
      : upstreamCallsResetAt,
    upstreamCallsLimitedBy: isByPlatform ? 'platform' : 'team',
  };
}

function describe({ team, key }: Caller): Omit<Me, 'usage' | 'applies' | 'left' | 'credential' | 'forecast'> {
  const { id, name, scopes, advertisers, limits, defaultFormat } = team;
  return {
    team: { id, name },
    key: { id: key.id, label: key.label, createdAt: key.createdAt, expiresAt: key.expiresAt },
    scopes,
    advertisers,
    defaultFormat,
    limits,
  };
}

export type Me = AnswerOf<typeof getMe>;

export async function showOwnSeries(
  series: Services['series'],
  { id, limits }: Team,
  query: AskCall['query'],
) {
  const { range } = readQuery(getOwnSeries.query, Object.fromEntries(readParameters(query, ['range'])));
  const team = { id, callsPerDay: limits.upstreamCallsPerDay, lives: 'present' } as const;
  return await unlessAway(series.read(range, team));
}
