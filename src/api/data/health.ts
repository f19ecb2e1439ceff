/** Liveness and readiness. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { BUILD } from '../../lib/package-root.js';
import type { Conditions } from '../../telemetry/health.js';
import { json } from '../openapi/operation.js';
import { titled } from '../openapi/schemas.js';
import { CONDITIONS } from '../operations/overview.js';

export interface Readiness extends Conditions {
  /** Of this process: it is ready if it can answer at least from its cache. */
  readonly ready: boolean;
  readonly worst: Conditions;
}

/** Without a key, so without the findings of `status`. */
export function registerHealth(app: FastifyInstance, readiness: () => Readiness): void {
  app.get(
    '/healthz',
    { schema: { ...OPEN, summary: 'Liveness of the process' }, config: { operation: ALIVE } },
    async () => ({ status: 'ok', ...BUILD }),
  );
  app.get(
    '/readyz',
    {
      schema: { ...OPEN, summary: 'Readiness of the process; 503 if not ready' },
      config: { operation: READY },
    },
    async (_request, reply) => {
      const state = readiness();
      return reply
        .code(state.ready ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(state);
    },
  );
}

const OPEN = { tags: ['health'], security: [] };

const READINESS = titled('Readiness', {
  ready: Type.Boolean({ description: 'This process can answer requests, at least from its cache.' }),
  ...CONDITIONS,
  worst: Type.Object(CONDITIONS, { description: 'Worst state among all processes.' }),
});

const SHOWN_BUILD = {
  version: Type.String(),
  commit: Type.Optional(Type.String({ description: 'Of the build; absent: not known.' })),
};

const ALIVE = {
  id: 'getHealth',
  answers: { 200: json(titled('Alive', { status: Type.Literal('ok'), ...SHOWN_BUILD }), 'Alive.') },
};

const READY = {
  id: 'getReadiness',
  answers: {
    200: json(READINESS, 'Ready.', ['cache-control']),
    503: json(READINESS, 'Not ready: starting, stopping, or without teams or token.', ['cache-control']),
  },
};
