/** Authenticates and authorizes the caller and enforces its rate, before the query is read. */

import type { Scope } from '../config/sign-in-settings.js';
import type { Caller, Identify } from '../teams/auth/authenticate.js';
import type { TeamLimits } from '../teams/limits/limits.js';
import { checkCaller } from '../teams/policy/authorize.js';
import type { ReportCall } from './report-call.js';

export type Admit = ReturnType<typeof createAdmit>;

export function createAdmit({
  identify,
  limits,
}: {
  readonly identify: Identify;
  readonly limits: TeamLimits;
}) {
  /**
   * @returns a promise only if the rate limit needs the store
   * @throws GatewayError 401 `invalid_api_key` and its like; 403 `team_disabled`, `ip_forbidden`, `scope_missing`; 429
   */
  return (
    call: Pick<ReportCall, 'keys' | 'trace' | 'address' | 'onResponseClosed' | 'isCharged'>,
    scope: Scope = 'report:read',
  ): Caller | Promise<Caller> => {
    const caller = identify(call.keys, call.trace);
    checkCaller(caller, call.address, scope);
    const entering = call.isCharged === true ? null : limits.enter(caller, call.onResponseClosed);
    if (entering !== null) return entering.then(() => markAdmitted(call, caller));
    return markAdmitted(call, caller);
  };
}

function markAdmitted({ trace }: Pick<ReportCall, 'trace'>, caller: Caller): Caller {
  trace.mark('admit');
  return caller;
}
