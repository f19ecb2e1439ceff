/** Whether the process lives, and whether it should be sent requests. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Conditions } from '../../telemetry/health.js';
import { json } from '../openapi/operation.js';
import { CONDITIONS } from '../operations/overview.js';

/** This process, and beside it each part as the worst of all processes and replicas has it. */
export interface Readiness extends Conditions {
  /** Of this process alone: one that can answer from its cache is ready, whatever else is wrong. */
  readonly ready: boolean;
  readonly worst: Conditions;
}

/** @param readiness read at each question */
export function registerHealth(app: FastifyInstance, readiness: () => Readiness): void {
  app.get(
    '/healthz',
    { schema: { ...OPEN, summary: 'Whether the process lives' }, config: { operation: ALIVE } },
    async () => ({ status: 'ok' }),
  );
  app.get(
    '/readyz',
    { schema: { ...OPEN, summary: 'Whether it can answer; 503 when not' }, config: { operation: READY } },
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

const READINESS = Type.Object(
  {
    ready: Type.Boolean({ description: 'This process can answer requests, be it from its cache alone.' }),
    ...CONDITIONS,
    worst: Type.Object(CONDITIONS, {
      description: 'Each as the worst of all processes and replicas has it.',
    }),
  },
  { title: 'Readiness' },
);

const ALIVE = {
  id: 'getHealth',
  answers: { 200: json(Type.Object({ status: Type.Literal('ok') }, { title: 'Alive' }), 'It lives.') },
};

const READY = {
  id: 'getReadiness',
  answers: {
    200: json(READINESS, 'It is ready.', ['cache-control']),
    503: json(READINESS, 'It is not: it starts, stops, or has neither teams nor a token.', ['cache-control']),
  },
};
