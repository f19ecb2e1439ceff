/** Numbers for Prometheus. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../errors.js';
import { registerHealth } from './data/health.js';
import { isOwnHost } from './http/own-host.js';
import type { ProblemCode } from './openapi/operation.js';
import { createFinish, createPlaneServer, type PlaneOptions, readiness } from './plane.js';

interface MetricsRoute {
  /** Prometheus text, version 0.0.4. */
  readonly text: () => Promise<string>;
  /** Names under which they are told, beside addresses and private names; null: whoever asks has shown a token. */
  readonly hosts: readonly string[] | null;
}

export function registerMetrics(app: FastifyInstance, { text, hosts }: MetricsRoute): void {
  app.get('/metrics', describe(hosts), async (request, reply) => {
    if (hosts !== null && !isOwnHost(request.headers.host, hosts)) {
      throw new GatewayError('invalid_request', {
        status: 421,
        detail: `Metrics are not told under the name ${JSON.stringify(request.headers.host)}: ask by address, or have the name listed in server.metricsHosts.`,
      });
    }
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text());
  });
}

function describe(hosts: MetricsRoute['hosts']) {
  const misdirected: ProblemCode[] = hosts === null ? [] : [{ code: 'invalid_request', status: 421 }];
  const text = { 'text/plain': Type.String({ description: 'Prometheus text, version 0.0.4.' }) };
  return {
    schema: {
      tags: ['status'],
      summary: 'Numbers for Prometheus',
      ...(hosts === null ? {} : { security: [] }),
    },
    config: {
      operation: {
        role: 'viewer' as const,
        id: 'getMetrics',
        answers: { 200: { description: 'The numbers.', content: text } },
        problems: misdirected,
      },
    },
  };
}

/** `/metrics` and health alone, for scraping without opening the admin plane. */
export async function buildMetricsPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services, metricsText } = options;
  const app = createPlaneServer('metrics', services, createFinish('metrics', services));
  registerHealth(app, () => readiness(options));
  registerMetrics(app, { text: metricsText, hosts: services.config.server.metricsHosts });
  return app;
}
