/** Leases, presence, quotas and bus. Presence and quotas must not be evicted: they have an index of their ends. */
import { startTimer } from '../../lib/time.js';
import { byId, wholeMs } from '../check-input.js';
import { createListeners } from '../listeners.js';
import { type Bus, CLOCK_LEAD_MAX_MS, type Leases, type Presence, type Quotas } from '../port.js';
import { checkGive, checkTake, describeGrant, leftIn, NO_TAKER, TAKERS_MAX } from '../quota-bucket.js';
import type { StoreLog } from '../refused.js';
import { evaluate } from './batches.js';
import { disconnect, type RedisClient, retryDelayMs } from './connect.js';
import { answersOf, describeFailure } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { ENDS, pairsOf, script } from './script.js';

/** By PUBLISH and SUBSCRIBE. Messages published while the connection is away are lost. */
export class RedisBus implements Bus {
  readonly #listeners;

  /**
   * @param subscriber used only for subscriptions
   * @param keyOf the name of a channel in Redis
   */
  constructor(
    readonly link: Link,
    private subscriber: RedisClient,
    readonly keyOf: (channel: string) => string,
    readonly closeMs: number,
    readonly logger: StoreLog,
  ) {
    const onFirst = (channel: string) => this.#subscribe([channel]);
    const onLast = (channel: string) => {
      // A message that still arrives finds no listener.
      if (this.subscriber.status === 'ready') this.subscriber.unsubscribe(channel).catch(() => {});
    };
    this.#listeners = createListeners({ logger, onFirst, onLast });
    this.#attend(subscriber);
  }

  readonly publish: Bus['publish'] = async (channel, message) => {
    await this.link.call('publish', (client) => client.publish(this.keyOf(channel), message));
  };

  readonly subscribe: Bus['subscribe'] = (channel, listener, onGap) =>
    this.#listeners.add(this.keyOf(channel), listener, onGap);

  async swap(next: RedisClient): Promise<void> {
    const previous = this.subscriber;
    this.subscriber = next;
    this.#attend(next);
    this.#subscribe(this.#listeners.channels());
    await disconnect(previous, this.closeMs);
  }

  close(): Promise<void> {
    return disconnect(this.subscriber, this.closeMs);
  }

  #attend(client: RedisClient): void {
    client.on('message', (channel: string, message: string) => {
      if (client === this.subscriber) this.#listeners.deliver(channel, message);
    });
    client.on('ready', () => {
      if (client === this.subscriber) this.#subscribe(this.#listeners.channels());
    });
  }

  /** Does nothing while the connection is away: its next start subscribes to all channels. */
  #subscribe(channels: string[], attempt = 1): void {
    const client = this.subscriber;
    if (channels.length === 0 || client.status !== 'ready') return;
    const failed = (error: unknown) => {
      const fault = describeFailure(error);
      if (attempt === 1) this.logger.warn({ channels, fault }, NOT_SUBSCRIBED);
      startTimer(() => {
        if (client === this.subscriber) this.#subscribe(channels.filter(this.#listeners.has), attempt + 1);
      }, retryDelayMs(attempt)).unref();
    };
    client.subscribe(...channels).then(() => this.#listeners.tellOfGap(channels), failed);
  }
}

const NOT_SUBSCRIBED = 'cannot subscribe to the bus yet; changes are found by polling meanwhile';

/**
 * ARGV: owner, milliseconds. One 1 or 0 per key. Sent whole each time: a script that is sent again after the server has lost it
 * would be overtaken by later reads.
 */
const CLAIM = `
local held = {}
for i, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if not owner or owner == ARGV[1] then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
    held[i] = 1
  else
    held[i] = 0
  end
end
return held`;

/** ARGV: owner, milliseconds. One 1 or 0 per key. */
const renewLeases = script<number[]>('dgwRenew')`
local held = {}
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    held[i] = redis.call('PEXPIRE', key, ARGV[2])
  else
    held[i] = 0
  end
end
return held`;

/** ARGV: owner; then, for news, the channel and the message. */
const releaseLeases = script<number>('dgwRelease')`
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
if ARGV[2] then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
return 1`;

/** Leases as keys with the owner as value, which expire by the server's clock. */
export function createRedisLeases(link: Link, keys: Keys): Leases {
  return {
    async claim(names, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      const held = await link.call('eval', (client) =>
        evaluate(client, 'eval', CLAIM, names.map(keys.lease), [owner, ms]),
      );
      return (held as number[]).map((one) => one === 1);
    },
    async renew(names, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      const held = await renewLeases(link, names.map(keys.lease), [owner, ms]);
      return held.map((one) => one === 1);
    },
    async release(names, owner, news) {
      if (names.length === 0) return;
      const message = news === undefined ? [] : [keys.channel(news.channel), news.message];
      await releaseLeases(link, names.map(keys.lease), [owner, ...message]);
    },
  };
}

