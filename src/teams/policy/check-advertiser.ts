import { GatewayError } from '../../errors.js';
import { clipName } from '../../lib/http/problem.js';
import type { NamedAccount } from '../../reports/query/asked-accounts.js';
import type { Caller } from '../auth/authenticate.js';

export interface AccountRequest {
  /** Whether the request has the field that carries the account. */
  readonly namesAccount: boolean;
  /** Every account-like value of the request. */
  readonly accounts: readonly NamedAccount[];
  /** Unchecked parameters that look like an account. Slow, so called for limited teams only. */
  readonly lookalikes: (isOwn: (account: string) => boolean) => readonly string[];
  /** The fields that could carry the account, for the message. */
  readonly accountFields: readonly string[];
}

/**
 * A limited team must name one of its advertisers, and no other anywhere. Every account-like value counts, because the
 * platform may use any of them.
 */
export function checkAdvertiser({ team }: Caller, access: AccountRequest): void {
  const { id, advertisers } = team;
  if (advertisers === '*') return;
  const { isOwn, passed } = ownedBy(advertisers);
  if (passed.has(access)) return;
  const fields = access.accountFields.join(' or ');
  const foreign = access.accounts.find(({ values }) => !values.every(isOwn));
  if (foreign !== undefined) {
    throw new GatewayError('advertiser_forbidden', {
      detail: `The team has no access to the advertiser in ${clipName(foreign.param)}.`,
      help: advertiserHelp(id, advertisers, `, or ask your operator to add it to the team ${id}`),
    });
  }
  const [lookalike] = access.lookalikes(isOwn);
  if (lookalike !== undefined) {
    const name = clipName(lookalike);
    throw new GatewayError('advertiser_forbidden', {
      detail: `The team is limited to certain advertisers, and ${name} may name an account.`,
      help: `Omit ${name} and name the advertiser by ${fields}; if it is not an account, ask your operator to add it to report.nonAccountParameters.`,
    });
  }
  if (!access.namesAccount) {
    throw new GatewayError('advertiser_required', {
      detail: `The team is limited to certain advertisers; name one by ${fields}.`,
      help: advertiserHelp(id, advertisers, `, named by ${fields}`),
    });
  }
  passed.add(access);
}

/** Advertisers listed in a message; `/gateway/v1/me` has all. */
const MAX_NAMED = 20;

function advertiserHelp(id: string, own: readonly (number | string)[], more: string): string {
  if (own.length === 0) return `Ask your operator to grant the team ${id} an advertiser; it has none.`;
  const left = own.length - MAX_NAMED;
  const others = left > 0 ? ` and ${left} more, see GET /gateway/v1/me` : '';
  return `Use an advertiser of your team (${own.slice(0, MAX_NAMED).join(', ')}${others})${more}.`;
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

function mayBeShown({ team }: Caller, accounts: readonly string[]): boolean {
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
