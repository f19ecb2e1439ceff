/** Metrics for Prometheus. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../errors.js';
import { clipName } from '../lib/http/problem.js';
import { registerHealth } from './data/health.js';
import { isOwnHost } from './http/own-host.js';
import type { ProblemCode } from './openapi/operation.js';
import { text } from './openapi/schemas.js';
import { createFinish, createPlaneServer, type PlaneOptions, readiness } from './plane.js';

interface MetricsRoute {
  /** Prometheus text, version 0.0.4. */
  readonly text: () => Promise<string>;
  /** Host names that may be used, beside addresses and private names; null: any, because a token is required. */
  readonly hosts: readonly string[] | null;
}

export function registerMetrics(app: FastifyInstance, { text, hosts }: MetricsRoute): void {
  app.get('/metrics', describe(hosts), async (request, reply) => {
    if (hosts !== null && !isOwnHost(request.headers.host, hosts)) {
      throw new GatewayError('invalid_request', {
        status: 421,
        detail: `Metrics are not served under the host name ${JSON.stringify(clipName(request.headers.host ?? ''))}.`,
        help: 'Use an IP address, or add the name to server.metricsHosts.',
      });
    }
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text());
  });
}

function describe(hosts: MetricsRoute['hosts']) {
  const misdirected: ProblemCode[] = hosts === null ? [] : [{ code: 'invalid_request', status: 421 }];
  const content = { 'text/plain': text('Prometheus text, version 0.0.4.') };
  return {
    schema: {
      tags: ['status'],
      summary: 'Metrics for Prometheus',
      ...(hosts === null ? {} : { security: [] }),
    },
    config: {
      operation: {
        role: 'viewer' as const,
        id: 'getMetrics',
        answers: { 200: { description: 'The metrics.', content } },
        problems: misdirected,
      },
    },
  };
}

/** Only `/metrics` and health, for scraping without access to the admin plane. */
export async function buildMetricsPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services, metricsText } = options;
  const app = createPlaneServer('metrics', services, createFinish('metrics', services));
  registerHealth(app, () => readiness(options));
  registerMetrics(app, { text: metricsText, hosts: services.config.server.metricsHosts });
  return app;
}
