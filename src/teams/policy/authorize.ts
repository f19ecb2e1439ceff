/** Authorization: {@link checkCaller} before the query is parsed, {@link checkQuery} after; both before the cache. */
import ipaddr from 'ipaddr.js';
import type { Scope } from '../../config/sign-in-settings.js';
import { type FieldFault, GatewayError } from '../../errors.js';
import { clipName } from '../../lib/http/problem.js';
import type { NamedAccount } from '../../reports/query/asked-accounts.js';
import { MAX_LAST_DAYS } from '../../reports/query/period.js';
import type { Caller } from '../auth/authenticate.js';

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

/**
 * @throws GatewayError 403 `advertiser_required`, `advertiser_forbidden`; 400 `undeclared_parameter`, `invalid_query` for a long
 *   range
 */
export function checkQuery(caller: Pick<Caller, 'team'>, access: AccessRequest): void {
  checkAdvertiser(caller, access);
  checkRange(caller, access);
}

export function checkTeam({ team }: Pick<Caller, 'team'>): void {
  if (team.disabled) throw new GatewayError('team_disabled');
}

/** @throws GatewayError `scope_missing` */
export function checkScope({ team }: Caller, scope: Scope): void {
  if (team.scopes.includes(scope)) return;
  const held = team.scopes.length === 0 ? 'none' : team.scopes.join(', ');
  throw new GatewayError('scope_missing', {
    detail: `This call needs the scope ${scope}.`,
    help: `Ask your operator to grant the team ${team.id} the scope ${scope}; it has ${held}.`,
  });
}

