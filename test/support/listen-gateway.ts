import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { TestGateway } from './start-gateway.js';

/** Opens a gateway's data plane on a free port. @returns its address; every connection ends with the test */
export async function listenGateway({ data }: Pick<TestGateway, 'data'>): Promise<string> {
  await data.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => data.server.closeAllConnections());
  const { port } = data.server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
