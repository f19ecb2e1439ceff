/** Erases the history of an account, and accepts empty days that the platform has deleted. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { dayNumber } from '../../reports/query/days.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import type { Reporting } from '../../server/compose-reports.js';
import { auditLine } from '../../telemetry/audit.js';
import { acceptEmpty, eraseHistory } from '../operations/history.js';
import type { RequestTypes } from '../operations/operation.js';
import { serve } from './serve.js';

type AcceptedScope = Parameters<Reporting['acceptEmpty']>[0];

export interface HistoryRoutesOptions {
  readonly reporting: Pick<Reporting, 'acceptEmpty' | 'eraseHistory'>;
  readonly clock: Clock;
}

export function registerHistory(app: FastifyInstance, { reporting, clock }: HistoryRoutesOptions): void {
  serve(app, eraseHistory, async ({ body, actor }) => {
    const advertiserId = String(body.advertiserId);
    const erased = `advertiser ${advertiserId}`;
    const event = { action: 'history.erase', subject: erased, after: { advertiserId } };
    const days = await reporting.eraseHistory(advertiserId, auditLine(event, actor, clock.now()));
    return { erased, days: days ?? 0, complete: days !== null };
  });
  serve(app, acceptEmpty, async ({ body, actor }) => {
    const { dryRun } = body;
    const scope = readScope(body);
    const { advertiserId, endpoint, before } = scope;
    const of = endpoint === undefined ? '' : `, endpoint ${endpoint}`;
    const accepted = `advertiser ${advertiserId}${of}, days before ${before}`;
    if (dryRun === true) return { accepted, days: await reporting.acceptEmpty(scope, null), dryRun };
    const event = { action: 'history.accept-empty', subject: accepted, after: scope };
    const audit = auditLine(event, actor, clock.now());
    return { accepted, days: await reporting.acceptEmpty(scope, audit) };
  });
}

function readScope({
  advertiserId,
  endpoint,
  before,
}: RequestTypes<typeof acceptEmpty>['Body']): AcceptedScope {
  const errors = [
    ...(dayNumber(before) === null
      ? [{ param: 'before', message: 'must be a calendar day as YYYY-MM-DD' }]
      : []),
    ...(endpoint !== undefined && !isEndpointPath(endpoint)
      ? [{ param: 'endpoint', message: ENDPOINT_FAULT }]
      : []),
  ];
  if (errors.length > 0) throw new GatewayError('invalid_body', { status: 422, errors });
  return { advertiserId: String(advertiserId), ...(endpoint === undefined ? {} : { endpoint }), before };
}
