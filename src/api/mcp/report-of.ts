/** Translates the arguments of a tool to the query of a report. Pure. */
import { type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import { type QueryPair, writeQueryText } from '../../reports/query/given-parameters.js';
import type { NamedReport } from '../data/ask.js';
import type { QueryArguments, ReportArguments } from './tools.js';

export interface ReportRules {
  /** The parameter that names the account, e.g. `advertiserId`. */
  readonly accountField: string;
  readonly defaultEndpoint: string;
  readonly maxUriBytes: number;
}

/**
 * Names, values and accounts are checked later, as for every query.
 * @param shape parameters of the gateway
 * @throws GatewayError `invalid_query`; `uri_too_long`
 */
export function reportOf(
  args: ReportArguments,
  rules: ReportRules,
  shape: readonly QueryPair[] = [],
): NamedReport {
  const { endpoint = rules.defaultEndpoint, advertiserId, period, split = [], filters = [] } = args;
  const faults: FieldFault[] = [];
  if (!isEndpointPath(endpoint)) faults.push(ENDPOINT_FAULT);
  for (const [at, { name }] of filters.entries())
    if (name.startsWith('_'))
      faults.push({
        param: `filters.${at}.name`,
        message: "is a parameter of the gateway, not a filter: use the tool's arguments",
      });
  if (period?.relative !== undefined && (period.from !== undefined || period.to !== undefined))
    faults.push({ param: 'period.relative', message: 'must not be combined with from and to' });
  if (faults.length > 0) throw invalidQuery(...faults);
  const pairs = [
    ...(advertiserId === undefined ? [] : [{ name: rules.accountField, value: String(advertiserId) }]),
    ...pair('dateFrom', period?.from),
    ...pair('dateTo', period?.to),
    ...pair('_period', period?.relative),
    ...split.map((by) => ({ name: `by${by.charAt(0).toUpperCase()}${by.slice(1)}`, value: '1' })),
    ...filters.flatMap(({ name, values }) => values.map((value) => ({ name, value }))),
    ...shape,
  ];
  const query = queryOf(pairs);
  if (query.length > rules.maxUriBytes)
    throw new GatewayError('uri_too_long', {
      detail: `The arguments make a query of ${query.length} bytes; the limit is ${rules.maxUriBytes}.`,
      help: 'Use fewer filters or columns.',
    });
  return { endpoint, query };
}

export function shapeOf({ columns, totals, asOf, final }: QueryArguments): readonly QueryPair[] {
  return [
    ...pair('_fields', columns?.join(',')),
    ...pair('_totals', totals === true ? '1' : undefined),
    ...pair('_asOf', asOf),
    ...pair('_final', final),
    { name: '_format', value: 'json' },
  ];
}

/** A lone surrogate, which has no encoding in UTF-8. */
const HALF_CHARACTER = /\p{Surrogate}/u;

export function queryOf(pairs: readonly QueryPair[]): string {
  const faults = pairs
    .filter(({ name, value }) => HALF_CHARACTER.test(name) || HALF_CHARACTER.test(value))
    .map(({ name }) => ({
      param: name.replace(new RegExp(HALF_CHARACTER, 'gu'), '?'),
      message: 'contains half of a surrogate pair',
    }));
  if (faults.length > 0) throw invalidQuery(...faults);
  return writeQueryText(pairs);
}

function pair(name: string, value: string | undefined): readonly QueryPair[] {
  return value === undefined ? [] : [{ name, value }];
}
