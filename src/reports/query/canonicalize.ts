/**
 * The canonical form of a report request: equal questions become equal values, and ambiguous input is refused. The platform
 * request is built from this form only, so that nothing outside of the cache key reaches the platform.
 */
import { type FieldFault, GatewayError } from '../../errors.js';
import type { LookalikeRules, OwnIds } from './account-lookalikes.js';
import { accountOf, lookalikesOf, type NamedAccount, namedAccounts } from './asked-accounts.js';
import { undeclaredParameters } from './declared-parameters.js';
import {
  isOwn,
  type Member,
  type Place,
  type RawParameters,
  readMember,
  readRequestParameters,
  splitOf,
} from './given-parameters.js';
import { type OutputOptions, readOutputOptions } from './output-options.js';
import {
  declaredNames,
  type NameRules,
  type UnknownName,
  unknownNameFaults,
  unknownNames,
} from './parameters.js';
import { type Period, periodOf } from './period.js';

export interface Report extends Period {
  /** Path below `/api/v1/report/`, e.g. `campaigns/get`. */
  readonly endpoint: string;
  /** HEAD becomes GET. */
  readonly method: 'GET' | 'POST';
  /** Everything but the period, sorted by place and name. */
  readonly members: readonly Member[];
  /** Where the first and the last day are sent. */
  readonly places: { readonly from: Place; readonly to: Place };
  /** Value of the first account field in the request. */
  readonly account: string | null;
  /** All account-like values; input of the access policy. */
  readonly accounts: readonly NamedAccount[];
  /** Whether the request contains an account field. */
  readonly namesAccount: boolean;
  /** E.g. `['date', 'campaign']`, in the order date, campaign, others. */
  readonly split: readonly string[];
  readonly spentBased: string | null;
  /** Unknown names, passed on to the platform unchanged; sorted. */
  readonly passedOn: readonly UnknownName[];
}

export interface ParsedReport {
  readonly report: Report;
  /** Parameters that look like an account and are not checked as one; computed on call. */
  readonly lookalikes: (isOwn: OwnIds['isOwn']) => readonly string[];
  /** See {@link undeclaredParameters}; computed on the first call. */
  readonly undeclared: () => readonly FieldFault[];
  readonly options: OutputOptions;
  /** The platform's today at parsing, as a day number. */
  readonly today: number;
}

export interface ReportRequest extends RawParameters {
  readonly endpoint: string;
  readonly method: 'GET' | 'POST';
  /** See {@link unknownNameFaults}. */
  readonly lenient?: boolean;
}

export interface ParseRules extends LookalikeRules, NameRules {
  /** The platform's today for an account (null: unknown), as a day number. */
  todayOf(account: string | null): number;
  /** Start of a day in the account's zone, epoch milliseconds. */
  startOfDayOf(account: string | null, day: number): number;
}

/** @throws GatewayError `invalid_query`, with one entry in `errors` for each parameter at fault */
export function canonicalize(request: ReportRequest, rules: ParseRules): ParsedReport {
  const faults: FieldFault[] = [];
  const given = readRequestParameters(request, rules.table, faults);
  const account = accountOf(given, rules.accountFields);
  const today = rules.todayOf(account);
  const { endpoint, lenient = false } = request;
  const platforms = given.filter((one) => !isOwn(one));
  const unknown = unknownNames(platforms, endpoint, rules);
  faults.push(...unknownNameFaults(unknown, endpoint, rules, lenient));
  const read = platforms.flatMap((one) => readMember(one, rules.table, today, faults));
  const own = given.filter(isOwn).map(({ name, values }) => ({ name, value: values[0] ?? '' }));
  const options = readOutputOptions(own, faults);
  const place: Place = request.method === 'POST' ? 'body' : 'query';
  const period = periodOf(read, options.period, today, place, faults);
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });

  const members = read
    .map((one) => one.member)
    .filter(({ name }) => name !== 'dateFrom' && name !== 'dateTo');
  return {
    options,
    today,
    lookalikes: (isOwn) => lookalikesOf(given, declaredNames(endpoint, rules), rules, isOwn),
    undeclared: once(() => undeclaredParameters(given, endpoint, rules)),
    report: {
      endpoint,
      method: request.method,
      members: members.sort(byPlaceAndName),
      ...period,
      account,
      accounts: namedAccounts(given, rules),
      namesAccount: account !== null,
      split: splitOf(read),
      spentBased: read.find((one) => one.member.name === 'spentBased')?.texts[0] ?? null,
      passedOn: unknown.sort((a, b) => (a.name < b.name ? -1 : 1)),
    },
  };
}

function byPlaceAndName(a: Member, b: Member): number {
  const [left, right] = [`${a.place} ${a.name}`, `${b.place} ${b.name}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

function once<T>(find: () => T): () => T {
  let found: { readonly value: T } | null = null;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}
