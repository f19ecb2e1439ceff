/** Calls about what was learned about reports and advertisers. */
import Type from 'typebox';
import { QUANTILES } from '../../reports/query/describe.js';
import { NAMED_REPORT_PROBLEMS, type Operation } from '../openapi/operation.js';
import { integer, nullable, SHOWN_ACCOUNT, text, time, titled } from '../openapi/schemas.js';
import { operations } from './operation.js';

const timeOrNull = nullable(time);
const count = Type.Integer({ minimum: 0 });
const ROUGH = 'Upper bound. A rough estimate: neighbouring days change together.';
const counted = (description: string) => Type.Integer({ minimum: 0, description });

const Kind = titled('DivisibilityOfKind', {
  id: Type.String(),
  endpoint: nullable(text('Null: learned by an older release; set by the next proof.')),
  split: nullable(Type.Array(Type.String())),
  spentBased: nullable(Type.String()),
  passedOn: Type.Array(Type.String(), {
    description: 'Names of the parameters passed to the platform unread.',
  }),
  state: Type.Enum(['unknown', 'proving', 'proven', 'refuted']),
  inWords: text('What the state means, why it is so, and what is missing.'),
  proof: nullable(
    Type.Object({
      at: time,
      from: nullable(Type.String()),
      to: nullable(Type.String()),
      calls: count,
      found: Type.String(),
    }),
    'The last time that the gateway fetched a period and its parts to compare them: the longest period that was answered, the platform calls, and what was found.',
  ),
  tryAgainAt: nullable(time, 'While unknown: a report after it starts the next comparison.'),
  provenAt: timeOrNull,
  refutedUntil: timeOrNull,
  wholeUntil: timeOrNull,
  restatements: Type.Integer({ minimum: 0, description: 'Final days that changed nevertheless.' }),
  oldestRestatementDays: count,
});

export const THE_REPORT = {
  endpoint: Type.String({ description: 'The path of a report.', examples: ['campaigns/get'] }),
  query: Type.String({
    description: 'The query of the report as one value. In a URL, encode its & as %26 and its = as %3D.',
    examples: ['advertiserId=1&byDate=1&_period=last_7_days'],
  }),
};

/** Of calls about one report, or about all reports of an advertiser. */
export const ABOUT_SCOPES = {
  query: Type.Object({
    endpoint: Type.Optional(THE_REPORT.endpoint),
    query: Type.Optional(THE_REPORT.query),
    advertiserId: Type.Optional(
      Type.String({
        description: 'Instead of endpoint and query: all reports of this advertiser.',
        examples: ['1'],
      }),
    ),
  }),
  problems: NAMED_REPORT_PROBLEMS,
} as const satisfies Pick<Operation, 'query' | 'problems'>;

const SCOPE = titled('ScopeFinality', {
  endpoint: Type.String(),
  advertiserId: SHOWN_ACCOUNT,
  split: Type.Array(Type.String()),
  windowDays: Type.Integer({ description: 'The window in use: older days are final.' }),
  learnedDays: nullable(Type.Integer(), 'The learned window; null if nothing was observed.'),
  settledFromDays: nullable(
    Type.Integer(),
    'Age from which no day was seen to change, with enough observations; null if unknown.',
  ),
  observedSince: nullable(time),
  ages: Type.Array(
    Type.Object({
      ageDays: Type.Integer(),
      n: Type.Integer({ description: 'Distinct dates observed at that age and again later.' }),
      changed: Type.Integer({ description: 'Dates whose rows had changed by then.' }),
      changedPercentAtMost: Type.Number({ description: ROUGH }),
    }),
  ),
});

/** On both planes. */
export const FINALITY_ANSWER = titled('Finality', {
  data: Type.Array(SCOPE, { description: 'One item per endpoint and split of the advertiser.' }),
  meta: Type.Object({
    mode: Type.Enum(['fixed', 'observe', 'learned']),
    restatementDays: Type.Integer(),
    maxDays: Type.Integer(),
    approximate: text('Limitations of the bounds.'),
    notLearned: Type.Optional(text('Why nothing is learned.')),
  }),
});

