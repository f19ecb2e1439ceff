/** Advertisers that answers have told of, for those who grant them. */
import type { FastifyInstance } from 'fastify';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { ShowAdvertisers } from '../pipeline/show-advertisers.js';
import { ADVERTISERS, ADVERTISERS_QUERY } from '../routes/advertisers.js';

export interface AdvertisersOptions {
  readonly pipeline: { readonly showAdvertisers: Pick<ShowAdvertisers, 'all'> };
}

const OPERATION: Operation = {
  id: 'listAdvertisers',
  query: ADVERTISERS_QUERY('100'),
  answers: { 200: json(ADVERTISERS, 'Advertisers in answers of the platform; the 2,500 seen last.') },
  problems: ['invalid_query', 'not_ready'],
};

export function registerAdvertisers(app: FastifyInstance, { pipeline }: AdvertisersOptions): void {
  const shown = shownAs('advertisers', 'Advertisers seen, with their names', OPERATION);
  app.get('/admin/v1/advertisers', shown, async (request) =>
    pipeline.showAdvertisers.all(request.query as Record<string, string>),
  );
}
