/** What was learned of reports, for operators: divisibility by kind, finality and truth by advertiser or report. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { LearnedAsked, ShowLearned } from '../pipeline/show-learned.js';
import { ABOUT_SCOPES, FINALITY_ANSWER } from '../routes/finality.js';
import { TRUTH_ANSWER } from '../routes/truth.js';

export interface LearnedOptions {
  readonly pipeline: { readonly showLearned: ShowLearned };
}

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

const DIVISIBILITY: Operation = {
  id: 'getDivisibility',
  answers: {
    200: json(
      Type.Object({
        kinds: Type.Array(Kind),
        pinned: Type.Array(
          Type.Object({ endpoint: Type.String(), divisible: Type.Enum(['always', 'never']) }),
          { description: 'Endpoints of which nothing is learned, for the configuration says it.' },
        ),
      }),
    ),
  },
};

const asked = (id: string, answer: Operation['answers']): Operation => ({
  id,
  query: ABOUT_SCOPES.query as NonNullable<Operation['query']>,
  answers: answer,
  problems: ['invalid_query', 'not_ready'],
});

export function registerLearned(app: FastifyInstance, { pipeline: { showLearned } }: LearnedOptions): void {
  app.get(
    '/admin/v1/divisibility',
    shownAs('learned', 'Which kinds of reports may be split by day, as far as that is known', DIVISIBILITY),
    async () => showLearned.divisibility(),
  );
  const finality = asked('getFinality', { 200: json(FINALITY_ANSWER, 'What was learned.') });
  app.get(
    '/admin/v1/finality',
    shownAs('learned', 'When days of a report, or of an advertiser, change no more', finality),
    async (request) => showLearned.finality(request.query as LearnedAsked),
  );
  const truth = asked('getTruth', { 200: json(TRUTH_ANSWER, 'What was measured.') });
  app.get(
    '/admin/v1/truth',
    shownAs('learned', 'What came of days that were asked for again', truth),
    async (request) => showLearned.truth(request.query as LearnedAsked),
  );
}
