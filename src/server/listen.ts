import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildAdminPlane } from '../api/admin.js';
import { buildDataPlane } from '../api/data.js';
import { buildMetricsPlane } from '../api/metrics.js';
import type { PlaneOptions } from '../api/plane.js';

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
