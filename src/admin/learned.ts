/** What was learned of reports, for operators: divisibility by kind, finality and truth by advertiser or report. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { ABOUT_ONE_FAULT, isAccountId, MOST_SCOPES, parseNamed, unlessAway } from '../api/data/ask.js';
import { ABOUT_SCOPES, FINALITY_ANSWER, finalityOf, TRUTH_ANSWER, truthOf } from '../api/data/learned.js';
import type { Reporting } from '../compose-reports.js';
import { invalidQuery } from '../errors.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { Gateway } from '../reports/gateway.js';
import type { Learner } from '../reports/learn/learn.js';
import { type Scope, scopeOf } from '../reports/learn/scope.js';
import { NEEDED_DAYS } from '../reports/learn/state.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../reports/query/endpoint-path.js';

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

export function registerLearned(
  app: FastifyInstance,
  { reporting: { gateway: g } }: { readonly reporting: Pick<Reporting, 'gateway'> },
): void {
  app.get(
    '/admin/v1/divisibility',
    shownAs('learned', 'Which kinds of reports may be split by day, as far as that is known', DIVISIBILITY),
    async () => ({
      kinds: g.learner.list().map(([id, known]) => showKind(id, known)),
      pinned: [...g.policy.endpoints].flatMap(([endpoint, { divisible }]) =>
        divisible === 'auto' ? [] : [{ endpoint, divisible }],
      ),
    }),
  );
  const finality = asked('getFinality', { 200: json(FINALITY_ANSWER, 'What was learned.') });
  app.get(
    '/admin/v1/finality',
    shownAs('learned', 'When days of a report, or of an advertiser, change no more', finality),
    async (request) =>
      finalityOf(g, await scopesAsked(g, request.query as LearnedAsked, g.finality.scopesOf)),
  );
  const truth = asked('getTruth', { 200: json(TRUTH_ANSWER, 'What was measured.') });
  app.get(
    '/admin/v1/truth',
    shownAs('learned', 'What came of days that were asked for again', truth),
    async (request) => truthOf(g, await scopesAsked(g, request.query as LearnedAsked, g.truth.scopesOf)),
  );
}

/** As received. */
interface LearnedAsked {
  readonly endpoint?: unknown;
  readonly query?: unknown;
  readonly advertiserId?: unknown;
}

/** @throws GatewayError 400 `invalid_query`; `not_ready` */
async function scopesAsked(
  { parse }: Gateway,
  { endpoint, query, advertiserId }: LearnedAsked,
  scopesOf: (account: string) => readonly Scope[] | Promise<readonly Scope[]>,
): Promise<readonly Scope[]> {
  if (advertiserId === undefined && endpoint !== undefined && query !== undefined) {
    if (!isEndpointPath(endpoint)) throw invalidQuery({ param: 'endpoint', message: ENDPOINT_FAULT });
    if (typeof query !== 'string') throw invalidQuery({ param: 'query', message: 'was given twice' });
    return [scopeOf(parseNamed(parse, { endpoint, query }, 'json').question.report)];
  }
  if (endpoint !== undefined || query !== undefined || !isAccountId(advertiserId)) {
    const param =
      advertiserId === undefined ? (endpoint === undefined ? 'endpoint' : 'query') : 'advertiserId';
    throw invalidQuery({ param, message: ABOUT_ONE_FAULT });
  }
  return (await unlessAway(scopesOf(advertiserId))).slice(0, MOST_SCOPES);
}

/** Without what only the next proof needs. */
function showKind(id: string, known: ReturnType<Learner['list']>[number][1]): object {
  const { state, about, agreements, trials = [] } = known;
  const time = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? null : new Date(ms).toISOString();
  return {
    id,
    endpoint: about?.endpoint ?? null,
    split: about?.split ?? null,
    spentBased: about?.spentBased ?? null,
    passedOn: about?.passedOn ?? [],
    state,
    inWords: WORDS[state] ?? 'A newer release has written it.',
    agreedDays: new Set(agreements.map(({ date }) => date)).size,
    neededDays: NEEDED_DAYS,
    trials: trials.length,
    provenAt: time(known.provenAt),
    refutedUntil: state === 'refuted' ? time(known.refutedUntil) : null,
    wholeUntil: time(known.wholeUntil),
    restatements: known.restatements,
    oldestRestatementDays: known.oldestRestatementDays,
  };
}

const WORDS: Readonly<Record<string, string>> = {
  learning: 'Answered as a whole, until days of answers that overlap were seen to agree.',
  probation: 'Answered as a whole; behind the answer the join of its days is compared with it.',
  proven: 'Answered by day; a join is held against a whole answer of the platform now and then.',
  refuted: 'The numbers of a day depend on the period asked for: answered as a whole, for a day at least.',
};
