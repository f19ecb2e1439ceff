/** Three real gateways, each on a Redis by a proxy of its own, in front of one platform by one proxy. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterEachFile } from '../../../support/after-file.js';
import { ask, type IssuedKey, newTeam, simulatorOf } from '../../../support/ask.js';
import { type FaultProxy, startFaultProxy } from '../../../support/fault-proxy.js';
import {
  type Env,
  type Gateway,
  startGateway,
  startPlatform,
  tempFolder,
} from '../../../support/processes.js';
import { waitFor } from '../../../support/wait-for.js';
import { INSPECTED } from './heap.js';

export const GATEWAYS = 3;
/** Of a platform call; what a caller waits is bounded by it. */
const CALL_MS = 2_000;
/** Which advertisers each team may see; those of `moving` change. */
export const TEAMS = { one: [1], two: [2, 3], moving: [4], all: '*' } as const;
export type TeamId = keyof typeof TEAMS;

const WRITE = 'POST /api/v1/campaign/create';
/** Of every team: its writes are read. */
const GUARD = {
  [WRITE]: {
    budget: {
      field: 'body.budget.total',
      currencyField: 'body.currency',
      currency: 'EUR',
      maxPerCall: 1_000,
      maxPerDay: 100_000,
    },
  },
};

/** How gateways find Redis. @returns a part of the configuration, and of the environment, of one gateway */
export interface StoreForm {
  readonly yaml?: object;
  envOf(at: number): Env;
}

const ends = new Set<() => Promise<void>>();
afterEachFile(async () => {
  await Promise.all([...ends].map((end) => end()));
  ends.clear();
});

/** Ends something with the run, at the latest. */
export function endLater(end: () => Promise<void>): void {
  ends.add(end);
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** @param redisProxies of each gateway, in their order; none where Redis is reached without. They are taken back and closed with it */
export async function startFleet(seed: number, store: StoreForm, redisProxies: readonly FaultProxy[] = []) {
  const platform = await startPlatform();
  const platformProxy = await startFaultProxy(Number(new URL(platform.url).port), seed);
  const sim = simulatorOf(platform.url);
  const folder = await tempFolder();
  const secrets = {
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: `admin-${randomBytes(12).toString('hex')}`,
  };
  const file = join(folder, 'gateway.yaml');
  await writeFile(
    file,
    stringify({
      platform: { timeoutMs: CALL_MS, circuit: { openSeconds: 1 } },
      ...store.yaml,
    }),
  );
  const gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, (_, at) =>
      startGateway({
        ...platform.env,
        ...secrets,
        ...INSPECTED,
        PLATFORM_BASE_URL: `http://127.0.0.1:${platformProxy.port}`,
        GATEWAY_CONFIG: file,
        ...store.envOf(at),
      }),
    ),
  );
  const keys = new Map<TeamId, IssuedKey>();
  for (const [id, advertisers] of Object.entries(TEAMS) as [TeamId, (typeof TEAMS)[TeamId]][])
    keys.set(
      id,
      await newTeam(gateways[0] as Gateway, {
        id,
        advertisers,
        writeGuard: GUARD,
        // Far beyond what a run of hours asks: its refusals would take the place of the load.
        limits: { requestsPerMinute: 1_000_000, maxConcurrent: 10_000, upstreamCallsPerDay: 100_000_000 },
        scopes: ['report:read', 'platform:read', 'platform:write', 'cache:refresh', 'mcp'],
      }),
    );
  for (const { data } of gateways)
    for (const { key } of keys.values())
      await waitFor('a key', async () => (await ask(`${data}/gateway/v1/me`, { key })).status === 200);
  return {
    platform,
    sim,
    platformProxy,
    redisProxies,
    gateways,
    keys,
    /** No answer and no line of a log may hold one of them. */
    secrets: new Set([
      platform.token,
      ...Object.values(secrets),
      ...[...keys.values()].map(({ key }) => key),
    ]),
    async end() {
      await platformProxy.set({ kind: 'none' });
      for (const proxy of redisProxies) await proxy.set({ kind: 'none' });
      await Promise.all(gateways.map((gateway) => gateway.end('SIGTERM')));
      await platform.close();
      for (const proxy of [platformProxy, ...redisProxies]) await proxy.close();
    },
  };
}
