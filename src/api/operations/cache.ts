/** Calls that purge and explain the cache. */
import Type, { type TSchema } from 'typebox';
import { Divisibility } from '../../reports/learn/state.js';
import { PassedOn, ShownWarning } from '../../reports/query/describe.js';
import { operations, TEAM_ID } from './operation.js';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const date = Type.String({ format: 'date' });

const ENTRY = {
  state: Type.Enum(['fresh', 'final', 'stale', 'missing'], {
    description:
      'final: fresh, and no longer restated; stale: no longer fresh but usable; missing: needs a platform call.',
  }),
  final: Type.Boolean(),
  asOf: nullable(Type.String({ format: 'date-time' })),
  ageSeconds: nullable(Type.Integer()),
  ttlSeconds: nullable(Type.Integer({ description: 'Remaining freshness; negative once stale.' })),
  rows: nullable(Type.Integer()),
};
export const ExplainedEntry = Type.Object(ENTRY, { title: 'ExplainedEntry' });
const RangeSchema = Type.Object({ from: nullable(date), to: nullable(date) }, { title: 'Range' });

const EXPLAINED_POLICY = {
  mode: Type.Enum(['days', 'whole']),
  because: Type.String(),
  restatementDays: Type.Number(),
  staleWhileRevalidateSeconds: Type.Number(),
  staleIfErrorSeconds: Type.Number(),
};

const EXPLAINED = {
  report: Type.Object(
    { endpoint: Type.String(), query: Type.String({ description: 'URL-encoded.' }) },
    { description: 'The report in the request, or the one read from url.' },
  ),
  inWords: Type.Object({
    kept: Type.String({ description: 'Whether it is cached by day or as a whole, and why.' }),
    price: Type.String({ description: 'Platform calls that an answer costs now.' }),
  }),
  price: Type.Object({
    calls: Type.Integer({ description: 'Platform calls before the answer; the length of calls.' }),
    behind: Type.Integer({ description: 'Refreshes after the answer; the length of behind.' }),
  }),
  canonical: Type.Object({ method: Type.String(), target: Type.String(), body: nullable(Type.String()) }),
  days: nullable(
    Type.Array(Type.Object({ date, ...ENTRY }, { title: 'ExplainedDay' }), {
      description:
        'Every day of a report split by date, even while it is cached as one entry; null for other reports.',
    }),
  ),
  whole: Type.Union([ExplainedEntry, Type.Null()], {
    description: 'The entry of a report that is cached as a whole.',
  }),
  refusal: nullable(
    Type.Object(
      { status: Type.Integer(), ttlSeconds: Type.Integer() },
      { description: "The platform's cached refusal, served for ttlSeconds." },
    ),
  ),
  calls: Type.Array(RangeSchema, {
    description: 'Periods of the platform calls that an answer now would wait for.',
  }),
  behind: Type.Array(RangeSchema, {
    description: 'Periods that would be refreshed after the answer, because stale data is served.',
  }),
  storeAway: Type.Boolean(),
  passedOn: PassedOn,
  warnings: Type.Array(ShownWarning, {
    description: 'Warnings of the answer that follow from the query alone.',
  }),
};

/** For teams: nothing learned from queries of others. */
export const TeamExplanation = Type.Object(
  { ...EXPLAINED, policy: Type.Object(EXPLAINED_POLICY) },
  { title: 'TeamExplanation' },
);
/** For operators. */
export const Explanation = Type.Object(
  {
    ...EXPLAINED,
    series: Type.String(),
    key: Type.String(),
    policy: Type.Object({
      ...EXPLAINED_POLICY,
      divisibility: Type.Union([
        Type.Object(Divisibility.schema.properties, {
          description: 'What was learned about reports of this kind.',
        }),
        Type.Null(),
      ]),
    }),
  },
  { title: 'Explanation' },
);
const Preview = Type.Object(
  {
    days: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Number of days in the period; null if an end is open.',
    }),
    reports: Type.Array(
      Type.Object({
        endpoint: Type.String(),
        advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
        split: Type.Array(Type.String()),
      }),
      { description: 'Known reports by date that would be fetched again.' },
    ),
    report: Type.Union(
      [
        Type.Object({
          series: Type.String(),
          entries: Type.Integer(),
          days: Type.Array(Type.String({ format: 'date' })),
          rows: Type.Integer(),
          bytes: Type.Integer({ description: 'Stored size.' }),
        }),
        Type.Null(),
      ],
      { description: 'Cached entries of the named report that would be removed.' },
    ),
  },
  { title: 'PurgePreview', description: 'With dryRun.' },
);

const describe = operations('cache');

export const purgeCache = describe(
  'purgeCache',
  'operator',
  'POST /admin/v1/cache/purge',
  'Purge cached reports',
  {
    body: Type.Object(
      {
        all: Type.Optional(Type.Literal(true, { description: 'Everything.' })),
        advertiserId: Type.Optional(
          Type.Integer({
            minimum: 1,
            // What JSON does not hold exactly would be another account.
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'Reports that name or contain this account, and those that name none.',
          }),
        ),
        endpoint: Type.Optional(Type.String({ minLength: 1, description: 'E.g. campaigns/get.' })),
        from: Type.Optional(Type.String({ description: 'First day, YYYY-MM-DD.' })),
        to: Type.Optional(Type.String({ description: 'Last day, YYYY-MM-DD.' })),
        dryRun: Type.Optional(Type.Boolean({ description: 'Only report what would be purged.' })),
        query: Type.Optional(
          Type.String({
            description:
              'With dryRun and endpoint: the query of a report; the preview then lists its cached entries.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      purged: Type.String({ description: 'The scope of the purge.' }),
      dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was purged.' })),
      preview: Type.Optional(Preview),
    }),
  },
);

export const explainCache = describe(
  'explainCache',
  'viewer',
  'GET /admin/v1/cache/explain',
  'Cache state of a report',
  {
    query: Type.Object({
      endpoint: Type.Optional(Type.String({ description: 'The path of a report, e.g. campaigns/get.' })),
      query: Type.Optional(Type.String({ description: 'The URL-encoded query of a report.' })),
      url: Type.Optional(
        Type.String({
          description:
            'Instead of endpoint and query: the full URL of a report on any host, or its path with the query.',
        }),
      ),
      team: Type.Optional(
        Type.String({
          pattern: TEAM_ID,
          description: 'Id of a team; its default format applies if the query sets none.',
        }),
      ),
    }),
    answer: Explanation,
    problems: ['invalid_query'],
  },
);
