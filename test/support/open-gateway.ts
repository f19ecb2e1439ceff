/** A gateway and its simulated platform in this process, all on sockets: for tests that send bytes, as a caller does. */
import type { AddressInfo } from 'node:net';
import { afterEachFile } from './after-file.js';
import { simulatorOf } from './ask.js';
import { ADMIN_TOKEN, type SimulatedGateway, type SimulatedOptions, startGateway } from './start-gateway.js';

export interface OpenGateway {
  /** Where its planes listen. */
  readonly gateway: { readonly data: string; readonly admin: string; readonly adminToken: string };
  readonly inside: SimulatedGateway;
  readonly platform: { readonly url: string; readonly token: string };
  readonly sim: ReturnType<typeof simulatorOf>;
}

const open = new Set<SimulatedGateway>();
afterEachFile(async () => {
  for (const inside of open) await closeOf(inside);
});

/** Ends with the test file. */
export async function openGateway(options: SimulatedOptions = {}): Promise<OpenGateway> {
  // Hits are answered before the router, as a gateway in operation does.
  const inside = await startGateway({ logLevel: 'info', ...options });
  open.add(inside);
  const [data, admin] = await Promise.all([inside.data, inside.admin].map(addressOf));
  const { url, token } = inside.simulator;
  return {
    gateway: { data: String(data), admin: String(admin), adminToken: ADMIN_TOKEN },
    inside,
    platform: { url, token },
    sim: simulatorOf(url),
  };
}

async function addressOf(plane: SimulatedGateway['data']): Promise<string> {
  await plane.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(plane.server.address() as AddressInfo).port}`;
}

async function closeOf(inside: SimulatedGateway): Promise<void> {
  open.delete(inside);
  const closed = inside.close();
  for (const { server } of [inside.data, inside.admin]) server.closeAllConnections();
  await closed;
}
