/** What was learned of days: when they change no more, and how far what was served can be relied upon. */
import type { FastifyInstance } from 'fastify';
import type { Gateway } from '../../reports/gateway.js';
import type { Scope } from '../../reports/learn/scope.js';
import { getOwnFinality, getOwnTruth } from '../operations/own.js';
import { type AskCall, askScopes, showScope, unlessAway } from './ask.js';
import { serveTeam } from './serve.js';

// When days change no more: `GET /gateway/v1/finality`.

export function registerFinality(app: FastifyInstance, g: Gateway): void {
  serveTeam(app, getOwnFinality, async (call) => showFinality(g, call));
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

// How far what was served can be relied upon: `GET /gateway/v1/truth`.

export function registerTruth(app: FastifyInstance, g: Gateway): void {
  serveTeam(app, getOwnTruth, async (call) => {
    const shown = await truthOf(g, await askScopes(g, call, g.truth.scopesOf));
    call.trace.mark('answer');
    return shown;
  });
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
