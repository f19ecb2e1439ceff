/** Calls of the data plane about the caller's team, the cache state of its reports, and the explorer's session. */
import Type from 'typebox';
import { Outlook } from '../../platform/credential/outlook.js';
import { ShownTeam } from '../../teams/auth/team.js';
import { RANGE, SHOWN_SERIES } from '../../teams/series/describe.js';
import { OwnUsageDay } from '../../teams/usage/usage-day.js';
import { BODY_PROBLEMS, json, NAMED_REPORT_PROBLEMS } from '../openapi/operation.js';
import { closed, instant, integer, nullable, text, time, titled } from '../openapi/schemas.js';
import { TeamExplanation } from './cache.js';
import { Issued, Keys, LABEL, OF_KEY, OVERLAP } from './keys.js';
import {
  ABOUT_SCOPES,
  ADVERTISERS,
  ADVERTISERS_QUERY,
  FINALITY_ANSWER,
  THE_REPORT,
  TRUTH_ANSWER,
} from './learned.js';
import { operations } from './operation.js';
import { SESSION_MEMBERS } from './session.js';

const gateway = operations('gateway');
const history = operations('history');
const reports = operations('reports');

export const FORECAST = Type.Optional(
  Type.Object(
    {
      used: Type.Integer({ description: 'Percent of upstreamCallsPerDay.' }),
      exhaustedAt: nullable(time, 'At the pace of today; null: not today, or already exhausted.'),
    },
    { description: 'Of the daily platform calls of a team; absent before the first one.' },
  ),
);

const ME = titled('Me', {
  team: Type.Object({ id: Type.String(), name: Type.String() }),
  key: Type.Object({
    id: Type.String(),
    label: Type.String(),
    createdAt: time,
    expiresAt: nullable(time, 'Null: never.'),
  }),
  scopes: ShownTeam.properties.scopes,
  advertisers: ShownTeam.properties.advertisers,
  defaultFormat: ShownTeam.properties.defaultFormat,
  limits: ShownTeam.properties.limits,
  left: Type.Object(
    {
      requestsPerMinute: Type.Integer(),
      maxConcurrent: Type.Integer(),
      upstreamCallsPerDay: Type.Integer(),
      upstreamCallsResetAt: time,
    },
    { description: "Remaining amount of each of the team's limits." },
  ),
  applies: Type.Object(
    {
      maxConcurrent: Type.Integer({
        description: 'Concurrent requests that this replica accepts: its part of limits.maxConcurrent.',
      }),
      upstreamCalls: Type.Integer({
        description:
          "Platform calls possible now: the lower of the team's rest and the platform's own limit.",
      }),
      upstreamCallsResetAt: instant('End of that limit.'),
      upstreamCallsLimitedBy: Type.Enum(['team', 'platform'], {
        description: "team: by upstreamCallsPerDay; platform: by the platform's own limit for all teams.",
      }),
    },
    { description: 'The limits that apply now, where another one is stricter than those of the team.' },
  ),
  forecast: FORECAST,
  credential: Outlook,
  usage: nullable(
    Type.Array(OwnUsageDay),
    'Days with usage among the last 30, newest last; null while they cannot be read.',
  ),
});

export const getMe = gateway('getMe', 'key', 'GET /gateway/v1/me', {
  summary: 'Your team, its scopes, advertisers and limits',
  isFree: true,
  answer: ME,
  about: 'Your team.',
});

export const getOwnSeries = gateway('getOwnSeries', 'key', 'GET /gateway/v1/series', {
  summary: 'Requests, outcomes, calls and latency of your team over time',
  isFree: true,
  query: Type.Object({ range: RANGE }),
  answer: SHOWN_SERIES,
  about: 'Hourly.',
  problems: ['invalid_query', 'not_ready'],
});

export const getOwnAdvertisers = gateway('getAdvertisers', 'key', 'GET /gateway/v1/advertisers', {
  summary: 'The advertisers you may query, with their names if known',
  query: ADVERTISERS_QUERY('all'),
  answer: ADVERTISERS,
  about: "The team's advertisers. A team with access to all gets those seen in platform answers.",
  problems: ['invalid_query', 'scope_missing', 'rate_limited'],
});

export const explainReport = reports('explainReport', 'key', 'GET /gateway/v1/explain', {
  summary: 'Cache state of a report, and the platform calls that an answer would make',
  query: Type.Object(THE_REPORT),
  answer: TeamExplanation,
  about: 'The current state; the platform is not called.',
  problems: [...NAMED_REPORT_PROBLEMS, 'upstream_invalid_response'],
});

export const getOwnFinality = history('getFinality', 'key', 'GET /gateway/v1/finality', {
  summary: 'When days of a report become final',
  ...ABOUT_SCOPES,
  answer: FINALITY_ANSWER,
  about: 'The learned windows.',
});

export const getOwnTruth = history('getTruth', 'key', 'GET /gateway/v1/truth', {
  summary: 'Results of fetching served days of a report again',
  ...ABOUT_SCOPES,
  answer: TRUTH_ANSWER,
  about: 'The measured results.',
});

export const learnReport = reports('learnReport', 'key', 'POST /gateway/v1/learn', {
  summary: 'Compare a period of a report with its parts now, so that it can be cached by day',
  body: closed(THE_REPORT, 'LearnReport'),
  answers: {
    202: json(
      titled('Learning', {
        state: Type.Enum(['unknown', 'proving', 'proven', 'refuted'], {
          description:
            'unknown: not compared yet, or too little was found. proving: the platform is being asked. proven: cached by day. refuted: fetched as a whole for a day, because its days depend on the period, or the platform refuses a part of a period.',
        }),
        started: Type.Boolean({
          description: 'Whether this call started a comparison; it makes at most eight platform calls.',
        }),
      }),
      'The state of this kind of report.',
      ['cache-control'],
    ),
  },
  problems: [...NAMED_REPORT_PROBLEMS, ...BODY_PROBLEMS],
});

