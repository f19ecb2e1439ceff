import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import { GatewayError } from '../errors.js';

/** The team holds the scope of the call. */
export function checkScope({ caller, scope }: { readonly caller: Caller; readonly scope: Scope }): void {
  if (!caller.team.scopes.includes(scope)) {
    throw new GatewayError('scope_missing', { detail: `This call needs the scope ${scope}.` });
  }
}
