/** What was learned of days: when they change no more, and how far what was served can be relied upon. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { json, type Operation, shownToTeams } from '../../openapi/operation.js';
import type { Gateway } from '../../reports/gateway.js';
import type { Scope } from '../../reports/learn/scope.js';
import { QUANTILES } from '../../reports/query/describe.js';
import { type AskCall, askScopes, readAskCall, showScope, THE_REPORT, unlessAway } from './ask.js';

// When days change no more: `GET /gateway/v1/finality`.

export function registerFinality(app: FastifyInstance, g: Gateway): void {
  app.get(
    '/gateway/v1/finality',
    shownToTeams('history', 'When days of a report change no more, as far as that was seen', FINALITY),
    async (request, reply) =>
      reply
        .header('cache-control', 'private, no-store')
        .send(await showFinality(g, readAskCall(request, reply))),
  );
}

/** @throws GatewayError */
export async function showFinality(g: Gateway, call: AskCall): Promise<object> {
  const shown = await finalityOf(g, await askScopes(g, call, g.finality.scopesOf));
  call.trace.mark('answer');
  return shown;
}

/** On both planes. @throws GatewayError `not_ready` */
export async function finalityOf({ finality }: Gateway, scopes: readonly Scope[]): Promise<object> {
  const known = await unlessAway(Promise.all(scopes.map(finality.read)));
  const data = known.map(({ scope, observedSince, ...shown }) => ({
    ...showScope(scope),
    observedSince: observedSince === null ? null : new Date(observedSince).toISOString(),
    ...shown,
  }));
  return { data, meta: finality.about };
}

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

const FINALITY: Operation = {
  id: 'getFinality',
  ...ABOUT_SCOPES,
  answers: {
    200: json(FINALITY_ANSWER, 'What was learned.', ['cache-control']),
  },
};

// How far what was served can be relied upon: `GET /gateway/v1/truth`.

export function registerTruth(app: FastifyInstance, g: Gateway): void {
  app.get(
    '/gateway/v1/truth',
    shownToTeams(
      'history',
      'What came of days of a report that were asked for again, as far as that was seen',
      TRUTH,
    ),
    async (request, reply) => {
      const call = readAskCall(request, reply);
      const shown = await truthOf(g, await askScopes(g, call, g.truth.scopesOf));
      call.trace.mark('answer');
      return reply.header('cache-control', 'private, no-store').send(shown);
    },
  );
}

/** On both planes. @throws GatewayError `not_ready` */
export async function truthOf({ truth, finality }: Gateway, scopes: readonly Scope[]): Promise<object> {
  const show = async (scope: Scope) => {
    const { measuredSince, ages } = await truth.read(scope);
    const changeAt = await finality.readChanges(scope);
    return {
      ...showScope(scope),
      measuredSince: measuredSince === null ? null : new Date(measuredSince).toISOString(),
      ages: ages.map(({ differs_since, ...age }) => {
        const changeUntilFinal = changeAt(age.ageDays);
        return { ...age, differsSince: differs_since, ...(changeUntilFinal && { changeUntilFinal }) };
      }),
    };
  };
  return { data: await unlessAway(Promise.all(scopes.map(show))), meta: truth.about };
}

const count = (description: string) => Type.Integer({ minimum: 0, description });

const TRUTH_SCOPE = Type.Object(
  {
    endpoint: Type.String(),
    advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
    split: Type.Array(Type.String()),
    measuredSince: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    ages: Type.Array(
      Type.Object({
        ageDays: Type.Integer({ description: 'When it was asked for again; 90: or older.' }),
        n: count(
          'Distinct dates that were asked for again at that age; each counts by the worst that was seen.',
        ),
        same: count('The same rows as before.'),
        differsSince: count('Other rows, and no more can be said.'),
        restated: count('What was known had been seen a second time, and then changed.'),
        wrong: count('What was served is not what it said it was, or depended on the range asked for.'),
        wrongPercentAtMost: Type.Number({ description: 'With 95 %, if dates were independent.' }),
        failed: count('Dates that were to be asked for again, and could not be.'),
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

const TRUTH: Operation = {
  id: 'getTruth',
  ...ABOUT_SCOPES,
  answers: {
    200: json(TRUTH_ANSWER, 'What was measured.', ['cache-control']),
  },
};
