/** Teams, keys, token and the rest of the registry in Redis, changed by somebody else before a gateway starts on them. */
import { Redis } from 'ioredis';
import { DamagedRecord } from '../../../../src/lib/record.js';
import { SealError } from '../../../../src/platform/credential/seal.js';
import { startSimulator } from '../../../../src/simulator/simulator.js';
import { type Store, StoreUnavailable } from '../../../../src/store/port.js';
import { createRedisStore } from '../../../../src/store/redis/redis-store.js';
import { StoreRefused } from '../../../../src/store/refused.js';
import type { Chance } from '../../../simulation/chance-of-seed.js';
import { startRedis } from '../../../support/redis.js';
import { startGatewayAt, type TestGateway } from '../../../support/start-gateway.js';
import { createTestClock } from '../../../support/test-clock.js';
import { damaged } from './damage.js';
import { mutated } from './mutate.js';
import type { Target } from './target.js';

const PREFIX = 'fuzz';
const [OWN, FOREIGN] = [1, 2];
/** What a start, or an answer, may say of a registry that cannot be read. */
const REFUSALS = [StoreRefused, StoreUnavailable, SealError, DamagedRecord];
const PERIOD = 'dateFrom=2026-11-18&dateTo=2026-11-19';

export async function registry(): Promise<Target> {
  const clock = createTestClock();
  const redis = await startRedis();
  const client = new Redis(redis.url);
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  const logger = { info() {}, warn() {}, error() {} };
  const openStore = () => createRedisStore({ connection: { url: redis.url }, prefix: PREFIX, clock, logger });
  const startAt = (sharedStore: Store) =>
    startGatewayAt(simulator, { clock, sharedStore, logLevel: 'silent' });
  const before = await openStore();
  const first = await startAt(before);
  const key = await first.addTeam({ advertisers: [OWN] });
  await first.addTeam({ id: 'other', ipAllow: ['10.0.0.0/8'] });
  await first.close();
  await before.close();
  const pristine = await dumped(client);

  return {
    name: 'The registry in Redis',
    what: 'Records of teams, keys and the token are changed before a gateway starts: it says what is wrong, or refuses, or answers; never what the team may not see.',
    async tryOne(chance) {
      await restored(client, pristine);
      const changes = [await change(client, chance)];
      if (chance.is(0.3)) changes.push(await change(client, chance));
      const wrong = await started(openStore, startAt, (gateway) => asked(gateway, key));
      return wrong === null ? null : `${changes.join(', ')}: ${wrong}`;
    },
    async close() {
      client.disconnect();
      await simulator.close();
      await redis.close();
    },
  };
}

/** Starts on what is there, and ends it. @returns what is wrong; a start that refuses by a word for it is not */
async function started(
  openStore: () => Promise<Store>,
  startAt: (store: Store) => Promise<TestGateway>,
  look: (gateway: TestGateway) => Promise<string | null>,
): Promise<string | null> {
  let store: Store | null = null;
  try {
    store = await openStore();
    const gateway = await startAt(store);
    try {
      return await look(gateway);
    } finally {
      await gateway.close();
    }
  } catch (error) {
    return REFUSALS.some((kind) => error instanceof kind)
      ? null
      : `the start threw ${error instanceof Error ? error.stack : String(error)}`;
  } finally {
    await store?.close();
  }
}

async function asked(gateway: TestGateway, key: string): Promise<string | null> {
  for (const advertiser of [OWN, FOREIGN]) {
    const { status, text } = await gateway.report(key, `advertiserId=${advertiser}&byDate=1&${PERIOD}`);
    if (status === 200 && advertiser === FOREIGN)
      return `advertiser ${FOREIGN} was shown: ${text.slice(0, 200)}`;
    if (status === 500) return `advertiser ${advertiser} was answered ${text.slice(0, 300)}`;
  }
  return null;
}

type Dump = ReadonlyMap<string, Buffer>;

async function dumped(client: Redis): Promise<Dump> {
  const all = new Map<string, Buffer>();
  for (const key of await client.keys(`${PREFIX}:*{registry}*`)) {
    const bytes = await client.dumpBuffer(key);
    if (bytes !== null) all.set(key, bytes);
  }
  return all;
}

async function restored(client: Redis, pristine: Dump): Promise<void> {
  await client.flushall();
  for (const [key, bytes] of pristine) await client.restore(key, 0, bytes, 'REPLACE');
}

/** Changes a field of a hash, or loses a key of another kind. @returns what was done */
async function change(client: Redis, chance: Chance): Promise<string> {
  const key = chance.pick((await client.keys(`${PREFIX}:*{registry}*`)).sort());
  const type = await client.type(key);
  if (type !== 'hash' || chance.is(0.03)) {
    await client.del(key);
    return `${key} (${type}) was lost`;
  }
  const fields = (await client.hkeys(key)).sort();
  const field = chance.pick(fields);
  const value = (await client.hgetBuffer(key, field)) ?? Buffer.alloc(0);
  if (chance.is(0.6)) {
    const text = mutated(value.toString(), chance);
    await client.hset(key, field, text);
    return `${key} ${field} became ${JSON.stringify(text.slice(0, 300))}`;
  }
  const other = (await client.hgetBuffer(key, chance.pick(fields))) ?? Buffer.alloc(0);
  const { bytes, how } = damaged(value, other, chance);
  if (bytes === null) await client.hdel(key, field);
  else await client.hset(key, field, bytes);
  return `${key} ${field} ${how}`;
}