const SHORT_TEAM = Type.Object({ id: Type.String(), name: Type.String() });

const SESSION = titled('ExplorerSession', {
  team: nullable(SHORT_TEAM, 'As which the session acts; null: a person has to choose one.'),
  person: nullable(
    Type.Object({
      name: Type.String(),
      teams: Type.Array(SHORT_TEAM, { description: 'As which the person may act.' }),
      chosen: nullable(Type.String(), 'The id of one of them.'),
      keys: Type.Boolean({ description: 'Whether the person may make keys of these teams.' }),
    }),
    'Who has signed in with a company account; null: a key has.',
  ),
  scopes: ShownTeam.properties.scopes,
  advertisers: ShownTeam.properties.advertisers,
  ...SESSION_MEMBERS,
});

export const openExplorerSession = gateway('openSession', 'anybody', 'POST /gateway/v1/session', {
  summary: 'Sign in to the explorer',
  isFree: true,
  body: closed({ key: text('A team key.') }, 'SignIn'),
  answers: {
    201: {
      ...json(SESSION, 'Signed in.'),
      headers: ['set-cookie', 'cache-control', 'ratelimit', 'ratelimit-policy'],
    },
  },
  problems: [
    'invalid_api_key',
    'expired_api_key',
    'revoked_api_key',
    'team_disabled',
    'ip_forbidden',
    'session_forbidden',
    'rate_limited',
    'not_ready',
    ...BODY_PROBLEMS,
  ],
});

export const getExplorerSession = gateway('getSession', 'session', 'GET /gateway/v1/session', {
  summary: 'Who is signed in',
  isFree: true,
  answer: SESSION,
  about: 'Who is signed in.',
  problems: ['not_found'],
});

export const closeExplorerSession = gateway('closeSession', 'session', 'DELETE /gateway/v1/session', {
  summary: 'Sign out',
  isFree: true,
  headers: ['x-csrf-token'],
  answers: { 204: { description: 'Signed out.', headers: ['set-cookie', 'cache-control'] } },
  problems: ['not_found'],
});

export const chooseTeam = gateway('chooseTeam', 'session', 'PUT /gateway/v1/session/team', {
  summary: 'Act as another one of your teams',
  isFree: true,
  headers: ['x-csrf-token'],
  body: closed({ team: text('The id of a team.') }, 'ChooseTeam'),
  answer: SESSION,
  about: 'The session, which acts as this team.',
  problems: ['no_access', ...BODY_PROBLEMS],
});

const ownKeys = operations('keys');
const OWN_KEY_PROBLEMS = ['session_forbidden', 'no_access', 'not_found', 'conflict', 'not_ready'] as const;

const OwnKeys = Type.Object({
  ...Keys.properties,
  limits: Type.Object(
    {
      keysPerPerson: Type.Integer({ description: 'Valid keys that a person may have.' }),
      maxKeyDays: Type.Integer({ description: 'Longest lifetime of a key, in days.' }),
      keysNeedSignInDays: Type.Integer({
        description: 'Days since the last sign-in of its maker after which a key is refused.',
      }),
    },
    { description: 'Settings of auth.oidc.' },
  ),
  scopes: Type.Array(Type.String(), {
    description: 'Of a key that is made now, for the team that the session acts as.',
  }),
});

/** @param maxDays the longest lifetime of a key, `auth.oidc.maxKeyDays` */
export const makeOwnKeyBody = (maxDays: number) =>
  closed(
    {
      label: LABEL,
      expiresInDays: Type.Optional(integer(1, maxDays, 'At most, and by default, auth.oidc.maxKeyDays.')),
    },
    'MakeOwnKey',
  );

export const listOwnKeys = ownKeys('listOwnKeys', 'session', 'GET /gateway/v1/keys', {
  summary: 'The keys that you made',
  isFree: true,
  answer: OwnKeys,
  about: 'Of all teams, oldest first.',
  problems: ['session_forbidden', 'not_ready'],
});

export const makeOwnKey = ownKeys('makeOwnKey', 'session', 'POST /gateway/v1/keys', {
  summary: 'Make a key of your own for the team that you act as',
  isFree: true,
  headers: ['x-csrf-token'],
  body: makeOwnKeyBody(3650),
  answers: { 201: json(Issued, 'Made.', ['cache-control']) },
  problems: [...OWN_KEY_PROBLEMS, ...BODY_PROBLEMS],
});

export const rollOwnKey = ownKeys('rollOwnKey', 'session', 'POST /gateway/v1/keys/:id/roll', {
  summary: 'Replace a key that you made; the old one can stay valid for a while',
  isFree: true,
  headers: ['x-csrf-token'],
  path: OF_KEY,
  body: closed({ overlapSeconds: OVERLAP }, 'RollOwnKey'),
  answers: { 201: json(Issued, 'Replaced.', ['cache-control']) },
  problems: [...OWN_KEY_PROBLEMS, ...BODY_PROBLEMS],
});

export const revokeOwnKey = ownKeys('revokeOwnKey', 'session', 'DELETE /gateway/v1/keys/:id', {
  summary: 'Revoke a key that you made',
  isFree: true,
  headers: ['x-csrf-token'],
  path: OF_KEY,
  answers: { 204: { description: 'Revoked.', headers: ['cache-control'] } },
  problems: [...OWN_KEY_PROBLEMS],
});
