/** Calls about the cache: purge, explain. */
import Type, { type TSchema } from 'typebox';
import { Divisibility } from '../../reports/learn/state.js';
import { PassedOn, ShownWarning } from '../../reports/query/describe.js';
import { operations, TEAM_ID } from './operation.js';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const date = Type.String({ format: 'date' });

const ENTRY = {
  state: Type.Enum(['fresh', 'final', 'stale', 'missing'], {
    description:
      'final: fresh, and past restatement; stale: past freshness, still of use; missing: the platform must be asked.',
  }),
  final: Type.Boolean(),
  asOf: nullable(Type.String({ format: 'date-time' })),
  ageSeconds: nullable(Type.Integer()),
  ttlSeconds: nullable(Type.Integer({ description: 'Freshness left; negative when it is over.' })),
  rows: nullable(Type.Integer()),
};
export const ExplainedEntry = Type.Object(ENTRY, { title: 'ExplainedEntry' });
const RangeSchema = Type.Object({ from: nullable(date), to: nullable(date) }, { title: 'Range' });

/** How it is answered. */
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
    { description: 'As it was named; an address that was given is read so.' },
  ),
  inWords: Type.Object({
    kept: Type.String({ description: 'By day or as a whole, and why.' }),
    price: Type.String({ description: 'What an answer costs now.' }),
  }),
  price: Type.Object({
    calls: Type.Integer({ description: 'Platform calls before the answer; as many as calls has.' }),
    behind: Type.Integer({ description: 'Those behind it.' }),
  }),
  canonical: Type.Object({ method: Type.String(), target: Type.String(), body: nullable(Type.String()) }),
  days: nullable(
    Type.Array(Type.Object({ date, ...ENTRY }, { title: 'ExplainedDay' }), {
      description:
        'Every day of a report split by date, also while it is kept as one entry; null for other reports.',
    }),
  ),
  whole: Type.Union([ExplainedEntry, Type.Null()], {
    description: 'The one entry of a report that is not split by day.',
  }),
  refusal: nullable(
    Type.Object(
      { status: Type.Integer(), ttlSeconds: Type.Integer() },
      { description: "The platform's refusal, while it is remembered: the answer for so long." },
    ),
  ),
  calls: Type.Array(RangeSchema, {
    description: 'The platform calls that answering now would make before the answer.',
  }),
  behind: Type.Array(RangeSchema, {
    description: 'Those it would make behind the answer, for what is given past its freshness.',
  }),
  storeAway: Type.Boolean(),
  passedOn: PassedOn,
  warnings: Type.Array(ShownWarning, {
    description: 'What the answer will warn of already for its question.',
  }),
};

/** For teams: about their own query, and nothing that was learned from queries of others. */
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
          description: 'What was learned of reports of this kind.',
        }),
        Type.Null(),
      ]),
    }),
  },
  { title: 'Explanation' },
);
const Preview = Type.Object(
  {
    days: Type.Union([Type.Integer(), Type.Null()], { description: 'In it; null where an end is open.' }),
    reports: Type.Array(
      Type.Object({
        endpoint: Type.String(),
        advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
        split: Type.Array(Type.String()),
      }),
      { description: 'Reports by date in use that would be asked for anew, as far as they are known.' },
    ),
    report: Type.Union(
      [
        Type.Object({
          series: Type.String(),
          entries: Type.Integer(),
          days: Type.Array(Type.String({ format: 'date' })),
          rows: Type.Integer(),
          bytes: Type.Integer({ description: 'As they are kept in the store.' }),
        }),
        Type.Null(),
      ],
      { description: 'What is kept of the report that query names, and would be forgotten.' },
    ),
  },
  { title: 'PurgePreview', description: 'With dryRun.' },
);

const describe = operations('cache');

export const purgeCache = describe(
  'purgeCache',
  'operator',
  'POST /admin/v1/cache/purge',
  'Forget cached reports',
  {
    body: Type.Object(
      {
        all: Type.Optional(Type.Literal(true, { description: 'Everything.' })),
        advertiserId: Type.Optional(
          Type.Integer({
            minimum: 1,
            // What JSON does not hold exactly would be another account.
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'Reports that name or hold this account, and those that name none.',
          }),
        ),
        endpoint: Type.Optional(Type.String({ minLength: 1, description: 'E.g. campaigns/get.' })),
        from: Type.Optional(Type.String({ description: 'First day, YYYY-MM-DD.' })),
        to: Type.Optional(Type.String({ description: 'Last day, YYYY-MM-DD.' })),
        dryRun: Type.Optional(Type.Boolean({ description: 'Only say what would be forgotten.' })),
        query: Type.Optional(
          Type.String({
            description:
              'With dryRun and endpoint: the query of a report, of which is told what is kept and would be forgotten.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      purged: Type.String({ description: 'What is forgotten.' }),
      dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was forgotten.' })),
      preview: Type.Optional(Preview),
    }),
  },
);

export const explainCache = describe(
  'explainCache',
  'viewer',
  'GET /admin/v1/cache/explain',
  'What the cache holds of a report',
  {
    query: Type.Object({
      endpoint: Type.Optional(Type.String({ description: 'The path of a report, e.g. campaigns/get.' })),
      query: Type.Optional(Type.String({ description: 'The URL-encoded query of a report.' })),
      url: Type.Optional(
        Type.String({
          description:
            'In the place of endpoint and query: the address of a report as it was copied, of whatever host, or its path with the query.',
        }),
      ),
      team: Type.Optional(
        Type.String({
          pattern: TEAM_ID,
          description: 'Id of a team: its default format decides where the query names none.',
        }),
      ),
    }),
    answer: Explanation,
    problems: ['invalid_query'],
  },
);
