import { GatewayError } from '../../errors.js';
import type { NamedAccount } from '../../reports/query/asked-accounts.js';
import type { Caller } from '../auth/authenticate.js';

export interface AccountRequest {
  /** Whether the request has the field that carries the account. */
  readonly namesAccount: boolean;
  /** Every account-like value of the request. */
  readonly accounts: readonly NamedAccount[];
  /** Parameters that look like an account without being checked as one. Called for limited teams only, for it is slow. */
  readonly lookalikes: (isOwn: (account: string) => boolean) => readonly string[];
  /** The fields that could carry the account, for the message. */
  readonly accountFields: readonly string[];
}

/**
 * A team limited to advertisers names one of them, and no other anywhere. Every account-like value counts, for the
 * platform may read any of them.
 */
export function checkAdvertiser({ team }: Caller, access: AccountRequest): void {
  if (team.advertisers === '*') return;
  const isOwn = ownedBy(team.advertisers);
  const fields = access.accountFields.join(' or ');
  const foreign = access.accounts.find(({ values }) => !values.every(isOwn));
  if (foreign !== undefined) {
    throw new GatewayError('advertiser_forbidden', {
      detail: `The team may not see the advertiser that ${foreign.param} names.`,
      help: advertiserHelp(
        team.advertisers,
        team.id,
        `, or ask your operator to add this one to the team ${team.id}`,
      ),
    });
  }
  const [lookalike] = access.lookalikes(isOwn);
  if (lookalike !== undefined) {
    throw new GatewayError('advertiser_forbidden', {
      detail: `The team is limited to certain advertisers, and ${lookalike} looks as if it named an account in other words.`,
      help: `Leave ${lookalike} out and name the advertiser by ${fields}, or, if it names no account, ask your operator to list it under report.nonAccountParameters.`,
    });
  }
  if (!access.namesAccount) {
    throw new GatewayError('advertiser_required', {
      detail: `The team is limited to certain advertisers; name one by ${fields}.`,
      help: advertiserHelp(team.advertisers, team.id, `, named by ${fields}`),
    });
  }
}

/** Advertisers that a message names; `/gateway/v1/me` has them all. */
const MOST_NAMED = 20;

function advertiserHelp(own: readonly (number | string)[], team: string, more: string): string {
  if (own.length === 0) return `Ask your operator to give the team ${team} an advertiser; it has none.`;
  const left = own.length - MOST_NAMED;
  const others = left > 0 ? ` and ${left} more that GET /gateway/v1/me lists` : '';
  return `Use an advertiser of your team (${own.slice(0, MOST_NAMED).join(', ')}${others})${more}.`;
}

/**
 * Checks every answer before it is sent: a limited team is shown no account it may not see, whatever the platform
 * answered.
 * @throws GatewayError 502 `upstream_invalid_response`
 */
export function refuseForeignAccounts(caller: Caller, accounts: readonly string[]): void {
  if (mayBeShown(caller, accounts)) return;
  throw new GatewayError('upstream_invalid_response', {
    internal:
      'the answer holds an account the team may not see; a column that looks like one and is none can be listed under report.nonAccountParameters',
  });
}

/**
 * The same for a refusal: its message is withheld when it names a foreign account.
 * @returns the error as the team may be shown it
 */
export function withholdForeignAccounts(caller: Caller, error: unknown): unknown {
  if (!(error instanceof GatewayError) || mayBeShown(caller, error.options.upstreamAccounts ?? []))
    return error;
  return new GatewayError(error.code, {
    status: error.status,
    detail:
      'The platform refused the request. Its message names an account the team may not see, and is withheld: give your operator the requestId.',
    internal: 'the refusal holds an account the team may not see',
    upstream: { status: error.status, message: null },
  });
}

function mayBeShown({ team }: Caller, accounts: readonly string[]): boolean {
  if (team.advertisers === '*' || accounts.length === 0) return true;
  return accounts.every(ownedBy(team.advertisers));
}

type IsOwn = (account: string) => boolean;
/** Sets by a team's list, which stays the same object until the team is changed: every hit uses one. */
const owned = new WeakMap<readonly (number | string)[], IsOwn>();

/** @returns the same function for the same list */
function ownedBy(advertisers: readonly (number | string)[]): IsOwn {
  const known = owned.get(advertisers);
  if (known !== undefined) return known;
  const allowed = new Set(advertisers.map(String));
  const isOwn = (account: string) => allowed.has(account);
  owned.set(advertisers, isOwn);
  return isOwn;
}
