/** Learned data about days: when they become final, and how accurate served days were. */

import type { Scope } from '../../reports/learn/scope.js';
import type { Reports } from '../../reports/reports.js';
import { type AskCall, askScopes, showScope, unlessAway } from './ask.js';

export async function showFinality(g: Reports, call: AskCall): Promise<object> {
  const shown = await finalityOf(g, await askScopes(g, call, (account) => g.evidence.windowScopes(account)));
  call.trace.mark('answer');
  return shown;
}

/** On both planes. @throws GatewayError `not_ready` */
export async function finalityOf({ evidence }: Reports, scopes: readonly Scope[]): Promise<object> {
  const show = async (scope: Scope) => {
    const { observedSince, ...shown } = await evidence.readFinality(scope);
    return { ...showScope(scope), observedSince: isoOrNull(observedSince), ...shown };
  };
  return { data: await unlessAway(Promise.all(scopes.map(show))), meta: evidence.aboutFinality };
}

const isoOrNull = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

export async function showTruth(g: Reports, call: AskCall): Promise<object> {
  const shown = await truthOf(g, await askScopes(g, call, (account) => g.evidence.scopesOf(account)));
  call.trace.mark('answer');
  return shown;
}

/** On both planes. @throws GatewayError `not_ready` */
export async function truthOf({ evidence }: Reports, scopes: readonly Scope[]): Promise<object> {
  const show = async (scope: Scope) => {
    const { measuredSince, ages } = await evidence.readTruth(scope);
    const changeAt = await evidence.readChanges(scope);
    return {
      ...showScope(scope),
      measuredSince: isoOrNull(measuredSince),
      ages: ages.map((age) => {
        const changeUntilFinal = changeAt(age.ageDays);
        return { ...age, ...(changeUntilFinal && { changeUntilFinal }) };
      }),
    };
  };
  return { data: await unlessAway(Promise.all(scopes.map(show))), meta: evidence.aboutTruth };
}
