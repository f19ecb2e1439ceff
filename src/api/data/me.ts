/** What a team may know of itself, and what was counted of it over time. */
import type { FastifyInstance } from 'fastify';
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
  /** The team's last 30 days; null when they cannot be read now. */
  readonly usage: (team: string) => Promise<Me['usage']>;
  /** State of the platform's credential, without anything secret. */
  readonly credential: () => Me['credential'];
}

/** What a caller may know of itself. */
export function createShowMe({
  limits,
  usage,
  credential,
}: Omit<MeOptions, 'identify'>): (caller: Caller) => Promise<Me> {
  return async (caller) => {
    const left = await leftOf(caller, limits);
    const days = await usage(caller.team.id);
    return { ...describe(caller, left, credential()), usage: days };
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

function describe({ team, key }: Caller, left: Me['left'], credential: Me['credential']): Omit<Me, 'usage'> {
  const { id, name, scopes, advertisers, limits, defaultFormat } = team;
  return {
    team: { id, name },
    key: { id: key.id, label: key.label, createdAt: key.createdAt, expiresAt: key.expiresAt },
    scopes,
    advertisers,
    defaultFormat,
    limits,
    left,
    credential,
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
