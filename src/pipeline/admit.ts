/** Who asks, may they, and how often: before a byte of the question is read. */
import type { Caller } from '../auth/authenticate.js';
import type { Identify } from '../auth/identify.js';
import type { Scope } from '../auth/team.js';
import type { ReportCall } from '../http/report-call.js';
import type { TeamLimits } from '../limits/team-limits.js';
import { admit } from '../policy/authorize.js';

export interface AdmitOptions {
  readonly identify: Identify;
  readonly limits: TeamLimits;
}

/** What of a call tells who makes it. */
export type Arrival = Pick<ReportCall, 'keys' | 'trace' | 'address' | 'onResponseClosed' | 'isCharged'>;

/** @throws GatewayError 401 `invalid_api_key` and its like; 403 `team_disabled`, `ip_forbidden`, `scope_missing`; 429 */
export type Admit = (arrival: Arrival, scope?: Scope) => Promise<Caller>;

export function createAdmit({ identify, limits }: AdmitOptions): Admit {
  return async ({ keys, trace, address, onResponseClosed, isCharged }, scope = 'report:read') => {
    const caller = identify(keys, trace);
    admit({ caller, address, scope });
    if (isCharged !== true) await limits.enter(caller.team, onResponseClosed);
    trace.mark('admit');
    return caller;
  };
}
