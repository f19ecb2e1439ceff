/** May this team do this? {@link checkCaller} before the query is read, {@link checkQuery} after; both before the cache. */

import { GatewayError } from '../../errors.js';
import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import { checkAddress } from './check-address.js';
import { type AccountRequest, checkAdvertiser } from './check-advertiser.js';

export interface AccessRequest extends AccountRequest {
  /** Days of the period, both ends included; null when it is open. */
  readonly rangeDays: number | null;
  /** The period has no beginning: the platform may begin it on any day. */
  readonly opensEarly?: boolean;
}

/**
 * @param address of the caller, behind trusted proxies resolved
 * @throws GatewayError 403 `team_disabled`, `ip_forbidden`, `scope_missing`, in this order
 */
export function checkCaller(caller: Caller, address: string, scope: Scope): void {
  checkTeam(caller);
  checkAddress(caller, address);
  checkScope(caller, scope);
}

/** @throws GatewayError 403 `advertiser_required`, `advertiser_forbidden`; 400 `invalid_query` for a long range */
export function checkQuery(caller: Caller, access: AccessRequest): void {
  checkAdvertiser(caller, access);
  checkRange(caller, access);
}

/** A disabled team is refused everything. */
export function checkTeam({ team }: Caller): void {
  if (team.disabled) throw new GatewayError('team_disabled');
}

/** The team holds the scope of the call. */
function checkScope({ team }: Caller, scope: Scope): void {
  if (team.scopes.includes(scope)) return;
  const held = team.scopes.length === 0 ? 'none' : team.scopes.join(', ');
  throw new GatewayError('scope_missing', {
    detail: `This call needs the scope ${scope}.`,
    help: `Ask your operator to give the team ${team.id} the scope ${scope}; it holds ${held}.`,
  });
}

/** The period is no longer than the team may ask for. */
function checkRange({ team }: Caller, { rangeDays, opensEarly = false }: AccessRequest): void {
  const { maxRangeDays } = team.limits;
  if (rangeDays === null || rangeDays <= maxRangeDays) return;
  throw new GatewayError('invalid_query', {
    detail: opensEarly
      ? 'The period has no beginning, so it may be longer than this team may ask for.'
      : `The period of ${rangeDays} days is longer than this team may ask for.`,
    errors: [
      {
        // The contract's name for it, `_period` included.
        param: 'dateTo',
        message: opensEarly
          ? `the period may cover at most ${maxRangeDays} days, and without dateFrom it may begin on any day: give dateFrom too`
          : `the period may cover at most ${maxRangeDays} days, this one covers ${rangeDays}`,
      },
    ],
  });
}
