/** `GET /gateway/v1/truth`: what came of days that were asked for again. */
import type { Finality } from '../finality/create-finality.js';
import type { Scope } from '../finality/scope.js';
import type { AskCall } from '../http/ask-call.js';
import type { ScopeTruth, Truth } from '../truth/create-truth.js';
import { type AskScopesOptions, askScopes, showScope, unlessAway } from './ask-scopes.js';

/** @throws GatewayError */
export type ShowTruth = (call: AskCall) => Promise<object>;

export interface ShowTruthOptions extends AskScopesOptions {
  readonly truth: Pick<Truth, 'read' | 'about'>;
  readonly finality: Pick<Finality, 'readChanges'>;
}

export function createShowTruth(options: ShowTruthOptions): ShowTruth {
  const { truth, finality } = options;
  const read = async (scope: Scope) => show(await truth.read(scope), await finality.readChanges(scope));
  return async (call) => {
    const scopes = await askScopes(options, call);
    const data = await unlessAway(Promise.all(scopes.map(read)));
    call.trace.mark('answer');
    return { data, meta: truth.about };
  };
}

function show(
  { scope, measuredSince, ages }: ScopeTruth,
  changeAt: Awaited<ReturnType<Finality['readChanges']>>,
): object {
  return {
    ...showScope(scope),
    measuredSince: measuredSince === null ? null : new Date(measuredSince).toISOString(),
    ages: ages.map(({ differs_since, ...age }) => {
      const changeUntilFinal = changeAt(age.ageDays);
      return { ...age, differsSince: differs_since, ...(changeUntilFinal && { changeUntilFinal }) };
    }),
  };
}
