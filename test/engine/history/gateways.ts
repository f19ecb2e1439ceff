/** Gateways in this process that can be started anew over the same store, and whose days go away and comes back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { createRedisStore } from '../../../src/store/redis/redis-store.js';
import { createLog } from '../../../src/telemetry/logger.js';
import type { RedisServer } from '../../support/redis.js';
import { startGatewayAt, type TestGateway } from '../../support/start-gateway.js';
import type { TestClock } from '../../support/test-clock.js';

export interface GatewaysOptions {
  readonly platform: { readonly url: string; readonly token: string };
  readonly clock: TestClock;
  readonly config: Readonly<Record<string, unknown>>;
  /** Three replicas on it; one on a store of its own where there is none. */
  readonly redis?: RedisServer | undefined;
}

export interface Gateways {
  readonly count: number;
  at(replica: number): TestGateway;
  /** While it is set, every call of the store of days fails. */
  readonly outage: { away: boolean };
  /** Ends one and starts it anew; without Redis its store, too. */
  restart(replica: number): Promise<void>;
  /** Waits for work behind answers. */
  settled(): Promise<void>;
  /** Each knows what the registry holds, and what others have learned. */
  agreed(): Promise<void>;
  close(): Promise<void>;
}

const { logger } = createLog({ level: 'silent', stream: { write: () => {} }, secrets: () => [] });

let prefixes = 0;

export async function startGateways({ platform, clock, config, redis }: GatewaysOptions): Promise<Gateways> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-history-'));
  const prefix = `h${process.pid}-${++prefixes}`;
  const outage = { away: false };
  const openStore = (): Promise<Store> =>
    redis === undefined
      ? createEmbeddedStore({ dataDir: folder, cacheMaxBytes: 67_108_864, clock, logger })
      : createRedisStore({ connection: { url: redis.url }, prefix, timeoutMs: 5_000, clock, logger });
  const open = async () => {
    const store = await openStore();
    const gateway = await startGatewayAt(platform, {
      clock,
      config,
      logLevel: 'warn',
      sharedStore: store,
      wrapStore: (whole) => ({ ...whole, days: breakable(whole.days, outage) }),
    });
    return { store, gateway };
  };
  type Opened = Awaited<ReturnType<typeof open>>;
  const close = async ({ gateway, store }: Opened) => {
    await gateway.close();
    await store.close();
  };
  const all: Opened[] = [];
  for (let left = redis === undefined ? 1 : 3; left > 0; left -= 1) all.push(await open());
  const at = (replica: number) => all[replica % all.length] as Opened;
  return {
    count: all.length,
    outage,
    at: (replica) => at(replica).gateway,
    async restart(replica) {
      const place = replica % all.length;
      await close(at(place));
      all[place] = await open();
    },
    async settled() {
      for (const { gateway } of all) await gateway.services.settled();
    },
    async agreed() {
      for (const { gateway } of all) await gateway.services.registry.refresh();
    },
    async close() {
      for (const one of all) await close(one);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function breakable<T extends object>(part: T, outage: Gateways['outage']): T {
  return new Proxy(part, {
    get(target, name) {
      const call: unknown = Reflect.get(target, name);
      // Answered by the adapter itself.
      if (typeof call !== 'function' || name === 'room') return call;
      return async (...args: unknown[]) => {
        if (outage.away) throw new StoreUnavailable('away');
        return call.apply(target, args);
      };
    },
  });
}
