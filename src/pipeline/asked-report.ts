/**
 * The door of every call that is about a report, and is none: from `endpoint` and `query` to a question that its caller
 * may ask. Nothing that is kept is touched before, as for the report itself.
 */
import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import { type FieldFault, GatewayError, invalidQuery } from '../errors.js';
import type { AskCall } from '../http/ask-call.js';
import { authorize } from '../policy/authorize.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../report/endpoint-path.js';
import { parseQueryText } from '../report/query-text.js';
import type { Admit } from './admit.js';
import type { ParseQuery, Query } from './query.js';

/** A report as a caller names it. */
export interface NamedReport {
  readonly endpoint: string;
  /** URL-encoded, without `?`. */
  readonly query: string;
}

/** A report that is asked about, by somebody who may ask for it. */
export interface AskedCall extends Query {
  readonly caller: Caller;
  readonly named: NamedReport;
  /** The route's own parameters, as far as they were given. */
  readonly given: ReadonlyMap<string, string>;
}

export interface AskReportOptions {
  readonly admit: Admit;
  readonly parse: ParseQuery;
}

export interface AskReport {
  /**
   * Who asks, charged to the team; then which report, and whether it may.
   * @param own names of the parameters that the route takes beside `endpoint` and `query`
   * @throws GatewayError 401; 403; 429; 400 `invalid_query` that names `endpoint`, `query.dateFrom` and the like
   */
  ask(call: AskCall, own?: readonly string[]): Promise<AskedCall>;
  /** Who asks, charged to the team. @throws GatewayError 401; 403; 429 */
  enter(call: AskCall, scope?: Scope): Promise<Caller>;
  /** Which report, and whether the caller may ask for it. @throws GatewayError 403; 400 `invalid_query` */
  about(caller: Caller, named: NamedReport): Omit<AskedCall, 'given'>;
}

const THE_REPORT = ['endpoint', 'query'];
const QUERY_FAULT =
  'must be the query of a report, URL-encoded as one value, e.g. query=advertiserId%3D1%26byDate%3D1';

export function createAskReport({ admit, parse }: AskReportOptions): AskReport {
  function about(caller: Caller, named: NamedReport): Omit<AskedCall, 'given'> {
    const { endpoint, query } = named;
    if (!isEndpointPath(endpoint)) throw invalidQuery({ param: 'endpoint', message: ENDPOINT_FAULT });
    return insideOfQuery(() => {
      const asked = { endpoint, query, method: 'GET' as const, accept: undefined, acceptEncoding: undefined };
      const question = parse(asked, null, caller.team.defaultFormat);
      authorize(caller, question.access);
      return { ...question, caller, named };
    });
  }

  return {
    enter: admit,
    about,
    async ask(call, own = []) {
      const caller = await admit(call);
      const given = readParameters(call.query, [...THE_REPORT, ...own]);
      const faults = [
        ...(isEndpointPath(given.get('endpoint')) ? [] : [{ param: 'endpoint', message: ENDPOINT_FAULT }]),
        ...(given.has('query') ? [] : [{ param: 'query', message: QUERY_FAULT }]),
      ];
      if (faults.length > 0) throw invalidQuery(...faults);
      const named = { endpoint: given.get('endpoint') as string, query: given.get('query') as string };
      const asked = about(caller, named);
      call.trace.mark('understand');
      return { ...asked, given };
    },
  };
}

/**
 * The parameters of a call that takes these alone, each once.
 * @throws GatewayError `invalid_query`
 */
export function readParameters(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>();
  const faults: FieldFault[] = [];
  for (const { name, value } of parseQueryText(query)) {
    if (!allowed.includes(name)) faults.push({ param: name, message: strange(allowed) });
    else if (given.has(name)) faults.push({ param: name, message: 'was given twice' });
    else given.set(name, value);
  }
  if (faults.length > 0) throw invalidQuery(...faults);
  return given;
}

/** A query that was not encoded as one value falls apart into parameters of this call. */
function strange(allowed: readonly string[]): string {
  const known = `is not known here; allowed are ${allowed.join(', ')}`;
  return allowed.includes('query')
    ? `${known}. What belongs to the report goes into query: encode & as %26 and = as %3D`
    : known;
}

/** Faults of the report's own query are told by their place in the call. */
function insideOfQuery<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_query') throw error;
    const { errors = [], ...more } = error.options;
    throw new GatewayError('invalid_query', {
      ...more,
      errors: errors.map(({ param, message }) => ({
        param: param === '' ? 'query' : `query.${param}`,
        message,
      })),
    });
  }
}
