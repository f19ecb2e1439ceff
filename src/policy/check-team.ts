import type { Caller } from '../auth/authenticate.js';
import { GatewayError } from '../errors.js';

/** A disabled team is refused everything. */
export function checkTeam({ caller }: { readonly caller: Caller }): void {
  if (caller.team.disabled) throw new GatewayError('team_disabled');
}
