import type { FastifyInstance } from 'fastify';
import { registerHealth } from './data/health.js';
import { registerMetrics } from './data/metrics.js';
import { createFinish, createPlaneServer, type PlaneOptions, readiness } from './plane.js';

/** `/metrics` and health alone, for scraping without opening the admin plane. */
export async function buildMetricsPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services, metricsText } = options;
  const app = createPlaneServer('metrics', services, createFinish('metrics', services));
  registerHealth(app, () => readiness(options));
  registerMetrics(app, { text: metricsText, hosts: services.config.server.metricsHosts });
  return app;
}
