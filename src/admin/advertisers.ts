/** Advertisers that answers have told of, for those who grant them. */
import type { FastifyInstance } from 'fastify';
import { ADVERTISERS, ADVERTISERS_QUERY, findAdvertisers } from '../api/data/advertisers.js';
import type { Reporting } from '../compose-reports.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';

const USUAL_LIMIT = '100';
const OPERATION: Operation = {
  id: 'listAdvertisers',
  query: ADVERTISERS_QUERY(USUAL_LIMIT),
  answers: { 200: json(ADVERTISERS, 'Advertisers in answers of the platform; the 2,500 seen last.') },
  problems: ['invalid_query', 'not_ready'],
};

export function registerAdvertisers(
  app: FastifyInstance,
  { reporting }: { readonly reporting: Pick<Reporting, 'gateway'> },
): void {
  const shown = shownAs('advertisers', 'Advertisers seen, with their names', OPERATION);
  app.get('/admin/v1/advertisers', shown, async (request) =>
    findAdvertisers(reporting.gateway, request.query as Record<string, string>, '*', USUAL_LIMIT),
  );
}
