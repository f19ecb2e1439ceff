/** `GET /gateway/v1/truth`: what came of days that were asked for again. */
import type { Finality } from '../finality/create-finality.js';
import type { Scope } from '../finality/scope.js';
import type { ScopeTruth, Truth } from '../truth/create-truth.js';
import { type AskCall, type AskScopes, askScopes, showScope, unlessAway } from './ask.js';

/** @throws GatewayError */
export type ShowTruth = (call: AskCall) => Promise<object>;

export interface ShowTruthOptions extends AskScopes {
  readonly scopesOf: (account: string) => readonly Scope[] | Promise<readonly Scope[]>;
  readonly truth: Pick<Truth, 'read' | 'about'>;
  readonly finality: Pick<Finality, 'readChanges'>;
}

export function createShowTruth(options: ShowTruthOptions): ShowTruth {
  return async (call) => {
    const scopes = await askScopes(options, call, options.scopesOf);
    const shown = await truthOf(options, scopes);
    call.trace.mark('answer');
    return shown;
  };
}

/** @throws GatewayError `not_ready` */
export async function truthOf(
  { truth, finality }: Pick<ShowTruthOptions, 'truth' | 'finality'>,
  scopes: readonly Scope[],
): Promise<object> {
  const read = async (scope: Scope) => show(await truth.read(scope), await finality.readChanges(scope));
  return { data: await unlessAway(Promise.all(scopes.map(read))), meta: truth.about };
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
