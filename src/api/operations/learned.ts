/** Calls about what was learned of reports, and of advertisers. */
import Type from 'typebox';
import { QUANTILES } from '../../reports/query/describe.js';
import type { Operation } from '../openapi/operation.js';
import { operations } from './operation.js';

const orNull = (schema: ReturnType<typeof Type.String>, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
const time = orNull(Type.String({ format: 'date-time' }));
const count = Type.Integer({ minimum: 0 });
const counted = (description: string) => Type.Integer({ minimum: 0, description });

const Kind = Type.Object(
  {
    id: Type.String(),
    endpoint: orNull(
      Type.String({
        description: 'Null: learned by a release that did not write it; told with the next proof.',
      }),
    ),
    split: Type.Union([Type.Array(Type.String()), Type.Null()]),
    spentBased: orNull(Type.String()),
    passedOn: Type.Array(Type.String(), { description: 'Names of further parameters.' }),
    state: Type.Enum(['learning', 'probation', 'proven', 'refuted']),
    inWords: Type.String(),
    agreedDays: count,
    neededDays: count,
    trials: Type.Integer({
      minimum: 0,
      description: 'On probation: ranges whose joins were the whole answer.',
    }),
    provenAt: time,
    refutedUntil: time,
    wholeUntil: time,
    restatements: Type.Integer({ minimum: 0, description: 'Final days that changed after all.' }),
    oldestRestatementDays: count,
  },
  { title: 'DivisibilityOfKind' },
);

/** The parameters that name a report. */
export const THE_REPORT = {
  endpoint: Type.String({ description: 'The path of a report.', examples: ['campaigns/get'] }),
  query: Type.String({
    description:
      'The query of the report as one value. Where it stands in an address, & is %26 and = is %3D in it.',
    examples: ['advertiserId=1&byDate=1&_period=last_7_days'],
  }),
};

/** Of calls about a report, or about an advertiser alone. */
export const ABOUT_SCOPES = {
  query: Type.Object({
    endpoint: Type.Optional(THE_REPORT.endpoint),
    query: Type.Optional(THE_REPORT.query),
    advertiserId: Type.Optional(
      Type.String({
        description:
          'In the place of endpoint and query: all that is known of the reports of this advertiser.',
        examples: ['1'],
      }),
    ),
  }),
  problems: ['invalid_query', 'scope_missing', 'advertiser_forbidden', 'advertiser_required', 'rate_limited'],
} as const satisfies Pick<Operation, 'query' | 'problems'>;

const daysOrNull = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description });

const SCOPE = Type.Object(
  {
    endpoint: Type.String(),
    advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
    split: Type.Array(Type.String()),
    windowDays: Type.Integer({ description: 'In use: a day that is older is final.' }),
    learnedDays: daysOrNull('What was learned; null where nothing was observed.'),
    settledFromDays: daysOrNull(
      'From this age on no day was ever seen to change, and enough were seen; null where that cannot be said.',
    ),
    observedSince: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    ages: Type.Array(
      Type.Object({
        ageDays: Type.Integer(),
        n: Type.Integer({ description: 'Distinct dates that were seen at that age, and again later.' }),
        changed: Type.Integer({ description: 'Those that had other rows then.' }),
        changedPercentAtMost: Type.Number({ description: 'With 95 %, if days were independent.' }),
      }),
    ),
  },
  { title: 'ScopeFinality' },
);

/** On both planes. */
export const FINALITY_ANSWER = Type.Object(
  {
    data: Type.Array(SCOPE, { description: 'Each endpoint and split of the advertiser.' }),
    meta: Type.Object({
      mode: Type.Enum(['fixed', 'observe', 'learned']),
      restatementDays: Type.Integer(),
      maxDays: Type.Integer(),
      approximate: Type.String({ description: 'What the bounds do not say.' }),
      notLearned: Type.Optional(Type.String({ description: 'Why nothing is learned.' })),
    }),
  },
  { title: 'Finality' },
);

