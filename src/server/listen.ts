import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildAdminPlane } from '../api/admin.js';
import type { Readiness } from '../api/data/health.js';
import { buildDataPlane } from '../api/data.js';
import { buildMetricsPlane } from '../api/metrics.js';
import type { PlaneOptions } from '../api/plane.js';
import { GatewayError, PROBLEM_TYPE, toProblem } from '../errors.js';
import { randomId } from '../lib/chance.js';

export type Plane = 'data' | 'admin' | 'metrics';

export interface Listening {
  readonly servers: readonly FastifyInstance[];
  /** `http://host:port` of each plane that listens. */
  readonly urls: ReadonlyMap<Plane, string>;
}

/** Builds the planes and gives them their ports; the data plane comes last. @throws the system's error when a port is taken */
export async function listenAll(options: PlaneOptions, planes: readonly Plane[]): Promise<Listening> {
  const { server } = options.services.config;
  const servers: FastifyInstance[] = [];
  const urls = new Map<Plane, string>();
  const listen = async (plane: Plane, built: FastifyInstance, host: string, port: number) => {
    await built.listen({ host, port });
    const address = built.server.address() as AddressInfo;
    const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    urls.set(plane, `http://${shown}:${address.port}`);
    servers.push(built);
  };
  if (planes.includes('admin'))
    await listen('admin', await buildAdminPlane(options), server.adminHost, server.adminPort);
  if (planes.includes('metrics') && server.metricsPort !== undefined) {
    await listen('metrics', await buildMetricsPlane(options), server.host, server.metricsPort);
  }
  if (planes.includes('data')) await listen('data', await buildDataPlane(options), server.host, server.port);
  return { servers, urls };
}

/** What answers on the data port while the store is waited for: alive, and not ready. */

/** Who waits hears of no other process. */
const CONDITIONS = { store: 'waiting for Redis', credential: 'unknown', platform: 'unknown' };
const WAITING: Readiness = { ready: false, ...CONDITIONS, worst: CONDITIONS };

/** @returns a function that lets go of the port */
export async function holdPort(host: string, port: number): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const answer = (status: number, type: string, body: object) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', connection: 'close' });
      response.end(JSON.stringify(body));
    };
    if (path === '/healthz') return answer(200, 'application/json', { status: 'ok' });
    if (path === '/readyz') return answer(503, 'application/json', WAITING);
    const problem = toProblem(new GatewayError('not_ready'), randomId());
    response.setHeader('retry-after', '5');
    return answer(503, PROBLEM_TYPE, problem);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
