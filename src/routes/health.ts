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
  app.get('/healthz', { schema: { ...OPEN, summary: 'Whether the process lives' } }, async () => ({
    status: 'ok',
  }));
  app.get(
    '/readyz',
    { schema: { ...OPEN, summary: 'Whether it can answer; 503 when not' } },
    async (_request, reply) => {
      const state = readiness();
      return reply
        .code(state.ready ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(state);
    },
  );
}

/** For anybody, without a key. */
const OPEN = { tags: ['health'], security: [] };
