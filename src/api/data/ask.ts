/**
 * Calls about a report (`/gateway/v1/…?endpoint&query`): authenticate, parse and authorize them. As for the report itself,
 * nothing stored is read before.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { isRepeated, isUnknown, mustBe, withStep } from '../../lib/field-faults.js';
import { clipName } from '../../lib/http/problem.js';
import { meantName } from '../../lib/near-name.js';
import type { Admit } from '../../reports/admit.js';
import { type Scope, scopeOf } from '../../reports/learn/scope.js';
import { daysBetween } from '../../reports/query/days.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import { parseQueryText } from '../../reports/query/given-parameters.js';
import type { Format } from '../../reports/query/output-options.js';
import type { ParseQuery, Query } from '../../reports/query.js';
import type { ReportCall } from '../../reports/report-call.js';
import type { ReportPolicy } from '../../reports/report-policy.js';
import { showId } from '../../reports/rows/answer-meta.js';
import { whenAway } from '../../store/port.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { checkAdvertiser, checkQuery } from '../../teams/policy/authorize.js';
import { readKeyHeaders } from '../http/caller.js';
import { splitTarget } from '../http/path-gate.js';
import { onResponseClosed } from '../http/send.js';

export interface AskCall
  extends Pick<
    ReportCall,
    'id' | 'keys' | 'address' | 'accept' | 'ifNoneMatch' | 'trace' | 'onResponseClosed' | 'isCharged'
  > {
  /** As received, without `?`. It is parsed only after authentication. */
  readonly query: string;
}

/** Counted and logged like a report: by its path, without the query. */
export function readAskCall(request: FastifyRequest, reply: FastifyReply): AskCall {
  const [path, query] = splitTarget(request.raw.url ?? '');
  request.trace.subject = path;
  return {
    id: request.id,
    query,
    keys: readKeyHeaders(request.raw),
    address: request.ip,
    accept: request.headers.accept,
    ifNoneMatch: request.headers['if-none-match'],
    trace: request.trace,
    onResponseClosed: onResponseClosed(reply.raw),
  };
}

export interface NamedReport {
  readonly endpoint: string;
  /** URL-encoded, without `?`. */
  readonly query: string;
}

export interface AskedCall extends Query {
  readonly caller: Caller;
  readonly named: NamedReport;
  /** The call's own parameters. */
  readonly given: ReadonlyMap<string, string>;
}

interface Asking {
  readonly admit: Admit;
  readonly parse: ParseQuery;
}

interface AskScopes extends Asking {
  readonly policy: Pick<ReportPolicy, 'accountFields'>;
}

const QUERY_FAULT = mustBe(
  'query',
  'the query of a report, URL-encoded as one value, e.g. query=advertiserId%3D1%26byDate%3D1',
);

/**
 * Authenticates the caller, charges its team, parses the named report and checks the caller's access to it.
 * @param own names of the call's parameters beside `endpoint` and `query`
 * @throws GatewayError 401; 403; 429; 400 `invalid_query` that names `endpoint`, `query.dateFrom` and the like
 */
export async function ask(g: Asking, call: AskCall, own: readonly string[] = []): Promise<AskedCall> {
  const caller = await g.admit(call);
  const given = readParameters(call.query, ['endpoint', 'query', ...own]);
  const [endpoint, query] = [given.get('endpoint'), given.get('query')];
  const faults = [
    ...(isEndpointPath(endpoint) ? [] : [ENDPOINT_FAULT]),
    ...(query === undefined ? [QUERY_FAULT] : []),
  ];
  if (endpoint === undefined || query === undefined || faults.length > 0) throw invalidQuery(...faults);
  const asked = questionAbout(g, caller, { endpoint, query }, call.trace);
  call.trace.mark('understand');
  return { ...asked, given };
}

/** Parses the named report and checks the caller's access to it. @throws GatewayError 403; 400 `invalid_query` */
export function questionAbout(
  { parse }: Pick<Asking, 'parse'>,
  caller: Caller,
  named: NamedReport,
  trace?: AskCall['trace'],
): Omit<AskedCall, 'given'> {
  if (!isEndpointPath(named.endpoint)) throw invalidQuery(ENDPOINT_FAULT);
  return insideOfQuery(() => {
    const question = parseNamed(parse, named, caller.team.defaultFormat);
    if (trace !== undefined) trace.asked = question.question.report;
    checkQuery(caller, question.access);
    return { ...question, caller, named };
  });
}

/** Parses the named report as its GET request would be. @throws GatewayError `invalid_query` */
export function parseNamed(
  parse: ParseQuery,
  { endpoint, query }: NamedReport,
  defaultFormat: Format,
): Query {
  const call = { endpoint, query, method: 'GET', accept: undefined, acceptEncoding: undefined } as const;
  return parse(call, null, defaultFormat);
}

