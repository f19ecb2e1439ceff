/** The history of reports: what was known of an account is erased; days that the platform has no more are accepted as empty. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Reporting } from '../compose-reports.js';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { type Operation, shownAs } from '../openapi/operation.js';
import { dayNumber } from '../reports/query/days.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../reports/query/endpoint-path.js';
import { auditLine } from '../telemetry/audit.js';
import { changed } from './say-unconfirmed.js';

type AcceptedScope = Parameters<Reporting['acceptEmpty']>[0];

export interface HistoryRoutesOptions {
  readonly reporting: Pick<Reporting, 'acceptEmpty' | 'eraseHistory'>;
  readonly clock: Clock;
}

const advertiser = (description: string) =>
  Type.Integer({
    minimum: 1,
    // What JSON does not hold exactly would be another account.
    maximum: Number.MAX_SAFE_INTEGER,
    description,
  });

const Erase = Type.Object(
  { advertiserId: advertiser('Reports that name this account, or whose rows do.') },
  { additionalProperties: false },
);

const AcceptEmpty = Type.Object(
  {
    advertiserId: advertiser('Reports that name this account alone.'),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The path of a report, e.g. campaigns/get; absent: all.',
      }),
    ),
    before: Type.String({ description: 'Days before this one, YYYY-MM-DD.' }),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Changes nothing, and says how many days it is about.' }),
    ),
  },
  { additionalProperties: false },
);

const ACCEPT_EMPTY: Operation = {
  id: 'acceptEmpty',
  answers: {
    200: changed(
      Type.Object({
        accepted: Type.String({ description: 'What is believed to be empty.' }),
        days: Type.Integer({ description: 'Days of reports that were given from history until now.' }),
        dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was changed.' })),
      }),
    ),
  },
};

const ERASE: Operation = {
  id: 'eraseHistory',
  answers: {
    200: changed(
      Type.Object({
        erased: Type.String({ description: 'What is shown no more, from now on.' }),
        days: Type.Integer({ description: 'Days of reports that had something of it.' }),
        complete: Type.Boolean({
          description:
            'False: the store did not answer. It is shown no more all the same, and removed within hours.',
        }),
      }),
    ),
  },
};

export function registerHistory(app: FastifyInstance, options: HistoryRoutesOptions): void {
  const { reporting, clock } = options;
  app.post(
    '/admin/v1/history/erase',
    shownAs('history', 'Erase what was known of an advertiser', ERASE, Erase),
    async (request) => {
      const advertiserId = String((request.body as Static<typeof Erase>).advertiserId);
      const erased = `advertiser ${advertiserId}`;
      const event = { action: 'history.erase', subject: erased, after: { advertiserId } };
      const days = await reporting.eraseHistory(advertiserId, auditLine(event, request.actor, clock.now()));
      return { erased, days: days ?? 0, complete: days !== null };
    },
  );
  app.post(
    '/admin/v1/history/accept-empty',
    shownAs('history', 'Accept that days are empty', ACCEPT_EMPTY, AcceptEmpty),
    async (request) => {
      const { dryRun, ...body } = request.body as Static<typeof AcceptEmpty>;
      const scope = readScope(body);
      const { advertiserId, endpoint, before } = scope;
      const of = endpoint === undefined ? '' : `, endpoint ${endpoint}`;
      const accepted = `advertiser ${advertiserId}${of}, days before ${before}`;
      if (dryRun === true) return { accepted, days: await reporting.acceptEmpty(scope, null), dryRun };
      const event = { action: 'history.accept-empty', subject: accepted, after: scope };
      const audit = auditLine(event, request.actor, clock.now());
      return { accepted, days: await reporting.acceptEmpty(scope, audit) };
    },
  );
}

function readScope({
  advertiserId,
  endpoint,
  before,
}: Omit<Static<typeof AcceptEmpty>, 'dryRun'>): AcceptedScope {
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
