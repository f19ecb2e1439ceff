/**
 * May this team do this? Two ordered lists of checks, one before the query is read and one after; both before the
 * cache is touched. A check is one file that throws or does not.
 */
import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import { checkAddress } from './check-address.js';
import { type AccountRequest, checkAdvertiser } from './check-advertiser.js';
import { checkRange, type RangeRequest } from './check-range.js';
import { checkScope } from './check-scope.js';
import { checkTeam } from './check-team.js';

export interface Entrance {
  readonly caller: Caller;
  /** The caller's address, behind trusted proxies resolved. */
  readonly address: string;
  readonly scope: Scope;
}

export interface AccessRequest extends AccountRequest, RangeRequest {}

const AT_THE_DOOR: readonly ((entrance: Entrance) => void)[] = [checkTeam, checkAddress, checkScope];
const ON_THE_QUESTION: readonly ((caller: Caller, access: AccessRequest) => void)[] = [
  checkAdvertiser,
  checkRange,
];

/** @throws GatewayError 403 `team_disabled`, `ip_forbidden`, `scope_missing` */
export function admit(entrance: Entrance): void {
  for (const check of AT_THE_DOOR) check(entrance);
}

/** @throws GatewayError 403 `advertiser_required`, `advertiser_forbidden`; 400 `invalid_query` for a long range */
export function authorize(caller: Caller, access: AccessRequest): void {
  for (const check of ON_THE_QUESTION) check(caller, access);
}
