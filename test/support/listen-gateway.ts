import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import type { TestGateway } from './start-gateway.js';

/** Opens a gateway's data plane on a free port. @returns its address; every connection ends with the test */
export const listenGateway = ({ data }: Pick<TestGateway, 'data'>): Promise<string> => listen(data);

/** The same of its admin plane. */
export const listenAdmin = ({ admin }: Pick<TestGateway, 'admin'>): Promise<string> => listen(admin);

async function listen(plane: FastifyInstance): Promise<string> {
  await plane.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => plane.server.closeAllConnections());
  const { port } = plane.server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