const TRUTH_SCOPE = Type.Object(
  {
    endpoint: Type.String(),
    advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
    split: Type.Array(Type.String()),
    measuredSince: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    ages: Type.Array(
      Type.Object({
        ageDays: Type.Integer({ description: 'When it was asked for again; 90: or older.' }),
        n: counted(
          'Distinct dates that were asked for again at that age; each counts by the worst that was seen.',
        ),
        same: counted('The same rows as before.'),
        differsSince: counted('Other rows, and no more can be said.'),
        restated: counted('What was known had been seen a second time, and then changed.'),
        wrong: counted('What was served is not what it said it was, or depended on the range asked for.'),
        wrongPercentAtMost: Type.Number({ description: 'With 95 %, if dates were independent.' }),
        failed: counted('Dates that were to be asked for again, and could not be.'),
        changeUntilFinal: Type.Optional(
          Type.Record(Type.String(), QUANTILES, {
            description:
              'By column: by how much what was said of days of that age changed until they were final, as meta.expectedChange of a report. Absent below 30 days.',
          }),
        ),
      }),
    ),
  },
  { title: 'ScopeTruth' },
);

/** On both planes. */
export const TRUTH_ANSWER = Type.Object(
  {
    data: Type.Array(TRUTH_SCOPE, { description: 'Each endpoint and split of the advertiser.' }),
    meta: Type.Object({
      basis: Type.String({ description: 'How days come to be asked for again.' }),
      approximate: Type.String({ description: 'What the bounds do not say.' }),
      notMeasured: Type.Optional(Type.String({ description: 'Why hardly anything is measured.' })),
    }),
  },
  { title: 'Truth' },
);

/** On both planes. */
export const ADVERTISERS = Type.Object(
  {
    advertisers: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: orNull(Type.String(), 'As an answer of the platform told it last; null: none did.'),
        lastSeenAt: orNull(
          Type.String({ format: 'date-time' }),
          'When an answer last held it, to the hour; null: none did.',
        ),
      }),
      { description: 'Those seen last come first.' },
    ),
  },
  { title: 'Advertisers' },
);

/** @param limit how many are listed when none is given, for the description */
export const ADVERTISERS_QUERY = (limit: number | 'all') =>
  Type.Object({
    search: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Only those whose id begins so, or whose name has this in it.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: `How many; ${limit} when not given.` }),
    ),
  });

const learned = operations('learned');

export const getDivisibility = learned(
  'getDivisibility',
  'viewer',
  'GET /admin/v1/divisibility',
  'Which kinds of reports may be split by day, as far as that is known',
  {
    answer: Type.Object({
      kinds: Type.Array(Kind),
      pinned: Type.Array(
        Type.Object({ endpoint: Type.String(), divisible: Type.Enum(['always', 'never']) }),
        { description: 'Endpoints of which nothing is learned, for the configuration says it.' },
      ),
    }),
  },
);

export const getFinality = learned(
  'getFinality',
  'viewer',
  'GET /admin/v1/finality',
  'When days of a report, or of an advertiser, change no more',
  {
    query: ABOUT_SCOPES.query,
    answer: FINALITY_ANSWER,
    about: 'What was learned.',
    problems: ['invalid_query', 'not_ready'],
  },
);

export const getTruth = learned(
  'getTruth',
  'viewer',
  'GET /admin/v1/truth',
  'What came of days that were asked for again',
  {
    query: ABOUT_SCOPES.query,
    answer: TRUTH_ANSWER,
    about: 'What was measured.',
    problems: ['invalid_query', 'not_ready'],
  },
);

/** Advertisers that are listed when no limit is given. */
export const USUAL_ADVERTISERS = 100;

export const listAdvertisers = operations('advertisers')(
  'listAdvertisers',
  'viewer',
  'GET /admin/v1/advertisers',
  'Advertisers seen, with their names',
  {
    query: ADVERTISERS_QUERY(USUAL_ADVERTISERS),
    answer: ADVERTISERS,
    about: 'Advertisers in answers of the platform; the 2,500 seen last.',
    problems: ['invalid_query', 'not_ready'],
  },
);
