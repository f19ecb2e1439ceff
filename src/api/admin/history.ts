/** The last changes of days; erases the history of an account, and accepts empty days that the platform has deleted. */
import type { FastifyInstance } from 'fastify';
import { mustBe } from '../../lib/field-faults.js';
import { dayNumber } from '../../reports/query/days.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import type { Services } from '../../server/services.js';
import { auditLine } from '../../telemetry/audit.js';
import { unlessAway } from '../data/ask.js';
import { acceptEmpty, eraseHistory, listChanges } from '../operations/history.js';
import type { RequestTypes } from '../operations/operation.js';
import type { Change } from '../operations/past.js';
import { refuseFaults } from './members.js';
import { serve } from './serve.js';

const DEFAULT_CHANGES = 200;

export function registerHistory(
  app: FastifyInstance,
  { reporting, clock }: Pick<Services, 'reporting' | 'clock'>,
): void {
  serve(app, eraseHistory, async ({ body, actor }) => {
    const advertiserId = String(body.advertiserId);
    const erased = `advertiser ${advertiserId}`;
    const event = { action: 'history.erase', subject: erased, after: { advertiserId } };
    const days = await reporting.eraseHistory(advertiserId, auditLine(event, actor, clock.now()));
    return { erased, days: days ?? 0, complete: days !== null };
  });
  serve(app, listChanges, async ({ query: { limit = DEFAULT_CHANGES } }) => {
    const messages = await unlessAway(reporting.feed.latest(limit));
    return { data: messages.map((text) => JSON.parse(text) as Change) };
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

function readScope({ advertiserId, endpoint, before }: RequestTypes<typeof acceptEmpty>['Body']) {
  refuseFaults([
    ...(dayNumber(before) === null ? [mustBe('before', 'a calendar day as YYYY-MM-DD')] : []),
    ...(endpoint !== undefined && !isEndpointPath(endpoint) ? [ENDPOINT_FAULT] : []),
  ]);
  return { advertiserId: String(advertiserId), ...(endpoint === undefined ? {} : { endpoint }), before };
}
