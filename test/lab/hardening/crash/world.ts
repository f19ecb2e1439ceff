/** Gateways that are killed: on one folder, or on one Redis that writes down every change before it answers. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { admin, ask, newTeam, simulatorOf } from '../../../support/ask.js';
import { CAMPAIGN } from '../../../support/campaign.js';
import {
  type Env,
  type Gateway,
  startGateway,
  startPlatform,
  tempFolder,
} from '../../../support/processes.js';
import { type RedisServer, startRedis } from '../../../support/redis.js';
import { waitFor } from '../../../support/wait-for.js';

export const CREATE = '/api/v1/campaign/create';
/** What each guarded write costs. */
export const EACH = 10;
/** More than any run sends: what is looked at is that everything sent was charged. */
export const MAX_A_DAY = 1_000_000_000;
/** Of the team whose writes are charged. */
const GUARD = { [`POST ${CREATE}`]: { budget: { field: 'body.budget.total', maxPerDay: MAX_A_DAY } } };
const REDIS_DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

export interface World {
  readonly name: string;
  readonly what: string;
  readonly gateways: readonly Gateway[];
  readonly redis: RedisServer | null;
  readonly sim: ReturnType<typeof simulatorOf>;
  /** What was answered while Redis was away may not have been written down. */
  readonly redisIsKilled: boolean;
  /** Of a team that may do everything, without a guard and with one. */
  readonly keys: { readonly free: string; readonly guarded: string };
  /** Kills one of them, waits until it is gone, and starts it again. @param chance from 0 to 1: which one */
  strike(chance: number): Promise<void>;
  /** Ends them all. */
  end(): Promise<void>;
}

export interface Kind {
  readonly name: string;
  readonly what: string;
  readonly count: number;
  /** By the number of the gateway where they differ. */
  readonly env: Env | ((at: number) => Env);
  /** Arguments of its Redis, in the place of those that sync each change. */
  readonly redisArgs?: readonly string[];
  readonly victim: 'gateway' | 'either';
}

export const KINDS: readonly Kind[] = [
  {
    name: 'Embedded store',
    what: 'A gateway is killed (SIGKILL) among changes and writes, and started again on its folder.',
    count: 1,
    env: {},
    victim: 'gateway',
  },
  {
    name: 'Redis that syncs each change',
    what: 'A gateway, or its Redis (appendfsync always), is killed among changes and writes, and started again.',
    count: 1,
    env: {},
    victim: 'either',
  },
  {
    name: 'Three replicas, one at a time',
    what: 'One of three gateways on one Redis is killed among changes and writes, while the others go on.',
    count: 3,
    env: {},
    victim: 'gateway',
  },
];

export async function openWorld({ name, what, count, env, redisArgs, victim }: Kind): Promise<World> {
  const platform = await startPlatform();
  const isEmbedded = name.startsWith('Embedded');
  const redis = isEmbedded ? null : await startRedis({ args: redisArgs ?? REDIS_DURABLE });
  const settings: Env = {
    ...platform.env,
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    GATEWAY_DATA_DIR: join(await tempFolder(), 'data'),
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-of-the-crashes',
  };
  const settingsOf = (at: number): Env => ({ ...settings, ...(typeof env === 'function' ? env(at) : env) });
  const gateways: Gateway[] = [];
  for (let at = 0; at < count; at += 1) gateways.push(await startGateway(settingsOf(at)));
  const [first] = gateways as [Gateway];
  const free = (await newTeam(first, { id: 'free' })).key;
  const guarded = (await newTeam(first, { id: 'guarded', writeGuard: GUARD })).key;

  async function allAnswer(): Promise<void> {
    for (const gateway of gateways)
      for (const key of [free, guarded])
        await waitFor('an answer', async () => (await askMe(gateway, key)) === 200, gateway);
  }

  await allAnswer();
  return {
    name,
    what,
    gateways,
    redis,
    sim: simulatorOf(platform.url),
    keys: { free, guarded },
    redisIsKilled: victim === 'either',
    async strike(chance) {
      if (redis !== null && victim === 'either' && chance < 0.5) await redis.restart();
      else {
        const at = Math.floor(chance * gateways.length);
        await (gateways[at] as Gateway).end('SIGKILL');
        gateways[at] = await startGateway(settingsOf(at));
      }
      await allAnswer();
    },
    async end() {
      for (const gateway of gateways) await gateway.end('SIGTERM');
      await platform.close();
      await redis?.close();
    },
  };
}

/** @returns the status, 0 where nobody answers */
export async function askMe(gateway: Gateway, key: string): Promise<number> {
  return await ask(`${gateway.data}/gateway/v1/me`, { key }).then(
    ({ status }) => status,
    () => 0,
  );
}

export async function activeToken(gateway: Gateway): Promise<string> {
  const { active } = await admin<{ active: { id: string } }>(gateway, 'GET', '/token');
  return active.id;
}

/** A write as callers make it. @param name tells it from all others at the platform */
export function create(gateway: Gateway, key: string, name: string, idempotencyKey?: string, query = '') {
  return ask(`${gateway.data}${CREATE}${query}`, {
    method: 'POST',
    key,
    json: { ...CAMPAIGN, name, budget: { daily: 1, total: EACH } },
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  });
}

/** What is left to guarded writes, and of which day; else what was answered. */
export async function leftOfDay(
  gateway: Gateway,
  guarded: string,
): Promise<{ readonly amount: number; readonly day: string } | string> {
  const looked = await create(gateway, guarded, 'look', undefined, '?_dryRun=1');
  const { left } = looked.json<{ left?: { amount: number; day: string } }>();
  return left ?? `a dry run answered ${looked.status} ${looked.text.slice(0, 100)}`;
}
