import type { FastifyInstance } from 'fastify';

/** Prometheus text, version 0.0.4. */
export function registerMetrics(app: FastifyInstance, text: () => Promise<string>): void {
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text()),
  );
}