export function readParameters(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>();
  const faults: FieldFault[] = [];
  for (const { name, value } of parseQueryText(query)) {
    if (!allowed.includes(name)) faults.push(unknownParameter(name, allowed));
    else if (given.has(name)) faults.push(isRepeated(name));
    else given.set(name, value);
  }
  if (faults.length > 0) throw invalidQuery(...faults);
  return given;
}

/** Hints at a `query` that was not encoded as one value: its parameters end up as those of the call. */
function unknownParameter(param: string, allowed: readonly string[]): FieldFault {
  const fault = isUnknown(param, allowed);
  if (!allowed.includes('query') || meantName(param, allowed) !== undefined) return fault;
  const message = `${fault.message}. Parameters of the report go into query, with & encoded as %26 and = as %3D`;
  return { param, message, help: `Put ${clipName(param)} into query, with & encoded as %26 and = as %3D.` };
}

/** Prefixes the parameters of faults in the report's own query. */
function insideOfQuery<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GatewayError) || !/^(?:invalid_query|undeclared_parameter)$/.test(error.code))
      throw error;
    const { errors = [], ...more } = error.options;
    throw new GatewayError(error.code, {
      ...more,
      errors: errors.map((fault) => ({
        ...fault,
        param: fault.param === '' ? 'query' : `query.${fault.param}`,
      })),
    });
  }
}

/** Parameters that select a moment or a part: calls about the whole history of days do not support them. */
const NOT_HERE = ['_asOf', '_vintage', '_final', '_fields'];

/**
 * @returns the days of a report by date, in order
 * @throws GatewayError `invalid_query` for other reports: they have no history by day
 */
export function daysAskedAbout({ question, named }: Pick<AskedCall, 'question' | 'named'>): string[] {
  const { split, from, to } = question.report;
  const strange = parseQueryText(named.query).filter(({ name }) => NOT_HERE.includes(name));
  const faults = strange.map(({ name }) => ({
    param: `query.${name}`,
    message: 'is not supported here: this call covers the whole history of the days',
  }));
  if (faults.length > 0) throw invalidQuery(...faults);
  if (split.includes('date') && from !== null && to !== null) return daysBetween(from, to);
  throw notByDate('have a history by day');
}

/** @param what of reports by date alone is true */
export function notByDate(what: string): GatewayError {
  const fault = `must be a report by date with a period, since only those ${what}`;
  return invalidQuery(withStep('query', fault, 'add byDate=1, dateFrom and dateTo'));
}

const ACCOUNT_ID = /^[A-Za-z0-9._-]{1,64}$/;
const MOST_SCOPES = 50;
const ABOUT_ONE_FAULT =
  'must be given alone, e.g. advertiserId=1, or replaced by endpoint and query of a report';

type ScopesOf = (account: string) => readonly Scope[] | Promise<readonly Scope[]>;

/**
 * The scopes of a call about learned data, for teams.
 * @throws GatewayError as for the report itself; 400 `invalid_query`
 */
export async function askScopes(g: AskScopes, call: AskCall, scopesOf: ScopesOf): Promise<readonly Scope[]> {
  const caller = await g.admit(call);
  const given = readParameters(call.query, ['endpoint', 'query', 'advertiserId']);
  return scopesNamed(
    Object.fromEntries(given),
    (named) => scopeOf(questionAbout(g, caller, named).question.report),
    (account) => {
      checkAdvertiser(caller, {
        namesAccount: true,
        accounts: [{ param: 'advertiserId', values: [account] }],
        lookalikes: () => [],
        accountFields: g.policy.accountFields,
      });
      return scopesOf(account);
    },
  );
}

/**
 * @param scopeOfReport the scope of one report
 * @param scopesOf those of an advertiser with learned data
 * @throws GatewayError 400 `invalid_query` unless either a report or an advertiser is named
 */
export async function scopesNamed(
  { endpoint, query, advertiserId }: Partial<NamedReport & { readonly advertiserId: string }>,
  scopeOfReport: (named: NamedReport) => Scope,
  scopesOf: ScopesOf,
): Promise<readonly Scope[]> {
  if (advertiserId === undefined && endpoint !== undefined && query !== undefined)
    return [scopeOfReport({ endpoint, query })];
  if (endpoint !== undefined || query !== undefined || !ACCOUNT_ID.test(advertiserId ?? ''))
    throw invalidQuery({
      param: advertiserId === undefined ? (endpoint === undefined ? 'endpoint' : 'query') : 'advertiserId',
      message: ABOUT_ONE_FAULT,
    });
  return (await unlessAway(scopesOf(advertiserId as string))).slice(0, MOST_SCOPES);
}

/** @throws GatewayError `not_ready` */
export async function unlessAway<T>(work: T | Promise<T>): Promise<T> {
  return await Promise.resolve(work).catch(
    whenAway((cause): never => {
      throw new GatewayError('not_ready', { detail: 'The store does not respond.', cause });
    }),
  );
}

export function showScope({ endpoint, split, account }: Scope): object {
  return { endpoint, advertiserId: showId(account), split: split === '' ? [] : split.split('+') };
}
