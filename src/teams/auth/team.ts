/** The schema of a team, which validates, types and documents it. */
import Type, { type Static } from 'typebox';
import { SCOPES, type Scope } from '../../config/sign-in-settings.js';
import { type Frozen, recordForm } from '../../lib/record.js';
import { WriteGuard } from '../write-guard/rule.js';

export const FORMATS = ['json', 'csv', 'ndjson', 'raw'] as const;

const TeamId = Type.String({
  pattern: '^(?!gateway$)[a-z0-9-]{1,40}$',
  description:
    'Lower-case letters, digits and hyphens, at most 40; gateway is reserved for the gateway itself.',
  examples: ['growth'],
});

const DEFAULT_LIMITS = {
  requestsPerMinute: 600,
  upstreamCallsPerDay: 5000,
  maxRangeDays: 400,
  maxConcurrent: 32,
};

/** Without `default`, which a validator would apply: a patch of one limit would reset the others. */
const limit = (name: keyof typeof DEFAULT_LIMITS, maximum: number, description: string) =>
  Type.Integer({
    minimum: 1,
    maximum,
    description: `${description} ${DEFAULT_LIMITS[name]} by default.`,
  });

const TeamLimits = Type.Object(
  {
    requestsPerMinute: limit('requestsPerMinute', 1_000_000, 'Requests per minute, across all replicas.'),
    upstreamCallsPerDay: limit('upstreamCallsPerDay', 100_000_000, 'Platform calls per UTC day.'),
    maxRangeDays: limit('maxRangeDays', 10_000, 'Longest period of a report, in days.'),
    maxConcurrent: limit('maxConcurrent', 10_000, 'Concurrent requests.'),
  },
  { additionalProperties: false },
);

/** Closed, as a misspelt limit must be refused. */
const SomeLimits = Type.Object(Type.Partial(TeamLimits).properties, { additionalProperties: false });

export const Team = Type.Object(
  {
    id: TeamId,
    name: Type.String({ minLength: 1, maxLength: 200, description: 'A name for people.' }),
    scopes: Type.Array(Type.Enum([...SCOPES]), { uniqueItems: true, description: 'What the team may do.' }),
    advertisers: Type.Union(
      [
        Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
          uniqueItems: true,
          maxItems: 10_000,
        }),
        Type.Literal('*'),
      ],
      { description: 'Advertiser ids the team may see, or "*" for all.' },
    ),
    limits: TeamLimits,
    ipAllow: Type.Array(Type.String({ minLength: 1, examples: ['10.0.0.0/8'] }), {
      maxItems: 1000,
      description: 'Addresses or CIDR ranges from which the team may call; empty: any.',
    }),
    defaultFormat: Type.Enum([...FORMATS], { description: 'Format of answers to requests that name none.' }),
    disabled: Type.Boolean({ description: 'All calls of a disabled team are refused.' }),
    writeGuard: Type.Optional(WriteGuard),
    managedBy: Type.Optional(
      Type.Literal('file', {
        description: 'file: declared in a file, which alone can change it; absent: managed by hand.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type Team = Frozen<Static<typeof Team>>;

/** A team in answers; open for members of newer releases. */
export const ShownTeam = Type.Object(
  { ...Team.properties, limits: Type.Object(TeamLimits.properties, { title: 'Limits' }) },
  { title: 'Team' },
);

/** A stored team; open for scopes, formats and members of other releases. Bounds are checked on writes only. */
export const StoredTeam = recordForm(
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    scopes: Type.Array(Type.Unsafe<Scope>(Type.String())),
    advertisers: Type.Union([Type.Array(Type.Integer()), Type.Literal('*')]),
    limits: Type.Object({
      requestsPerMinute: Type.Number(),
      upstreamCallsPerDay: Type.Number(),
      maxRangeDays: Type.Number(),
      maxConcurrent: Type.Number(),
    }),
    ipAllow: Type.Array(Type.String()),
    defaultFormat: Type.Unsafe<(typeof FORMATS)[number]>(Type.String()),
    disabled: Type.Boolean(),
    /** May be from another release: check it by `isWriteGuard` before enforcing it. */
    writeGuard: Type.Optional(Type.Unsafe<WriteGuard>(Type.Unknown())),
    managedBy: Type.Optional(Type.Unsafe<'file'>(Type.String())),
  }),
);

/** Settable members, all optional. */
const Settable = {
  ...Type.Partial(Type.Omit(Team, ['id', 'limits', 'managedBy'])).properties,
  limits: Type.Optional(SomeLimits),
};

/** The body of a new team: only `id` is required. */
export const NewTeam = Type.Object(
  { id: TeamId, ...Settable },
  { additionalProperties: false, title: 'NewTeam' },
);
export type NewTeam = Frozen<Static<typeof NewTeam>>;

/** The body of a change: any members but `id`. */
export const TeamPatch = Type.Object(
  {
    ...Settable,
    writeGuard: Type.Optional(
      Type.Union([WriteGuard, Type.Null()], { description: 'Replaces the whole guard; null removes it.' }),
    ),
  },
  { additionalProperties: false, title: 'TeamPatch' },
);
export type TeamPatch = Frozen<Static<typeof TeamPatch>>;

/** Adds the defaults. A team without a list of advertisers sees none. */
export function completeTeam(body: NewTeam): Team {
  return {
    name: body.id,
    scopes: ['report:read'],
    advertisers: [],
    ipAllow: [],
    defaultFormat: 'json',
    disabled: false,
    ...body,
    limits: { ...DEFAULT_LIMITS, ...body.limits },
  };
}

/** Limits are merged one by one. */
export function patchTeam(team: Team, { writeGuard, ...patch }: TeamPatch): Team {
  const { writeGuard: before, ...others } = team;
  const guard = writeGuard === undefined ? before : writeGuard;
  return {
    ...others,
    ...patch,
    limits: { ...team.limits, ...patch.limits },
    ...(guard === undefined || guard === null ? {} : { writeGuard: guard }),
  };
}

/** Keeps members of the replaced team that are unknown to this release. */
export function withUnknown(team: Team, before: Team): Team {
  return {
    ...unknownOf(before, Team.properties),
    ...team,
    limits: { ...unknownOf(before.limits, TeamLimits.properties), ...team.limits },
  };
}

function unknownOf(value: object, known: object): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(known, name)));
}

/**
 * Key of a team's stored data: a team deleted and created again under the same id is another team. In its first life it is the
 * plain id, as in older releases.
 */
export function nameInLife(teamId: string, life = 0): string {
  return life === 0 ? teamId : `${teamId}:${life}`;
}

/** Reverses {@link nameInLife}. */
export function teamOfName(name: string): string {
  return name.split(':', 1)[0] as string;
}