function checkRange({ team }: Pick<Caller, 'team'>, { rangeDays, opensEarly = false }: AccessRequest): void {
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
      : `Shorten the period to ${most}, e.g. _period=last_${Math.min(maxRangeDays, MAX_LAST_DAYS)}_days, or ask your operator to raise maxRangeDays of the team ${team.id}.`,
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

/** @throws GatewayError `ip_forbidden` */
export function checkAddress({ team: { ipAllow } }: Caller, address: string): void {
  if (ipAllow.length > 0 && !ipAllow.some((range) => isInRange(address, range)))
    throw new GatewayError('ip_forbidden');
}

/** Whether a text is a full IPv4 or IPv6 address or CIDR range. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== null;
}

type Range = readonly [network: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** Refuses `127.1`, `10/8` and `0x7f000001`, which ipaddr.js accepts: they are probably mistakes. */
function parseRange(text: string): Range | null {
  const isRange = text.includes('/');
  if (text.includes(':')) {
    if (isRange) return ipaddr.IPv6.isValidCIDR(text) ? unmapped(ipaddr.IPv6.parseCIDR(text)) : null;
    return ipaddr.IPv6.isValid(text) ? unmapped([ipaddr.IPv6.parse(text), 128]) : null;
  }
  if (isRange) return ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ? ipaddr.IPv4.parseCIDR(text) : null;
  return ipaddr.IPv4.isValidFourPartDecimal(text) ? [ipaddr.IPv4.parse(text), 32] : null;
}

/** IPv4-mapped IPv6 addresses (`::ffff:10.0.0.1`) count as IPv4. */
function unmapped([network, bits]: readonly [ipaddr.IPv6, number]): Range {
  return network.isIPv4MappedAddress() && bits >= 96 ? [network.toIPv4Address(), bits - 96] : [network, bits];
}

function isInRange(address: string, text: string): boolean {
  const range = parseRange(text);
  if (range === null || !ipaddr.isValid(address)) return false;
  const caller = ipaddr.process(address);
  const [network, bits] = range;
  return caller.kind() === network.kind() && caller.match(network as ipaddr.IPv4, bits);
}

interface AccountRequest {
  /** Whether the request has the field that carries the account. */
  readonly namesAccount: boolean;
  /** Every account-like value of the request. */
  readonly accounts: readonly NamedAccount[];
  /** Unchecked parameters that look like an account. Slow, so called for limited teams only. */
  readonly lookalikes: (isOwn: (account: string) => boolean) => readonly string[];
  /** Of a report: faults of parameters that a limited team may not send. Equal for all of them. */
  readonly undeclared?: (team: string) => readonly FieldFault[];
  /** The fields that could carry the account, for the message. */
  readonly accountFields: readonly string[];
}

/**
 * A limited team must name one of its advertisers, and no other anywhere. Every account-like value counts, because the
 * platform may use any of them.
 * @throws GatewayError 403 `advertiser_required`, `advertiser_forbidden`; 400 `undeclared_parameter`
 */
export function checkAdvertiser({ team }: Pick<Caller, 'team'>, access: AccountRequest): void {
  const { id, advertisers } = team;
  if (advertisers === '*') return;
  const { isOwn, passed } = ownedBy(advertisers);
  if (passed.has(access)) return;
  const fields = access.accountFields.join(' or ');
  const foreign = access.accounts.find(({ values }) => !values.every(isOwn));
  if (foreign !== undefined) {
    throw new GatewayError('advertiser_forbidden', {
      detail: describeForeign(foreign, isOwn),
      help: advertiserHelp(id, advertisers, `; for another, ask your operator to add it to the team ${id}`),
    });
  }
  const [lookalike] = access.lookalikes(isOwn);
  if (lookalike !== undefined) {
    const name = clipName(lookalike);
    throw new GatewayError('advertiser_forbidden', {
      detail: `The team is limited to certain advertisers, and ${name} may name an account.`,
      help: `Omit ${name}, and send the advertiser as ${fields}; if ${name} is no account, ask your operator to add it to report.nonAccountParameters.`,
    });
  }
  const errors = access.undeclared?.(id) ?? [];
  const [first] = errors;
  // The setting of one names that of all.
  if (first !== undefined)
    throw new GatewayError('undeclared_parameter', { errors, ...(first.help && { help: first.help }) });
  if (!access.namesAccount) {
    throw new GatewayError('advertiser_required', {
      detail: `The team is limited to certain advertisers, and the request names none by ${fields}.`,
      help: advertiserHelp(id, advertisers, `, and send it as ${fields}`),
    });
  }
  passed.add(access);
}

/** Names the value that was sent, which says nothing about which advertisers there are. */
function describeForeign({ param, values }: NamedAccount, isOwn: (account: string) => boolean): string {
  const foreign = values.find((value) => !isOwn(value));
  const advertiser = foreign ? `advertiser ${clipName(foreign)}` : 'the advertiser';
  return `The team has no access to ${advertiser} in ${clipName(param)}.`;
}

/** Advertisers listed in a message; `/gateway/v1/me` has all. */
const MAX_NAMED = 20;

function advertiserHelp(id: string, own: readonly (number | string)[], more: string): string {
  if (own.length === 0) return `Ask your operator to grant the team ${id} an advertiser; it has none.`;
  const left = own.length - MAX_NAMED;
  const others = left > 0 ? ` and ${left} more, see GET /gateway/v1/me` : '';
  return `Choose one of the advertisers of your team (${own.slice(0, MAX_NAMED).join(', ')}${others})${more}.`;
}

/**
 * Checks every answer before it is sent: a limited team gets no rows of other accounts, whatever the platform sent.
 * @throws GatewayError 502 `upstream_invalid_response`
 */
export function refuseForeignAccounts(caller: Caller, accounts: readonly string[]): void {
  if (mayBeShown(caller, accounts)) return;
  throw new GatewayError('upstream_invalid_response', {
    internal:
      'the answer contains an account that the team may not see; add columns that only look like accounts to report.nonAccountParameters',
  });
}

/** The same for a refusal: a message that names another account is withheld. */
export function withholdForeignAccounts(caller: Caller, error: unknown): unknown {
  if (!(error instanceof GatewayError) || mayBeShown(caller, error.options.upstreamAccounts ?? []))
    return error;
  return new GatewayError(error.code, {
    status: error.status,
    detail:
      'The platform refused the request. Its message is withheld because it names an account of another team.',
    help: 'Report the requestId to your operator.',
    internal: 'the refusal names an account that the team may not see',
    upstream: { status: error.status, message: null },
  });
}

/** Whether the team may see all of these accounts. */
export function mayBeShown({ team }: Pick<Caller, 'team'>, accounts: readonly string[]): boolean {
  if (team.advertisers === '*' || accounts.length === 0) return true;
  return accounts.every(ownedBy(team.advertisers).isOwn);
}

/** Derived from a team's list, which is the same object until the team changes. */
interface Owned {
  readonly isOwn: (account: string) => boolean;
  /** Allowed requests. A parsed query is cached, so every hit on it passes the same object. */
  readonly passed: WeakSet<AccountRequest>;
}

const owned = new WeakMap<readonly (number | string)[], Owned>();

function ownedBy(advertisers: readonly (number | string)[]): Owned {
  const known = owned.get(advertisers);
  if (known !== undefined) return known;
  const allowed = new Set(advertisers.map(String));
  const made = { isOwn: (account: string) => allowed.has(account), passed: new WeakSet<AccountRequest>() };
  owned.set(advertisers, made);
  return made;
}
