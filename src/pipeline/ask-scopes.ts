/**
 * The door of calls about what was learned: of a report, by `endpoint` and `query`, or of all reports of an advertiser.
 */
import { GatewayError, invalidQuery } from '../errors.js';
import { type Scope, scopeOf } from '../finality/scope.js';
import type { AskCall } from '../http/ask-call.js';
import { checkAdvertiser } from '../policy/check-advertiser.js';
import { showId } from '../report/answer-meta.js';
import type { ReportPolicy } from '../report-policy.js';
import { StoreUnavailable } from '../store/port.js';
import { type AskReport, readParameters } from './asked-report.js';

export interface AskScopesOptions {
  readonly askReport: AskReport;
  readonly policy: Pick<ReportPolicy, 'accountFields'>;
  /** Of which something was learned, of one advertiser. */
  readonly scopesOf: (account: string) => readonly Scope[] | Promise<readonly Scope[]>;
}

/**
 * What a call is about that names a report by `endpoint` and `query`, or an advertiser alone.
 * @throws GatewayError as for the report itself; 400 `invalid_query`
 */
export async function askScopes(
  { askReport, policy, scopesOf }: AskScopesOptions,
  call: AskCall,
): Promise<readonly Scope[]> {
  const caller = await askReport.enter(call);
  const given = readParameters(call.query, ['endpoint', 'query', 'advertiserId']);
  const [endpoint, query, account] = ['endpoint', 'query', 'advertiserId'].map((name) => given.get(name));
  if (account === undefined && endpoint !== undefined && query !== undefined)
    return [scopeOf(askReport.about(caller, { endpoint, query }).question.report)];
  if (account === undefined || endpoint !== undefined || query !== undefined || !isAccountId(account))
    throw invalidQuery({
      param: account === undefined ? (endpoint === undefined ? 'endpoint' : 'query') : 'advertiserId',
      message: ABOUT_ONE_FAULT,
    });
  checkAdvertiser(caller, {
    ...{ namesAccount: true, accounts: [{ param: 'advertiserId', values: [account] }] },
    ...{ lookalikes: () => [], accountFields: policy.accountFields },
  });
  return (await unlessAway(scopesOf(account))).slice(0, MOST_SCOPES);
}

const ID = /^[A-Za-z0-9._-]{1,64}$/;
export const MOST_SCOPES = 50;
export const ABOUT_ONE_FAULT =
  'give endpoint and query of a report, or advertiserId alone, e.g. advertiserId=1';

export function isAccountId(text: unknown): text is string {
  return typeof text === 'string' && ID.test(text);
}

/** @throws GatewayError `not_ready` */
export async function unlessAway<T>(work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new GatewayError('not_ready', { detail: 'The store does not answer.', cause: error });
  }
}

/** A scope as both calls name it. */
export function showScope({ endpoint, split, account }: Scope): object {
  return { endpoint, advertiserId: showId(account), split: split === '' ? [] : split.split('+') };
}
