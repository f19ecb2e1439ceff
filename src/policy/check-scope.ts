import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import { GatewayError } from '../errors.js';

/** The team holds the scope of the call. */
export function checkScope({ caller, scope }: { readonly caller: Caller; readonly scope: Scope }): void {
  if (!caller.team.scopes.includes(scope)) {
    const held = caller.team.scopes.length === 0 ? 'none' : caller.team.scopes.join(', ');
    throw new GatewayError('scope_missing', {
      detail: `This call needs the scope ${scope}.`,
      help: `Ask your operator to give the team ${caller.team.id} the scope ${scope}; it holds ${held}.`,
    });
  }
}
