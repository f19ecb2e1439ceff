/** What Redis holds of reports, changed by somebody else between two questions. */
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { startSimulator } from '../../../../src/simulator/simulator.js';
import { createRedisStore } from '../../../../src/store/redis/redis-store.js';
import type { Chance } from '../../../simulation/chance-of-seed.js';
import { startRedis } from '../../../support/redis.js';
import { reportIn, startGatewayAt } from '../../../support/start-gateway.js';
import { createTestClock, DAY } from '../../../support/test-clock.js';
import { damaged } from './damage.js';
import type { Target } from './target.js';

const PREFIX = 'fuzz';
const DAYS_BACK = 40;
const LONGEST_DAYS = 10;
/** So many values are changed before one question. */
const MOST_CHANGES = 6;
/** Of another type than the gateway keeps, for so long: then the entry can be written anew. */
const OTHER_TYPE_MS = 1_000;

export async function entries(): Promise<Target> {
  const clock = createTestClock();
  const redis = await startRedis();
  const client = new Redis(redis.url);
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  const logger = { info() {}, warn() {}, error() {} };
  const store = await createRedisStore({ connection: { url: redis.url }, prefix: PREFIX, clock, logger });
  const config = { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } };
  const options = { clock, config, logLevel: 'error', sharedStore: store } as const;
  const gateway = await startGatewayAt(simulator, options);
  const key = await gateway.addTeam();

  /** @returns what is wrong with the answer; null: it is what the platform says */
  async function ask(chance: Chance): Promise<string | null> {
    const ago = chance.between(1, DAYS_BACK);
    const [dateFrom, dateTo] = [ago, Math.max(1, ago - chance.below(LONGEST_DAYS))].map((days) =>
      new Date(clock.now() - days * DAY).toISOString().slice(0, 10),
    ) as [string, string];
    const advertiserId = chance.between(1, 2);
    const byDate = chance.is(0.5);
    const reply = await gateway.report(
      key,
      `advertiserId=${advertiserId}${byDate ? '&byDate=1' : ''}&dateFrom=${dateFrom}&dateTo=${dateTo}`,
    );
    const question = `advertiser ${advertiserId}${byDate ? ' by date' : ''} from ${dateFrom} to ${dateTo}`;
    if (reply.status !== 200) return `${question} was answered ${reply.status}: ${reply.text.slice(0, 300)}`;
    const truth = simulator.truth({ advertiserId, byDate, dateFrom, dateTo });
    return isDeepStrictEqual(reportIn(reply).data, JSON.parse(JSON.stringify(truth)))
      ? null
      : `${question} was answered ${reply.text.slice(0, 600)}`;
  }

  return {
    name: 'Entries and days of the cache in Redis',
    what: 'Bytes of entries and days are changed, cut off, emptied, exchanged with those of others, or of another type; each answer is what the platform says, as without a cache.',
    async tryOne(chance) {
      const before = await ask(chance);
      if (before !== null) return before;
      // What is written behind an answer is not to undo a change.
      await gateway.services.settled();
      const changes: string[] = [];
      for (let left = chance.between(1, MOST_CHANGES); left > 0; left -= 1)
        changes.push(await change(client, chance));
      const wrong = await ask(chance);
      return wrong === null ? null : `${changes.join(', ')}: ${wrong}`;
    },
    async close() {
      await gateway.close();
      await store.close();
      await simulator.close();
      client.disconnect();
      await redis.close();
    },
  };
}

/** Changes an entry, or a field of a month of days. @returns what was done */
async function change(client: Redis, chance: Chance): Promise<string> {
  const names = [`${PREFIX}:*:cache:*`, `${PREFIX}:*:days:{*}:????-??`].map((pattern) =>
    client.keys(pattern),
  );
  const keys = (await Promise.all(names)).flat().sort();
  if (keys.length === 0) return 'nothing';
  const key = chance.pick(keys);
  if (chance.is(0.1)) {
    await client.multi().del(key).lpush(key, 'of another type').pexpire(key, OTHER_TYPE_MS).exec();
    return `${key} became a list`;
  }
  const place = await placeIn(client, key, chance);
  if (place === null) return `${key} was of another type`;
  const other = await placeIn(client, chance.is(0.5) ? key : chance.pick(keys), chance);
  const { bytes, how } = damaged(place.value, other?.value ?? Buffer.alloc(0), chance);
  await place.set(bytes);
  return `${key} ${JSON.stringify(place.name)} ${how}`;
}

/** The value of an entry, or of a field of a month; null: the key is of another type. */
async function placeIn(client: Redis, key: string, chance: Chance) {
  const type = await client.type(key);
  if (type === 'string')
    return {
      name: '',
      value: (await client.getBuffer(key)) ?? Buffer.alloc(0),
      set: (bytes: Buffer | null) => (bytes === null ? client.del(key) : client.set(key, bytes, 'KEEPTTL')),
    };
  if (type !== 'hash') return null;
  const name = chance.pick((await client.hkeys(key)).sort());
  return {
    name,
    value: (await client.hgetBuffer(key, name)) ?? Buffer.alloc(0),
    set: (bytes: Buffer | null) => (bytes === null ? client.hdel(key, name) : client.hset(key, name, bytes)),
  };
}
