/** The feed of changes, while gateways and their Redis are killed: a consumer has what history has, and no change is lost. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { ask, daysBefore, newTeam, REPORT } from '../support/ask.js';
import { type Env, type Gateway, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const CHANGES = '/gateway/v1/changes';
const [ADVERTISERS, ROUNDS] = [[1, 2, 3], 8];
/** Each request finds its days stale. */
const SETTINGS = {
  report: {
    restatementDays: 45,
    crossCheckEvery: 0,
    freshness: { currentSeconds: 1, restatingSeconds: 1, staleWhileRevalidateSeconds: 0 },
    endpoints: { 'campaigns/get': { divisible: 'always' } },
  },
  redis: { timeoutMs: 2000 },
};

interface Message {
  readonly key: string;
  readonly value?: { readonly revision: string };
  readonly headers: { readonly operation: string; readonly kind: string };
}

/** Applies messages by key; takes any gateway that answers. */
function createConsumer(gateways: () => readonly Gateway[], key: string) {
  const state = new Map<string, string>();
  const repeated: string[] = [];
  let [offset, isOver] = ['-1', false];
  async function readOn(): Promise<boolean> {
    const all = gateways();
    const { data } = all[Math.floor(Math.random() * all.length)] as Gateway;
    const answer = await ask(`${data}${CHANGES}?offset=${offset}`, { key }).catch(() => null);
    if (answer === null || answer.status >= 500) return false;
    expect(answer.status, answer.text).toBe(200);
    for (const { key: name, value, headers } of answer.json<Message[]>()) {
      const id = value?.revision ?? '';
      if (headers.kind === 'restated' && state.get(name) === id) repeated.push(`${name} ${id}`);
      if (headers.operation === 'delete') state.delete(name);
      else state.set(name, id);
    }
    offset = String(answer.headers['stream-next-offset']);
    return answer.headers['stream-up-to-date'] === 'true';
  }
  const following = (async () => {
    while (!isOver) {
      await readOn();
      await pause(20);
    }
  })();
  return {
    state,
    repeated,
    readOn,
    async stop() {
      isOver = true;
      await following;
    },
  };
}

it('a consumer has exactly the newest revisions after gateways and Redis were killed in turn', async () => {
  const [platform, redis] = await Promise.all([
    startPlatform(),
    startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] }),
  ]);
  onTestFinished(() => redis.close());
  const settings = join(await tempFolder(), 'gateway.yaml');
  await writeFile(settings, JSON.stringify(SETTINGS));
  const env: Env = {
    ...platform.env,
    REDIS_URL: redis.url,
    GATEWAY_CONFIG: settings,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
  };
  const gateways = await Promise.all([startGateway(env), startGateway(env)]);
  const { key } = await newTeam(gateways[0] as Gateway, { id: 'loader' });
  const today = new Date().toISOString().slice(0, 10);
  const period = `dateFrom=${daysBefore(today, 20)}&dateTo=${daysBefore(today, 1)}`;
  const queryOf = (advertiser: number) => `advertiserId=${advertiser}&byDate=1&${period}`;
  const consumer = createConsumer(() => gateways, key);
  const askAll = (gateway: Gateway) =>
    Promise.all(
      ADVERTISERS.map((one) => ask(`${gateway.data}${REPORT}?${queryOf(one)}`, { key }).catch(() => null)),
    );
  for (let round = 0; round < ROUNDS; round += 1) {
    const day = daysBefore(today, 1 + (round % 20));
    for (const advertiserId of ADVERTISERS)
      await ask(`${platform.url}/_sim/restate`, {
        method: 'POST',
        json: { advertiserId, from: day, to: day },
      });
    await pause(1100);
    const victim = round % 2;
    // Killed while it writes what it has fetched.
    const asked = Promise.all([askAll(gateways[victim] as Gateway), askAll(gateways[1 - victim] as Gateway)]);
    await pause(10 * (round % 8));
    if (round % 4 === 3) await redis.restart();
    else await gateways[victim]?.end('SIGKILL');
    await asked;
    if (round % 4 !== 3) gateways[victim] = await startGateway(env);
  }
  await pause(1100);
  const last = gateways[0] as Gateway;
  await waitFor('all reports', async () => (await askAll(last)).every((one) => one?.status === 200));
  await consumer.stop();
  const newest = async () => {
    const days = new Map<string, string>();
    for (const advertiser of ADVERTISERS) {
      const query = encodeURIComponent(queryOf(advertiser));
      const answer = await ask(`${last.data}/gateway/v1/revisions?endpoint=campaigns/get&query=${query}`, {
        key,
      });
      for (const { date, revisions } of answer.json<{
        data: { date: string; revisions: { id: string; kind: string }[] }[];
      }>().data)
        days.set(`${advertiser} ${date}`, revisions.findLast(({ kind }) => kind !== 'void')?.id ?? '');
    }
    return [...days.values()].sort();
  };
  await waitFor('the newest revisions', async () => {
    const isAtEnd = await consumer.readOn();
    return isAtEnd && [...consumer.state.values()].sort().join() === (await newest()).join();
  });
  expect(consumer.repeated).toEqual([]);
});
