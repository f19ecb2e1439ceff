/** Calls about what was learned of reports, and of advertisers. */
import Type from 'typebox';
import { ADVERTISERS, ADVERTISERS_QUERY } from '../data/advertisers.js';
import { ABOUT_SCOPES, FINALITY_ANSWER, TRUTH_ANSWER } from '../data/learned.js';
import { operations } from './operation.js';

const orNull = (schema: ReturnType<typeof Type.String>) => Type.Union([schema, Type.Null()]);
const time = orNull(Type.String({ format: 'date-time' }));
const count = Type.Integer({ minimum: 0 });

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
    about: 'The answer.',
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
export const USUAL_ADVERTISERS = '100';

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
