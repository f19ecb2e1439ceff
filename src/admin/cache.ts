/** The cache: purge, explain. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { NamedReport } from '../api/data/ask.js';
import { Explanation } from '../api/data/explain.js';
import type { Directory } from '../auth/directory.js';
import type { Reporting } from '../compose-reports.js';
import { type FieldFault, GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { PurgeScope, Purges } from '../reports/cache/purges.js';
import { dayNumber } from '../reports/query/days.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../reports/query/endpoint-path.js';
import { readReportAddress } from '../reports/query/platform-call.js';
import { auditLine } from '../telemetry/audit.js';
import { changed } from './say-unconfirmed.js';

export interface CacheOptions {
  readonly purges: Purges;
  readonly clock: Clock;
  readonly reporting: Pick<Reporting, 'explain' | 'previewPurge'>;
  readonly directory: Pick<Directory, 'team'>;
}

const Purge = Type.Object(
  {
    all: Type.Optional(Type.Literal(true, { description: 'Everything.' })),
    advertiserId: Type.Optional(
      Type.Integer({
        minimum: 1,
        // What JSON does not hold exactly would be another account.
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Reports that name or hold this account, and those that name none.',
      }),
    ),
    endpoint: Type.Optional(Type.String({ minLength: 1, description: 'E.g. campaigns/get.' })),
    from: Type.Optional(Type.String({ description: 'First day, YYYY-MM-DD.' })),
    to: Type.Optional(Type.String({ description: 'Last day, YYYY-MM-DD.' })),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only say what would be forgotten.' })),
    query: Type.Optional(
      Type.String({
        description:
          'With dryRun and endpoint: the query of a report, of which is told what is kept and would be forgotten.',
      }),
    ),
  },
  { additionalProperties: false },
);

const Preview = Type.Object(
  {
    days: Type.Union([Type.Integer(), Type.Null()], { description: 'In it; null where an end is open.' }),
    reports: Type.Array(
      Type.Object({
        endpoint: Type.String(),
        advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
        split: Type.Array(Type.String()),
      }),
      { description: 'Reports by date in use that would be asked for anew, as far as they are known.' },
    ),
    report: Type.Union(
      [
        Type.Object({
          series: Type.String(),
          entries: Type.Integer(),
          days: Type.Array(Type.String({ format: 'date' })),
          rows: Type.Integer(),
          bytes: Type.Integer({ description: 'As they are kept in the store.' }),
        }),
        Type.Null(),
      ],
      { description: 'What is kept of the report that query names, and would be forgotten.' },
    ),
  },
  { title: 'PurgePreview', description: 'With dryRun.' },
);

const PURGE: Operation = {
  id: 'purgeCache',
  answers: {
    200: changed(
      Type.Object({
        purged: Type.String({ description: 'What is forgotten.' }),
        dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was forgotten.' })),
        preview: Type.Optional(Preview),
      }),
    ),
  },
};

const EXPLAIN: Operation = {
  id: 'explainCache',
  query: Type.Object({
    endpoint: Type.Optional(Type.String({ description: 'The path of a report, e.g. campaigns/get.' })),
    query: Type.Optional(Type.String({ description: 'The URL-encoded query of a report.' })),
    url: Type.Optional(
      Type.String({
        description:
          'In the place of endpoint and query: the address of a report as it was copied, of whatever host, or its path with the query.',
      }),
    ),
    team: Type.Optional(
      Type.String({ description: 'Id of a team: its default format decides where the query names none.' }),
    ),
  }),
  answers: { 200: json(Explanation) },
  problems: ['invalid_query'],
};

export function registerCache(
  app: FastifyInstance,
  { purges, clock, reporting, directory }: CacheOptions,
): void {
  app.post(
    '/admin/v1/cache/purge',
    shownAs('cache', 'Forget cached reports', PURGE, Purge),
    async (request) => {
      const body = request.body as Static<typeof Purge>;
      const scope = readScope(body);
      const purged = describeScope(scope);
      if (body.dryRun === true)
        return { purged, dryRun: true, preview: await reporting.previewPurge(scope, namedIn(body)) };
      await purges.append(
        scope,
        auditLine({ action: 'cache.purge', subject: purged, after: scope }, request.actor, clock.now()),
      );
      return { purged };
    },
  );

  const shown = shownAs('cache', 'What the cache holds of a report', EXPLAIN);
  app.get('/admin/v1/cache/explain', shown, async (request) => {
    const asked = request.query as Readonly<Record<string, unknown>>;
    const { endpoint, query } = namedReport(asked);
    if (asked.team === undefined) return reporting.explain(endpoint, query);
    const known = typeof asked.team === 'string' ? directory.team(asked.team) : undefined;
    if (known === undefined) throw invalid('team', 'must be the id of a team');
    return reporting.explain(endpoint, query, known.defaultFormat);
  });
}

/** By endpoint and query, or by an address as it was copied; nothing is asked for there. */
function namedReport({ endpoint, query, url }: Readonly<Record<string, unknown>>): NamedReport {
  if (url === undefined) {
    if (!isEndpointPath(endpoint)) throw invalid('endpoint', ENDPOINT_FAULT);
    if (typeof query !== 'string') throw invalid('query', 'must be the URL-encoded query of a report');
    return { endpoint, query };
  }
  if (endpoint !== undefined || query !== undefined)
    throw invalid('url', 'goes in the place of endpoint and query');
  const read = typeof url === 'string' ? readReportAddress(url.trim()) : null;
  if (read === null || !isEndpointPath(read.endpoint)) throw invalid('url', NO_REPORT);
  return { endpoint: read.endpoint, query: read.query };
}

const NO_REPORT =
  'must be the address of a report, or its path with the query, e.g. /api/v1/report/campaigns/get?advertiserId=1: only what lies below /api/v1/report/ is cached';

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_query', { errors: [{ param, message }] });
}

/** The report of which a preview tells more. */
function namedIn({ endpoint, query }: Static<typeof Purge>): NamedReport | null {
  if (query === undefined || endpoint === undefined) return null;
  if (!isEndpointPath(endpoint)) throw invalid('endpoint', ENDPOINT_FAULT);
  return { endpoint, query };
}

function readScope(body: Static<typeof Purge>): PurgeScope {
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
      .map((end) => ({ param: end, message: 'must be a calendar day as YYYY-MM-DD' })),
    ...(from !== undefined && to !== undefined && from > to
      ? [{ param: 'to', message: 'must not be before from' }]
      : []),
    ...(query !== undefined && !(dryRun === true && endpoint !== undefined)
      ? [{ param: 'query', message: 'goes with dryRun and endpoint only' }]
      : []),
    ...(all === true && limited ? [{ param: 'all', message: 'goes alone' }] : []),
    ...(all === undefined && !limited
      ? [{ param: 'all', message: 'say {"all": true}, or any of advertiserId, endpoint, from, to' }]
      : []),
  ];
  if (faults.length > 0) throw new GatewayError('invalid_body', { status: 422, errors: faults });
  return scope;
}

function describeScope({ advertiserId, endpoint, from, to }: PurgeScope): string {
  const days = from === undefined && to === undefined ? '' : `days ${from ?? 'any'} to ${to ?? 'any'}`;
  const parts = [
    advertiserId === undefined ? '' : `advertiser ${advertiserId}`,
    endpoint === undefined ? '' : `endpoint ${endpoint}`,
    days,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'all' : parts.join(', ');
}