const TRUTH_SCOPE = titled('ScopeTruth', {
  endpoint: Type.String(),
  advertiserId: SHOWN_ACCOUNT,
  split: Type.Array(Type.String()),
  measuredSince: nullable(time),
  ages: Type.Array(
    Type.Object({
      ageDays: Type.Integer({
        description: 'Age of the dates when they were fetched again; 90: 90 or older.',
      }),
      n: counted('Distinct dates fetched again at that age; each counts by its worst result.'),
      same: counted('Dates with the same rows as before.'),
      differsSince: counted('Dates with different rows, for an unknown reason.'),
      restated: counted(
        'Dates that the platform restated: their rows had been confirmed once, then changed.',
      ),
      wrong: counted(
        'Dates served incorrectly: content did not match its revision, or depended on the requested period.',
      ),
      wrongPercentAtMost: Type.Number({ description: ROUGH }),
      failed: counted('Dates whose repeated fetch failed.'),
      changeUntilFinal: Type.Optional(
        Type.Record(Type.String(), QUANTILES, {
          description:
            'By column: how much days of that age changed until they were final, as meta.expectedChange of a report. Absent below 30 days.',
        }),
      ),
    }),
  ),
});

/** On both planes. */
export const TRUTH_ANSWER = titled('Truth', {
  data: Type.Array(TRUTH_SCOPE, { description: 'One item per endpoint and split of the advertiser.' }),
  meta: Type.Object({
    basis: text('How the dates to fetch again are chosen.'),
    approximate: text('Limitations of the bounds.'),
    notMeasured: Type.Optional(text('Why little or nothing is measured.')),
  }),
});

/** On both planes. */
export const ADVERTISERS = titled('Advertisers', {
  advertisers: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: nullable(Type.String(), 'Name in the latest platform answer; null: in none.'),
      lastSeenAt: nullable(time, 'When a platform answer last contained it, to the hour; null: never.'),
    }),
    { description: 'Most recently seen first.' },
  ),
});

/** @param limit the default, for the description */
export const ADVERTISERS_QUERY = (limit: number | 'all') =>
  Type.Object({
    search: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Only ids that start with this, or names that contain it.',
      }),
    ),
    limit: Type.Optional(integer(1, 10_000, `Number of advertisers; ${limit} by default.`)),
  });

const learned = operations('learned');

export const getDivisibility = learned('getDivisibility', 'viewer', 'GET /admin/v1/divisibility', {
  summary: 'Which reports can be cached by day',
  answer: Type.Object({
    kinds: Type.Array(Kind),
    pinned: Type.Array(Type.Object({ endpoint: Type.String(), divisible: Type.Enum(['always', 'never']) }), {
      description:
        'Endpoints whose reports are configured to be cached by day, or never, and are not tested.',
    }),
  }),
});

export const getFinality = learned('getFinality', 'viewer', 'GET /admin/v1/finality', {
  summary: 'When days of a report or advertiser become final',
  query: ABOUT_SCOPES.query,
  answer: FINALITY_ANSWER,
  about: 'The learned windows.',
  problems: ['invalid_query', 'not_ready'],
});

export const getTruth = learned('getTruth', 'viewer', 'GET /admin/v1/truth', {
  summary: 'Results of fetching served days again',
  query: ABOUT_SCOPES.query,
  answer: TRUTH_ANSWER,
  about: 'The measured results.',
  problems: ['invalid_query', 'not_ready'],
});

export const DEFAULT_ADVERTISERS = 100;

export const listAdvertisers = operations('advertisers')(
  'listAdvertisers',
  'viewer',
  'GET /admin/v1/advertisers',
  {
    summary: 'Advertisers seen, with their names',
    query: ADVERTISERS_QUERY(DEFAULT_ADVERTISERS),
    answer: ADVERTISERS,
    about: 'Advertisers in platform answers: the 2,500 seen most recently.',
    problems: ['invalid_query', 'not_ready'],
  },
);
