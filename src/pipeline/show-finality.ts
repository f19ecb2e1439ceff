/** `GET /gateway/v1/finality`: when days of a report change no more, as far as that was seen. */
import type { Finality, ScopeFinality } from '../finality/create-finality.js';
import type { Scope } from '../finality/scope.js';
import { type AskCall, type AskScopes, askScopes, showScope, unlessAway } from './ask.js';

/** @throws GatewayError */
export type ShowFinality = (call: AskCall) => Promise<object>;

export interface ShowFinalityOptions extends AskScopes {
  readonly scopesOf: (account: string) => readonly Scope[] | Promise<readonly Scope[]>;
  readonly finality: Pick<Finality, 'read' | 'about'>;
}

export function createShowFinality(options: ShowFinalityOptions): ShowFinality {
  const { finality } = options;
  return async (call) => {
    const scopes = await askScopes(options, call, options.scopesOf);
    const shown = await finalityOf(finality, scopes);
    call.trace.mark('answer');
    return shown;
  };
}

/** @throws GatewayError `not_ready` */
export async function finalityOf(
  { read, about }: ShowFinalityOptions['finality'],
  scopes: readonly Scope[],
): Promise<object> {
  const data = await unlessAway(Promise.all(scopes.map(read)));
  return { data: data.map(show), meta: about };
}

function show({ scope, observedSince, ...finality }: ScopeFinality): object {
  return {
    ...showScope(scope),
    observedSince: observedSince === null ? null : new Date(observedSince).toISOString(),
    ...finality,
  };
}
