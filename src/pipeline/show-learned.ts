/** What was learned of reports, as operators ask for it: finality, truth and divisibility, of any advertiser. */
import type { Learner } from '../divisibility/learn.js';
import { NEEDED_DAYS } from '../divisibility/state.js';
import { type FieldFault, invalidQuery } from '../errors.js';
import { type Scope, scopeOf } from '../finality/scope.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../report/endpoint-path.js';
import type { ReportPolicy } from '../report-policy.js';
import { ABOUT_ONE_FAULT, isAccountId, MOST_SCOPES, parseNamed, unlessAway } from './ask.js';
import type { ParseQuery } from './query.js';
import { finalityOf, type ShowFinalityOptions } from './show-finality.js';
import { type ShowTruthOptions, truthOf } from './show-truth.js';

/** As it came. */
export interface LearnedAsked {
  readonly endpoint?: unknown;
  readonly query?: unknown;
  readonly advertiserId?: unknown;
}

export interface ShowLearned {
  /** @throws GatewayError 400 `invalid_query`; `not_ready`, here and below */
  finality(asked: LearnedAsked): Promise<object>;
  truth(asked: LearnedAsked): Promise<object>;
  divisibility(): object;
}

export interface ShowLearnedOptions {
  readonly parse: ParseQuery;
  readonly learner: Pick<Learner, 'list'>;
  readonly policy: Pick<ReportPolicy, 'endpoints'>;
  readonly finality: ShowFinalityOptions['finality'] &
    ShowTruthOptions['finality'] &
    Pick<ShowScopes, 'scopesOf'>;
  readonly truth: ShowTruthOptions['truth'] & Pick<ShowScopes, 'scopesOf'>;
}

interface ShowScopes {
  readonly scopesOf: (account: string) => readonly Scope[] | Promise<readonly Scope[]>;
}

export function createShowLearned(options: ShowLearnedOptions): ShowLearned {
  const { finality, truth, policy } = options;
  return {
    finality: async (asked) => finalityOf(finality, await scopesAsked(options, asked, finality)),
    truth: async (asked) => truthOf({ truth, finality }, await scopesAsked(options, asked, truth)),
    divisibility: () => ({
      kinds: options.learner.list().map(([id, known]) => showKind(id, known)),
      pinned: [...policy.endpoints].flatMap(([endpoint, { divisible }]) =>
        divisible === 'auto' ? [] : [{ endpoint, divisible }],
      ),
    }),
  };
}

async function scopesAsked(
  { parse }: ShowLearnedOptions,
  { endpoint, query, advertiserId }: LearnedAsked,
  { scopesOf }: ShowScopes,
): Promise<readonly Scope[]> {
  if (advertiserId === undefined && endpoint !== undefined && query !== undefined) {
    if (!isEndpointPath(endpoint)) throw invalidQuery({ param: 'endpoint', message: ENDPOINT_FAULT });
    if (typeof query !== 'string') throw invalidQuery({ param: 'query', message: 'was given twice' });
    return [scopeOf(parseNamed(parse, { endpoint, query }, 'json').question.report)];
  }
  if (endpoint !== undefined || query !== undefined || !isAccountId(advertiserId)) {
    const param =
      advertiserId === undefined ? (endpoint === undefined ? 'endpoint' : 'query') : 'advertiserId';
    throw invalidQuery({ param, message: ABOUT_ONE_FAULT } satisfies FieldFault);
  }
  return (await unlessAway(scopesOf(advertiserId))).slice(0, MOST_SCOPES);
}

type Known = ReturnType<Learner['list']>[number][1];

/** Without what only the next proof needs. */
function showKind(id: string, known: Known): object {
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
