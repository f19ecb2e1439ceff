/** Guarded writes while Redis answers late: whatever is sent was reserved, and whoever is refused is told why. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { afterEachFile } from '../support/after-file.js';
import { ask, newTeam, simulatorOf } from '../support/ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const PATH = '/api/v1/campaign/create';
const EACH = 10;
const MAX_A_DAY = 1000;
const GUARD = { [`POST ${PATH}`]: { budget: { field: 'body.budget.total', maxPerDay: MAX_A_DAY } } };
const CAMPAIGN = {
  ...{ userId: 1, name: 'Autumn', adDomain: 'shop.example', clickUrl: 'https://shop.example/' },
  ...{ country: 'DE', dates: { from: '2027-01-01', to: '2027-02-01' }, bid: 1.5 },
  ...{ budget: { daily: 1, total: EACH }, creativeSetIds: [1] },
};

let platform: Platform;
let redis: RedisServer;
let gateway: Gateway;
let key: string;
let delayMs = 0;
/** Past the gateway, whose own way to Redis is late. */
let prompt: Gateway;

beforeAll(async () => {
  [platform, redis] = await Promise.all([startPlatform(), startRedis()]);
  afterEachFile(() => redis.close());
  const env = {
    ...platform.env,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
  };
  const late = await lateWayTo(redis.url);
  [gateway, prompt] = await Promise.all([
    startGateway({ ...env, REDIS_URL: late }),
    startGateway({ ...env, REDIS_URL: redis.url }),
  ]);
  ({ key } = await newTeam(prompt, { id: 'guarded', writeGuard: GUARD }));
  for (const one of [gateway, prompt])
    await waitFor('the team', async () => (await create(one, '?_dryRun=1')).status === 200, one);
});

/** @returns the address of a way to Redis on which each answer comes by `delayMs` later */
async function lateWayTo(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [near, far].map((one) => one.destroy()));
    }
    near.pipe(far);
    far.on('data', (bytes) => setTimeout(() => near.writable && near.write(bytes), delayMs));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterEachFile(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const create = (at: Gateway, query = '') =>
  ask(`${at.data}${PATH}${query}`, { method: 'POST', key, json: CAMPAIGN });
const left = async () =>
  (await create(prompt, '?_dryRun=1')).json<{ left: { amount: number } }>().left.amount;
const sent = async () => (await simulatorOf(platform.url).calls()).filter(({ path }) => path === PATH).length;

describe('Redis that answers late', () => {
  it.each([300, 1900, 2100, 4000])(
    'by %i ms: what is sent was reserved, all else is refused and given back',
    async (ms) => {
      const [leftBefore, sentBefore] = [await left(), await sent()];
      delayMs = ms;
      const answers = await Promise.all([1, 2, 3].map(() => create(gateway)));
      delayMs = 0;
      const done = answers.filter(({ status }) => status === 201).length;
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused.map((one) => [one.status, one.json<{ code: string }>().code])).toEqual(
        refused.map(() => [503, 'write_guard_unavailable']),
      );
      expect((await sent()) - sentBefore).toBe(done);
      // What was charged in vain is taken back when Redis answers in time again.
      await waitFor('what was given back', async () => leftBefore - (await left()) === done * EACH, gateway);
      await waitFor('writes again', async () => (await create(gateway)).status === 201, gateway);
    },
  );
});
