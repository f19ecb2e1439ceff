/** Authorization: {@link checkCaller} before the query is parsed, {@link checkQuery} after; both before the cache. */
import { GatewayError } from '../../errors.js';
import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import { checkAddress } from './check-address.js';
import { type AccountRequest, checkAdvertiser } from './check-advertiser.js';

export interface AccessRequest extends AccountRequest {
  /** Days of the period, both ends included; null: it is open. */
  readonly rangeDays: number | null;
  /** The period has no start. */
  readonly opensEarly?: boolean;
}

/**
 * @param address of the caller, behind trusted proxies
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

export function checkTeam({ team }: Caller): void {
  if (team.disabled) throw new GatewayError('team_disabled');
}

function checkScope({ team }: Caller, scope: Scope): void {
  if (team.scopes.includes(scope)) return;
  const held = team.scopes.length === 0 ? 'none' : team.scopes.join(', ');
  throw new GatewayError('scope_missing', {
    detail: `This call needs the scope ${scope}.`,
    help: `Ask your operator to grant the team ${team.id} the scope ${scope}; it has ${held}.`,
  });
}

function checkRange({ team }: Caller, { rangeDays, opensEarly = false }: AccessRequest): void {
  const { maxRangeDays } = team.limits;
  if (rangeDays === null || rangeDays <= maxRangeDays) return;
  const most = `at most ${maxRangeDays} days`;
  throw new GatewayError('invalid_query', {
    detail: opensEarly
      ? `The period has no start, and this team may request ${most}.`
      : `The period has ${rangeDays} days, and this team may request ${most}.`,
    // The end may be absent or in `_period`, and correcting it adds no start.
    help: opensEarly
      ? `Add dateFrom, so that the period has ${most}.`
      : `Shorten the period to ${most}, or ask your operator to raise maxRangeDays of the team ${team.id}.`,
    errors: [
      {
        // The contract names `dateTo`, also for `_period`.
        param: 'dateTo',
        message: opensEarly
          ? `the period may cover ${most}, and without dateFrom it may start on any day: add dateFrom`
          : `the period may cover ${most}, this one covers ${rangeDays}`,
      },
    ],
  });
}
