/** Whether the process lives, and whether it should be sent requests. */
import type { FastifyInstance } from 'fastify';
import type { Conditions } from '../telemetry/health.js';

/** This process, and beside it each part as the worst of all processes and replicas has it. */
export interface Readiness extends Conditions {
  /** Of this process alone: one that can answer from its cache is ready, whatever else is wrong. */
  readonly ready: boolean;
  readonly worst: Conditions;
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
