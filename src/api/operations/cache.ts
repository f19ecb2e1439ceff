/** Calls that purge and explain the cache. */
import Type from 'typebox';
import { Divisibility } from '../../reports/learn/state.js';
import { PassedOn, ShownWarning } from '../../reports/query/describe.js';
import { accountId, closed, date, nullable, SHOWN_ACCOUNT, text, time, titled } from '../openapi/schemas.js';
import { ofTeam, operations } from './operation.js';

const ENTRY = {
  state: Type.Enum(['fresh', 'final', 'stale', 'missing'], {
    description:
      'final: fresh, and no longer restated; stale: no longer fresh but usable; missing: needs a platform call.',
  }),
  final: Type.Boolean(),
  asOf: nullable(time),
  ageSeconds: nullable(Type.Integer()),
  ttlSeconds: nullable(Type.Integer({ description: 'Remaining freshness; negative once stale.' })),
  rows: nullable(Type.Integer()),
  purgedAt: nullable(time, 'Of an entry that is stale because of a soft purge: the time of the purge.'),
};
export const ExplainedEntry = titled('ExplainedEntry', ENTRY);
const RangeSchema = titled('Range', { from: nullable(date), to: nullable(date) });

const EXPLAINED_POLICY = {
  mode: Type.Enum(['days', 'whole']),
  because: Type.String(),
  restatementDays: Type.Number(),
  staleWhileRevalidateSeconds: Type.Number(),
  staleIfErrorSeconds: Type.Number(),
};

const EXPLAINED = {
  report: Type.Object(
    { endpoint: Type.String(), query: text('URL-encoded.') },
    { description: 'The report in the request, or the one read from url.' },
  ),
  inWords: Type.Object({
    kept: text('Whether it is cached by day or as a whole, and why.'),
    price: text('Platform calls that an answer costs now.'),
    divisibility: Type.Optional(
      nullable(
        Type.String(),
        'For operators: whether such reports can be cached by day, why, and what is missing; null for reports not by date, and where it is configured.',
      ),
    ),
  }),
  price: Type.Object({
    calls: Type.Integer({ description: 'Platform calls before the answer; the length of calls.' }),
    behind: Type.Integer({ description: 'Refreshes after the answer; the length of behind.' }),
  }),
  canonical: Type.Object({ method: Type.String(), target: Type.String(), body: nullable(Type.String()) }),
  days: nullable(
    Type.Array(titled('ExplainedDay', { date, ...ENTRY }), {
      description:
        'Every day of a report split by date, even while it is cached as one entry; null for other reports.',
    }),
  ),
  whole: nullable(ExplainedEntry, 'The entry of a report that is cached as a whole.'),
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
export const TeamExplanation = titled('TeamExplanation', {
  ...EXPLAINED,
  policy: Type.Object(EXPLAINED_POLICY),
});
/** For operators. */
export const Explanation = titled('Explanation', {
  ...EXPLAINED,
  series: Type.String(),
  key: Type.String(),
  policy: Type.Object({
    ...EXPLAINED_POLICY,
    divisibility: nullable(
      Type.Object(Divisibility.schema.properties, {
        description: 'What was learned about reports of this kind.',
      }),
    ),
  }),
});
const Preview = Type.Object(
  {
    days: nullable(Type.Integer(), 'Number of days in the period; null if an end is open.'),
    reports: Type.Array(
      Type.Object({
        endpoint: Type.String(),
        advertiserId: SHOWN_ACCOUNT,
        split: Type.Array(Type.String()),
      }),
      { description: 'Known reports by date that would be fetched again.' },
    ),
    calls: Type.Integer({
      description:
        'Platform calls if each of these reports is requested once more: for the whole period, or for one call of days if an end is open. After a soft purge no request waits for these calls. A report that is not requested costs no call.',
    }),
    report: nullable(
      Type.Object({
        series: Type.String(),
        entries: Type.Integer(),
        days: Type.Array(date),
        calls: Type.Integer({ description: 'Platform calls that fetch these entries again.' }),
        rows: Type.Integer(),
        bytes: Type.Integer({
          description: 'Stored size; of days that Redis compresses together, before compression.',
        }),
      }),
      'Cached entries of the named report that would be removed, or become stale.',
    ),
  },
  { title: 'PurgePreview', description: 'With dryRun.' },
);

const describe = operations('cache');

export const purgeCache = describe('purgeCache', 'operator', 'POST /admin/v1/cache/purge', {
  summary: 'Purge cached reports',
  body: closed({
    all: Type.Optional(Type.Literal(true, { description: 'Everything.' })),
    advertiserId: Type.Optional(
      accountId('Reports that name or contain this account, and those that name none.'),
    ),
    endpoint: Type.Optional(Type.String({ minLength: 1, description: 'E.g. campaigns/get.' })),
    from: Type.Optional(text('First day, YYYY-MM-DD.')),
    to: Type.Optional(text('Last day, YYYY-MM-DD.')),
    soft: Type.Optional(
      Type.Boolean({
        description: 'Make them stale: served while a request refreshes them, and if the platform fails.',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only report what would be purged.' })),
    query: Type.Optional(
      text('With dryRun and endpoint: the query of a report; the preview then lists its cached entries.'),
    ),
  }),
  answer: Type.Object({
    purged: text('The scope of the purge.'),
    soft: Type.Optional(Type.Literal(true, { description: 'Nothing was removed.' })),
    dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was purged.' })),
    preview: Type.Optional(Preview),
  }),
});

export const explainCache = describe('explainCache', 'viewer', 'GET /admin/v1/cache/explain', {
  summary: 'Cache state of a report',
  query: Type.Object({
    endpoint: Type.Optional(text('The path of a report, e.g. campaigns/get.')),
    query: Type.Optional(text('The URL-encoded query of a report.')),
    url: Type.Optional(
      text(
        'Instead of endpoint and query: the full URL of a report on any host, or its path with the query.',
      ),
    ),
    team: ofTeam('Id of a team; its default format applies if the query sets none.'),
  }),
  answer: Explanation,
  problems: ['invalid_query', 'not_found'],
});
