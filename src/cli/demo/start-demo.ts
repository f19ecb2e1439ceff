/** Simulator, gateway and a team with a key in this process, on a temporary data folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueKey } from '../../api/operations/keys.js';
import { createTeam } from '../../api/operations/teams.js';
import { loadConfig } from '../../config/load.js';
import type { Environment } from '../../config/rules.js';
import type { MovableClock } from '../../lib/clock.js';
import { run } from '../../server/run.js';
import { startSimulator } from '../../simulator/simulator.js';
import { openAdmin } from '../client.js';

export type Demo = Awaited<ReturnType<typeof startDemo>>;

/** Permitted to do everything in docs/first-steps.md. */
export const TEAM = {
  id: 'growth',
  name: 'Growth analytics',
  advertisers: [1, 2, 3],
  scopes: ['report:read', 'platform:read', 'platform:write', 'report:pin', 'report:watch', 'mcp'],
} as const;

/**
 * @param env PORT, ADMIN_PORT, LOG_LEVEL and GATEWAY_TEST_CLOCK are used; occupied ports are replaced by free ones
 * @param clock of gateway and platform; by default each has its own
 */
export async function startDemo(env: Environment, clock?: MovableClock) {
  // Without a rate limit: it would disturb the demo.
  const simulator = await startSimulator({
    ...(clock && { clock }),
    switches: { rateLimitPerMinute: 0, latencyMs: 40, accountNames: 'plain' },
  });
  const folder = await mkdtemp(join(tmpdir(), 'dsp-gateway-demo-'));
  async function clear(): Promise<void> {
    await simulator.close();
    await rm(folder, { recursive: true, force: true });
  }
  try {
    const config = loadConfig({
      HOST: '127.0.0.1',
      PORT: await freePort(env.PORT ?? '8080'),
      ADMIN_PORT: await freePort(env.ADMIN_PORT ?? '8081'),
      LOG_LEVEL: env.LOG_LEVEL ?? 'error',
      PLATFORM_BASE_URL: simulator.url,
      PLATFORM_TOKEN: simulator.token,
      GATEWAY_DATA_DIR: folder,
      GATEWAY_TEST_CLOCK: env.GATEWAY_TEST_CLOCK,
    });
    const gateway = await run({ config, proxy: {}, planes: ['data', 'admin'], ...(clock && { clock }) });
    const { adminToken } = gateway;
    const adminUrl = gateway.urls.get('admin') as string;
    const admin = openAdmin({ url: adminUrl }, { ADMIN_TOKEN: adminToken });
    await admin.ask(createTeam, { body: TEAM });
    const { key } = await admin.ask(issueKey, { id: TEAM.id, body: { label: 'demo' } });
    const ending = new AbortController();
    return {
      simulator,
      /** Of the demo's own requests. */
      ending: ending.signal,
      gatewayUrl: gateway.urls.get('data') as string,
      adminUrl,
      adminToken,
      admin,
      key,
      /** Waits for background work of the gateway, such as comparisons. */
      settled: gateway.services.settled,
      async stop(): Promise<void> {
        ending.abort();
        await gateway.stop();
        await clear();
      },
    };
  } catch (error) {
    await clear();
    throw error;
  }
}

/** @returns the wanted port if it is free or invalid (refused by the settings), else `0` */
function freePort(wanted: string): Promise<string> {
  if (!/^\d{1,5}$/.test(wanted) || Number(wanted) > 65_535) return Promise.resolve(wanted);
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve('0'))
      .once('listening', () => probe.close(() => resolve(wanted)))
      .listen(Number(wanted), '127.0.0.1');
  });
}
