/** The history of reports: what was known of an account is erased. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Clock } from '../clock.js';
import { type Operation, shownAs } from '../openapi/operation.js';
import type { Pipeline } from '../pipeline/create-pipeline.js';
import { auditLine } from '../telemetry/audit.js';
import { changed } from './say-unconfirmed.js';

export interface HistoryRoutesOptions {
  readonly pipeline: Pick<Pipeline, 'eraseHistory'>;
  readonly clock: Clock;
}

const Erase = Type.Object(
  {
    advertiserId: Type.Integer({
      minimum: 1,
      // What JSON does not hold exactly would be another account.
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Reports that name this account, or whose rows do.',
    }),
  },
  { additionalProperties: false },
);

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
  const { pipeline, clock } = options;
  app.post(
    '/admin/v1/history/erase',
    shownAs('history', 'Erase what was known of an advertiser', ERASE, Erase),
    async (request) => {
      const advertiserId = String((request.body as Static<typeof Erase>).advertiserId);
      const erased = `advertiser ${advertiserId}`;
      const event = { action: 'history.erase', subject: erased, after: { advertiserId } };
      const days = await pipeline.eraseHistory(advertiserId, auditLine(event, request.actor, clock.now()));
      return { erased, days: days ?? 0, complete: days !== null };
    },
  );
}
