/** Purges and explains the cache. */
import type { FastifyInstance } from 'fastify';
import { type FieldFault, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import type { PurgeScope } from '../../reports/cache/purges.js';
import { dayNumber } from '../../reports/query/days.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import { readReportAddress } from '../../reports/query/platform-call.js';
import type { Services } from '../../server/services.js';
import { auditLine } from '../../telemetry/audit.js';
import type { NamedReport } from '../data/ask.js';
import { explainCache, purgeCache } from '../operations/cache.js';
import type { RequestTypes } from '../operations/operation.js';
import { refuseFaults } from './members.js';
import { serve } from './serve.js';

export function registerCache(
  app: FastifyInstance,
  { purges, clock, reporting, directory }: Pick<Services, 'purges' | 'clock' | 'reporting' | 'directory'>,
): void {
  serve(app, purgeCache, async ({ body, actor }) => {
    const scope = readScope(body);
    const purged = describeScope(scope);
    const soft = body.soft === true ? { soft: true as const } : {};
    if (body.dryRun === true) {
      const preview = await reporting.previewPurge(scope, namedIn(body));
      return { purged, ...soft, dryRun: true, preview };
    }
    const nowMs = clock.now();
    const action = body.soft === true ? 'cache.soft-purge' : 'cache.purge';
    const line = auditLine({ action, subject: purged, after: { ...scope, ...soft } }, actor, nowMs);
    await purges.append(body.soft === true ? { ...scope, softAtMs: nowMs } : scope, line);
    return { purged, ...soft };
  });
  serve(app, explainCache, async ({ query: given }) => {
    const { endpoint, query } = namedReport(given);
    if (given.team === undefined) return reporting.explain(endpoint, query);
    const known = directory.team(given.team);
    if (known === undefined) throw invalidQuery(mustBe('team', 'the id of a team'));
    return reporting.explain(endpoint, query, known.defaultFormat);
  });
}

/** By endpoint and query, or by a copied URL, which is only parsed. */
function namedReport({
  endpoint,
  query,
  url,
}: RequestTypes<typeof explainCache>['Querystring']): NamedReport {
  if (url === undefined) {
    if (!isEndpointPath(endpoint)) throw invalidQuery(ENDPOINT_FAULT);
    if (query === undefined) throw invalidQuery(mustBe('query', 'the URL-encoded query of a report'));
    return { endpoint, query };
  }
  if (endpoint !== undefined || query !== undefined)
    throw invalidQuery({ param: 'url', message: 'must not be combined with endpoint and query' });
  const read = readReportAddress(url.trim());
  if (read === null || !isEndpointPath(read.endpoint)) throw invalidQuery(NO_REPORT);
  return { endpoint: read.endpoint, query: read.query };
}

const NO_REPORT = mustBe(
  'url',
  'the URL of a report or its path with the query, e.g. /api/v1/report/campaigns/get?advertiserId=1: only reports are cached',
);

function namedIn({ endpoint, query }: RequestTypes<typeof purgeCache>['Body']): NamedReport | null {
  if (query === undefined || endpoint === undefined) return null;
  if (!isEndpointPath(endpoint)) throw invalidQuery(ENDPOINT_FAULT);
  return { endpoint, query };
}

function readScope(body: RequestTypes<typeof purgeCache>['Body']): PurgeScope {
  const { all, advertiserId, endpoint, from, to, dryRun, query } = body;
  const scope: PurgeScope = {
    ...(advertiserId === undefined ? {} : { advertiserId: String(advertiserId) }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const limited = Object.keys(scope).length > 0;
  const faults: FieldFault[] = [
    ...(['from', 'to'] as const)
      .filter((end) => scope[end] !== undefined && dayNumber(scope[end]) === null)
      .map((end) => mustBe(end, 'a calendar day as YYYY-MM-DD')),
    ...(from !== undefined && to !== undefined && from > to
      ? [{ param: 'to', message: 'must not be before from' }]
      : []),
    ...(query !== undefined && !(dryRun === true && endpoint !== undefined)
      ? [
          {
            param: 'query',
            message: 'requires dryRun and endpoint',
            help: 'Send dryRun and endpoint too, or omit query.',
          },
        ]
      : []),
    ...(all === true && limited ? [{ param: 'all', message: 'must not be combined with a scope' }] : []),
    ...(all === undefined && !limited
      ? [{ param: 'all', message: 'must be true unless advertiserId, endpoint, from or to is given' }]
      : []),
  ];
  refuseFaults(faults);
  return scope;
}

function describeScope({ advertiserId, endpoint, from, to }: PurgeScope): string {
  const parts = [
    advertiserId === undefined ? '' : `advertiser ${advertiserId}`,
    endpoint === undefined ? '' : `endpoint ${endpoint}`,
    from === undefined && to === undefined ? '' : `days ${from ?? 'any'} to ${to ?? 'any'}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'all' : parts.join(', ');
}
