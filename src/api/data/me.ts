/** What a team may know about itself: `GET /gateway/v1/me`, and its counters over time: `GET /gateway/v1/series`. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../lib/clock.js';
import type { Pace, Pause } from '../../platform/pace.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import type { Limits } from '../../teams/limits/limits.js';
import type { Series } from '../../teams/series/create-series.js';
import { readQuery } from '../http/read-query.js';
import type { AnswerOf } from '../operations/operation.js';
import { getMe, getOwnSeries } from '../operations/own.js';
import { readParameters, unlessAway } from './ask.js';
import { enter, serveTeam } from './serve.js';

export interface MeOptions {
  readonly identify: Identify;
  readonly limits: Pick<Limits, 'teams' | 'shares'>;
  /** The platform's own limits, which apply to all teams together. */
  readonly platform: { readonly pace: Pick<Pace, 'status'>; readonly pause: Pick<Pause, 'leftMs'> };
  readonly clock: Pick<Clock, 'now'>;
  /** The team's last 30 days; null while they cannot be read. */
  readonly usage: (team: string) => Promise<Me['usage']>;
  /** State of the platform's credential, without secrets. */
  readonly credential: () => Me['credential'];
}

export function createShowMe(options: Omit<MeOptions, 'identify'>): (caller: Caller) => Promise<Me> {
  return async (caller) => {
    const left = await leftOf(caller, options.limits);
    const applies = appliedTo(caller, left, options);
    const days = await options.usage(caller.team.id);
    return { ...describe(caller), left, credential: options.credential(), applies, usage: days };
  };
}

export function registerMe(app: FastifyInstance, options: MeOptions): void {
  const showMe = createShowMe(options);
  serveTeam(app, getMe, async (_call, request) => showMe(enter(options.identify, request)));
}

/** What is left of each limit, by the limit's own name. */
async function leftOf({ team }: Caller, { teams, shares }: MeOptions['limits']): Promise<Me['left']> {
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
  { limits, platform: { pace, pause }, clock }: Pick<MeOptions, 'limits' | 'platform' | 'clock'>,
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

function describe({ team, key }: Caller): Omit<Me, 'usage' | 'applies' | 'left' | 'credential'> {
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

interface OwnSeriesOptions {
  readonly identify: Identify;
  readonly series: Pick<Series, 'read'>;
}

export function registerOwnSeries(app: FastifyInstance, { identify, series }: OwnSeriesOptions): void {
  serveTeam(app, getOwnSeries, async (call, request) => {
    const { id, limits } = enter(identify, request).team;
    const given = Object.fromEntries(readParameters(call.query, ['range']));
    const { range } = readQuery(getOwnSeries.query, given);
    const team = { id, callsPerDay: limits.upstreamCallsPerDay, lives: 'present' } as const;
    return await unlessAway(series.read(range, team));
  });
}
