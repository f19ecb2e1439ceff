import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { FEED_START } from '../../../src/store/changes-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import {
  createRedisStore,
  type RedisStore,
  type RedisStoreOptions,
} from '../../../src/store/redis/redis-store.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { waitFor } from '../../support/wait-for.js';
import { monthWrite } from '../conformance-days.js';
import { bodiesOf, keep } from '../entries.js';
import { createTestLog, type TestLog } from '../test-log.js';

/** Of a store whose calls are meant to end by their timeout. */
export const TIMEOUT_MS = 150;
export const HASTY = { timeoutMs: TIMEOUT_MS, registryTimeoutMs: TIMEOUT_MS } as const;
/** Of all others: what no call takes, on a machine however busy. */
const PATIENT = { timeoutMs: 20_000, registryTimeoutMs: 20_000 } as const;
/** What no call may take, on a machine however busy: a multiple of the timeout, and far below ioredis's own waits. */
export const FAR_TOO_LONG_MS = 20 * TIMEOUT_MS;

export async function openStore(
  url: string,
  options: Partial<RedisStoreOptions> = {},
): Promise<{ store: RedisStore; log: TestLog }> {
  const log = createTestLog();
  const store = await createRedisStore({
    connection: { url },
    ...PATIENT,
    logger: log,
    clock: createClock(),
    ...options,
  });
  return { store, log };
}

/** A client of the test's own, to look at a server from outside of the store. */
export async function withControl<T>(url: string, use: (control: Redis) => Promise<T>): Promise<T> {
  const control = new Redis(url);
  try {
    return await use(control);
  } finally {
    control.disconnect();
  }
}

/** One call of each kind that the store has. */
export function everyCall(store: RedisStore): Promise<unknown>[] {
  const {
    cache,
    days,
    changes,
    oldPins,
    pins,
    leases,
    registry,
    counters,
    documents,
    quotas,
    presence,
    bus,
  } = store;
  return [
    bodiesOf(cache, ['{k}1']),
    keep(cache, [{ key: '{k}1', value: Buffer.from('v'), ttlMs: 60_000, version: 1 }]),
    days.read('s', [{ month: '2026-03', days: [1] }]),
    days.parts({ series: 's', month: '2026-03' }, ['a']),
    days.earlier({ series: 's', month: '2026-03' }, [1]),
    days.whole({ series: 's', month: '2026-03' }),
    days.write([monthWrite(0, 'index')]),
    days.write([{ ...monthWrite(0, 'index', { told: { text: 'told', count: 1 } }), month: '2026-04' }]),
    days.claim('s', { owner: 'ann', names: ['a'], leaseMs: 60_000, known: [] }),
    days.renew('s', { owner: 'ann', names: ['a'], leaseMs: 60_000 }),
    days.release('s', { owner: 'ann', names: ['a'] }),
    days.used([{ series: 's', month: '2026-03' }], 1),
    days.unused(1),
    days.months(null, 1),
    days.remove({ series: 's', month: '2026-03' }, 0),
    days.relist(() => false),
    changes.read(FEED_START, 1),
    changes.newest(),
    changes.append({ text: 'told', count: 1 }),
    changes.trim(1000),
    oldPins.index('t:0'),
    oldPins.rows('t:0', ['a']),
    oldPins.write('t:0', { stamp: 1, bytes: Buffer.from('i') }, []),
    oldPins.owners(null, 1),
    oldPins.remove('t:0'),
    store.removeOldLayout(() => false),
    pins.read('t:0', ['a']),
    pins.write('t:0', { stamp: 0, index: Buffer.from('i'), added: new Map(), removed: [] }),
    pins.list(null, 1),
    pins.remove('t:0'),
    leases.claim(['{k}1'], 'ann', 60_000),
    leases.renew(['{k}1'], 'ann', 60_000),
    leases.release(['{k}1'], 'ann'),
    registry.load(),
    registry.changes('epoch', 0),
    registry.commit({ writes: new Map([['a', '1']]) }),
    registry.readAudit(1),
    counters.add('batch', [{ group: 'a', field: 'b', by: 1 }], [], 60_000),
    counters.read(['a']),
    documents.create('a', 'one', 60_000),
    documents.get('a'),
    documents.replace('a', 'one', 'two', 60_000),
    quotas.take('a', { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: 60_000 }),
    quotas.give('a', 1, 1),
    presence.beat('a', '', 60_000),
    presence.leave('a'),
    presence.list(),
    bus.publish('news', 'hello'),
  ];
}

/** All of them fail, as the port says, and in time. */
export async function expectUnavailable(calls: readonly Promise<unknown>[]): Promise<void> {
  const startedMs = performance.now();
  const outcomes = await Promise.allSettled(calls);
  expect(performance.now() - startedMs).toBeLessThan(FAR_TOO_LONG_MS);
  for (const outcome of outcomes) {
    expect(outcome.status).toBe('rejected');
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StoreUnavailable);
  }
}

/** Tries again until the store answers. */
export async function untilItWorks<T>(call: () => Promise<T>): Promise<T> {
  const { answer } = await waitFor('an answer of the store', async () => {
    try {
      return { answer: await call() };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return null;
    }
  });
  return answer;
}

/** A server that is closed when the test is over. */
export async function startServer(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  onTestFinished(() => server.close());
  return server;
}

/** One server for all tests of a file, emptied before each. */
export function serverOfFile(): Pick<RedisServer, 'url' | 'port'> {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(() => withControl(server.url, (control) => control.flushall()));
  afterAll(() => server?.close());
  return {
    get url() {
      return server.url;
    },
    get port() {
      return server.port;
    },
  };
}

/** How many connections of the gateway a server has. */
export async function countConnections(url: string): Promise<number> {
  return await withControl(url, async (control) => {
    const clients = String(await control.client('LIST'));
    return clients.match(/name=dsp-gateway/g)?.length ?? 0;
  });
}
