/** Whether the process lives, and whether it should be sent requests. */
import type { FastifyInstance } from 'fastify';

export interface Readiness {
  readonly ready: boolean;
  /** `ok`, or what is wrong, in a word or a sentence; never a secret. */
  readonly store: string;
  readonly credential: string;
  readonly platform: string;
}

/** @param readiness read at each question */
export function registerHealth(app: FastifyInstance, readiness: () => Readiness): void {
  app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    const state = readiness();
    return reply
      .code(state.ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send(state);
  });
}
