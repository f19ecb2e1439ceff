/** Learned data for operators: divisibility by kind, finality and truth by advertiser or report. */
import type { FastifyInstance } from 'fastify';
import { invalidQuery } from '../../errors.js';
import type { Learner } from '../../reports/learn/learn.js';
import { type Scope, scopeOf } from '../../reports/learn/scope.js';
import { inWords } from '../../reports/learn/state.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import type { Reports } from '../../reports/reports.js';
import type { Services } from '../../server/services.js';
import { findAdvertisers } from '../data/advertisers.js';
import { type NamedReport, parseNamed, scopesNamed } from '../data/ask.js';
import { finalityOf, truthOf } from '../data/learned.js';
import {
  DEFAULT_ADVERTISERS,
  getDivisibility,
  getFinality,
  getTruth,
  listAdvertisers,
} from '../operations/learned.js';
import type { RequestTypes } from '../operations/operation.js';
import { serve } from './serve.js';

export function registerLearned(
  app: FastifyInstance,
  { reporting: { reports: g } }: Pick<Services, 'reporting'>,
): void {
  serve(app, getDivisibility, async () => ({
    kinds: g.learner.list().map(([id, known]) => showKind(id, known, g.now())),
    pinned: [...g.policy.endpoints].flatMap(([endpoint, { divisible }]) =>
      divisible === 'auto' ? [] : [{ endpoint, divisible }],
    ),
  }));
  serve(app, getFinality, async ({ query }) =>
    finalityOf(g, await scopesAsked(g, query, (account) => g.evidence.windowScopes(account))),
  );
  serve(app, getTruth, async ({ query }) =>
    truthOf(g, await scopesAsked(g, query, (account) => g.evidence.scopesOf(account))),
  );
  serve(app, listAdvertisers, async ({ query: { search, limit = DEFAULT_ADVERTISERS } }) =>
    findAdvertisers(g, search, limit, '*'),
  );
}

/** @throws GatewayError 400 `invalid_query`; `not_ready` */
function scopesAsked(
  { parse }: Reports,
  query: RequestTypes<typeof getFinality>['Querystring'],
  scopesOf: Parameters<typeof scopesNamed>[2],
): Promise<readonly Scope[]> {
  const scopeOfReport = (named: NamedReport) => {
    if (!isEndpointPath(named.endpoint)) throw invalidQuery(ENDPOINT_FAULT);
    return scopeOf(parseNamed(parse, named, 'json').question.report);
  };
  return scopesNamed(query, scopeOfReport, scopesOf);
}

function showKind(id: string, known: ReturnType<Learner['list']>[number][1], nowMs: number): object {
  const { state, about, proof } = known;
  const time = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? null : new Date(ms).toISOString();
  return {
    id,
    endpoint: about?.endpoint ?? null,
    split: about?.split ?? null,
    spentBased: about?.spentBased ?? null,
    passedOn: about?.passedOn ?? [],
    state,
    inWords: inWords(known, nowMs),
    proof: proof === undefined ? null : { ...proof, at: time(proof.at) },
    tryAgainAt: state === 'unknown' ? time(known.tryAgainAt) : null,
    provenAt: time(known.provenAt),
    refutedUntil: state === 'refuted' ? time(known.refutedUntil) : null,
    wholeUntil: time(known.wholeUntil),
    restatements: known.restatements,
    oldestRestatementDays: known.oldestRestatementDays,
  };
}
