/** `GET /gateway/v1/truth`: what came of days that were asked for again. */
import type { AskCall } from '../http/ask-call.js';
import type { ScopeTruth, Truth } from '../truth/create-truth.js';
import { type AskScopesOptions, askScopes, showScope, unlessAway } from './ask-scopes.js';

/** @throws GatewayError */
export type ShowTruth = (call: AskCall) => Promise<object>;

export interface ShowTruthOptions extends AskScopesOptions {
  readonly truth: Pick<Truth, 'read' | 'about'>;
}

export function createShowTruth(options: ShowTruthOptions): ShowTruth {
  const { truth } = options;
  return async (call) => {
    const scopes = await askScopes(options, call);
    const data = await unlessAway(Promise.all(scopes.map(truth.read)));
    call.trace.mark('answer');
    return { data: data.map(show), meta: truth.about };
  };
}

function show({ scope, measuredSince, ages }: ScopeTruth): object {
  return {
    ...showScope(scope),
    measuredSince: measuredSince === null ? null : new Date(measuredSince).toISOString(),
    ages: ages.map(({ differs_since, ...age }) => ({ ...age, differsSince: differs_since })),
  };
}