/** KEYS: ends, the set of ids, the info of this id. ARGV: id, info, milliseconds. In the first versions the set expired. */
const beat = script<number>('dgwBeat')`${ENDS}
redis.call('SET', KEYS[3], ARGV[2])
redis.call('ZADD', ends, now + ARGV[3], KEYS[3])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PERSIST', KEYS[2])
return 1`;

/** KEYS: ends, the set of ids. A flat list of id and info; lapsed ids leave the set. */
const listPresent = script<string[]>('dgwPresent')`${ENDS}
collect(1000)
local present = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local info = redis.call('GET', KEYS[2] .. ':' .. id)
  if info then
    present[#present + 1] = id
    present[#present + 1] = info
  else redis.call('SREM', KEYS[2], id) end
end
return present`;

/** A key for each id, the set of ids, and the ends. */
export function createRedisPresence(link: Link, { presence: { ends, ids } }: Keys): Presence {
  const keyOf = (id: string) => `${ids}:${id}`;
  return {
    async beat(id, info, ttlMs) {
      await beat(link, [ends, ids, keyOf(id)], [id, info, wholeMs(ttlMs, 1)]);
    },
    async leave(id) {
      await link.call('pipeline', async (client) =>
        answersOf(await client.pipeline().del(keyOf(id)).srem(ids, id).zrem(ends, keyOf(id)).exec()),
      );
    },
    async list() {
      const present = pairsOf(await listPresent(link, [ends, ids], []));
      return present.map(([id, info]) => ({ id, info })).sort(byId);
    },
  };
}

/**
 * A bucket is a hash of a QuotaBucket's `used` and `at`, and `by:` and id for each taker, computed as `takeFrom` does in
 * quota-bucket.ts, with exact numbers.
 * KEYS: ends, bucket. ARGV: want, capacity, refill per millisecond, now, milliseconds to live; the taker's id, or '', taken,
 * unconfirmed, known.
 */
const takePermits = script<[granted: number, used: string, atMs: string]>('dgwTake')`${ENDS}
local bucket = KEYS[2]
local want, capacity, refill, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local by, taken, unconfirmed, known = 'by:' .. ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local found = lives(bucket) and redis.call('HMGET', bucket, 'used', 'at', by) or {}
local used, at = tonumber(found[1] or known), tonumber(found[2] or asked)
local had = tonumber(found[3] or taken - unconfirmed)
if refill > 0 then used = math.min(used, capacity) end
if asked > at then
  used = math.max(0, used - (asked - at) * refill)
  at = asked
elseif at - asked > ${CLOCK_LEAD_MAX_MS} then at = asked end
local late, lost = math.max(0, taken - had), math.max(0, had - taken)
local granted = math.min(want, lost + math.max(0, math.floor(capacity - used - late)))
local fresh = math.max(0, granted - lost)
used = string.format('%.17g', used + late + fresh)
at = string.format('%.17g', at)
if want > 0 or late > 0 then
  -- Takers of a bucket that ended are not those of this one.
  if not found[1] or redis.call('HLEN', bucket) > ${TAKERS_MAX} then redis.call('UNLINK', bucket) end
  local taker = {}
  if by ~= 'by:' then taker = {by, string.format('%.0f', had + late + fresh)} end
  redis.call('HSET', bucket, 'used', used, 'at', at, unpack(taker))
  redis.call('ZADD', ends, now + ARGV[5], bucket)
  collect(10)
end
return {granted, used, at}`;

/** KEYS: ends, bucket. ARGV: permits. The use afterwards; null without a bucket. */
const givePermits = script<string | null>('dgwGive')`${ENDS}
local used = lives(KEYS[2]) and redis.call('HGET', KEYS[2], 'used')
if not used then return false end
used = string.format('%.17g', math.max(0, tonumber(used) - tonumber(ARGV[1])))
redis.call('HSET', KEYS[2], 'used', used)
return used`;

/** Token buckets as hashes that do not expire by themselves. */
export function createRedisQuotas(link: Link, { quotas: { ends, bucket } }: Keys): Quotas {
  return {
    async take(key, take) {
      checkTake(take);
      const { want, capacity, refillPerMs, nowMs, taker = NO_TAKER } = take;
      const { id, taken, unconfirmed, known } = taker;
      const ttlMs = wholeMs(take.ttlMs, 1);
      const args = [want, capacity, refillPerMs, nowMs, ttlMs, id, taken, unconfirmed, known];
      const [granted, used, atMs] = await takePermits(link, [ends, bucket(key)], args);
      return describeGrant({ used: Number(used), atMs: Number(atMs) }, granted, take);
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      const used = await givePermits(link, [ends, bucket(key)], [count]);
      return leftIn({ used: Number(used ?? 0) }, capacity);
    },
  };
}
