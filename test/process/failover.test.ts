/** A Redis that comes back without what it had acknowledged: nobody who was revoked is let in again. */
import { randomBytes } from 'node:crypto';
import { readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSentinels } from '../store/redis/topologies.js';
import { type Answer, admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { CAMPAIGN } from '../support/campaign.js';
import { openRedisScene } from '../support/on-redis.js';
import { type Gateway, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import type { RedisServer } from '../support/redis.js';
import { DAY, MINUTE } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;

describe('guarded writes of two gateways, whose Redis Sentinel fails over in the middle', () => {
  const PATH = '/api/v1/campaign/create';
  const [EACH, A_DAY, BEFORE] = [10, 600, 20];
  const GUARD = { [`POST ${PATH}`]: { budget: { field: 'body.budget.total', maxPerDay: A_DAY } } };
  const json = { ...CAMPAIGN, budget: { daily: 1, total: EACH } };

  async function tell(port: number, command: string, ...args: (string | number)[]): Promise<unknown> {
    const client = new Redis(port, '127.0.0.1');
    try {
      return await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  }

  async function openOnSentinel() {
    const [platform, sentinels] = await Promise.all([startPlatform(), startSentinels()]);
    onTestFinished(sentinels.close);
    const { sentinelPort, name } = sentinels;
    const config = join(await tempFolder(), 'gateway.yaml');
    const redis = {
      sentinels: [{ host: '127.0.0.1', port: sentinelPort }],
      sentinelName: name,
      minReplicas: 1,
    };
    await writeFile(config, JSON.stringify({ redis }));
    const env = {
      ...platform.env,
      GATEWAY_CONFIG: config,
      GATEWAY_TEST_CLOCK: '1',
      GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
      ADMIN_TOKEN: 'an-admin-token-for-tests',
    };
    const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
    // Noon, so that no day ends in the middle.
    await admin(one, 'PUT', '/clock', { offsetMs: 1.5 * DAY - (Date.now() % DAY) });
    const { key } = await newTeam(one, { id: 'guarded', writeGuard: GUARD });
    return { one, two, key, sentinels, simulator: simulatorOf(platform.url) };
  }

  // The hardest way to go: its connections stay open, and it goes on as a primary when it is back.
  it(
    'spend what the day has and no more: the primary stands still, and comes back as a replica',
    async () => {
      const { one, two, key, sentinels, simulator } = await openOnSentinel();
      const { primary, replica, sentinelPort, name } = sentinels;
      const codes = new Map<string, number>();
      const create = async ({ data }: Gateway, query = '') => {
        const answer = await ask(`${data}${PATH}${query}`, { method: 'POST', key, json });
        const { code = String(answer.status) } = answer.json<{ code?: string }>();
        return { ...answer, code };
      };
      for (const gateway of [one, two])
        await waitFor('the team', async () => (await create(gateway, '?_dryRun=1')).status === 200, gateway);
      let gone: Promise<void> | null = null;
      const refused = () => codes.get('write_guard_unavailable') ?? 0;
      const failOver = async () => {
        primary.pause();
        await waitFor('the failover', async () => {
          const found = (await tell(sentinelPort, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as string[];
          return Number(found[1]) === replica.port;
        });
        primary.resume();
        // Until a sentinel has seen it, which takes ten seconds, it takes writes as a primary.
        const before = refused();
        await waitFor('refusals', async () => refused() > before + 10);
        await tell(primary.port, 'REPLICAOF', '127.0.0.1', replica.port);
        await tell(primary.port, 'CLIENT', 'KILL', 'TYPE', 'normal');
      };
      const spend = async (gateway: Gateway) => {
        const { code } = await create(gateway);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if ((codes.get('201') ?? 0) >= BEFORE) gone ??= failOver();
        return code;
      };
      const spendAll = (gateway: Gateway) =>
        expect.poll(() => spend(gateway), { timeout: MINUTE, interval: 50 }).toBe('write_guard_refused');
      await Promise.all([one, two].flatMap((gateway) => [1, 2, 3].map(() => spendAll(gateway))));
      await gone;

      const sent = (await simulator.calls()).filter(({ path }) => path === PATH).length;
      expect(sent).toBeGreaterThan(BEFORE);
      expect(sent * EACH).toBeLessThanOrEqual(A_DAY);
      for (const gateway of [one, two]) {
        const { left } = (await create(gateway, '?_dryRun=1')).json<{ left: { amount: number } }>();
        expect(sent * EACH).toBeLessThanOrEqual(A_DAY - left.amount);
      }
      expect(['201', 'write_guard_refused', 'write_guard_unavailable']).toEqual(
        expect.arrayContaining([...codes.keys()]),
      );
      expect(refused()).toBeGreaterThan(0);
    },
    3 * MINUTE,
  );
});

describe('a Redis that syncs each second and loses power', () => {
  /** @returns loses power: what was written since that moment had not reached the disk */
  async function losePowerSince(redis: RedisServer): Promise<() => Promise<void>> {
    const client = new Redis(redis.url);
    const [, dir = ''] = (await client.config('GET', 'dir')) as string[];
    client.disconnect();
    const folder = join(dir, 'appendonlydir');
    const [written = ''] = (await readdir(folder)).filter((file) => file.endsWith('.incr.aof'));
    const file = join(folder, written);
    const { size } = await stat(file);
    return async () => {
      await redis.kill();
      expect((await stat(file)).size).toBeGreaterThan(size);
      await truncate(file, size);
      await redis.restart();
    };
  }

  it('is given back what it has lost, and says so; what was revoked, stopped or purged stays so', async () => {
    const args = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0'];
    const { platform, redis, env } = await openRedisScene({}, {}, args);
    const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
    const { key } = await newTeam(one, { id: 'good' });
    const leaked = await newTeam(one, { id: 'leaked' });
    const get = ({ data }: Gateway, by = key) => ask(data + QUERY, { key: by });
    const rowsOf = (answer: Answer) => JSON.stringify(answer.json<{ data: unknown }>().data);
    for (const gateway of [one, two])
      await waitFor('the keys', async () => (await get(gateway, leaked.key)).status === 200, gateway);
    const purged = rowsOf(await get(one));
    const losePower = await losePowerSince(redis);

    const [row] = JSON.parse(purged) as { date: string }[];
    const day = { advertiserId: 1, from: row?.date, to: row?.date };
    await ask(`${platform.url}/_sim/restate`, { method: 'POST', json: day });
    await admin(one, 'POST', '/cache/purge', { all: true });
    await admin(two, 'DELETE', `/keys/${leaked.id}`);
    await admin(one, 'POST', '/writes/stop', { team: 'good', reason: 'a test' });
    await admin(two, 'PATCH', '/teams/good', { advertisers: [1] });
    const token = await simulatorOf(platform.url).issueToken();
    await admin(one, 'POST', '/token/rotate', { token, force: true });
    const { active } = await admin<{ active: { id: string } }>(one, 'GET', '/token');
    const later = await newTeam(one, { id: 'later' });
    const restated = rowsOf(await get(one));
    expect(restated).not.toBe(purged);
    for (const gateway of [one, two])
      await waitFor('the last change', async () => (await get(gateway, later.key)).status === 200, gateway);

    const seen = new Set<string>();
    const look = async (gateway: Gateway) => {
      const answer = await get(gateway);
      seen.add(answer.status === 200 ? rowsOf(answer) : String(answer.status));
      seen.add(`leaked ${(await get(gateway, leaked.key)).status}`);
    };
    await losePower();
    await waitFor('the mending', async () => {
      await Promise.all([look(one), look(two)]);
      return /restored from memory/.test(one.stdout + two.stdout);
    });
    const fresh = await startGateway(env);
    for (const gateway of [one, two, fresh]) {
      await waitFor('health', async () => (await ask(`${gateway.data}/readyz`)).json().store === 'ok');
      await look(gateway);
      expect((await get(gateway, later.key)).status).toBe(200);
      expect(await admin(gateway, 'GET', '/writes')).toMatchObject({ teams: [{ team: 'good' }] });
      expect(await admin(gateway, 'GET', '/teams/good')).toMatchObject({ advertisers: [1] });
      expect(await admin(gateway, 'GET', '/token')).toMatchObject({ active: { id: active.id } });
    }
    expect([...seen].toSorted()).toEqual([restated, 'leaked 401'].toSorted());
    const statuses = await Promise.all(
      [one, two].map((gateway) => admin<{ store: { lastLoss: object | null } }>(gateway, 'GET', '/status')),
    );
    expect(statuses.filter(({ store }) => store.lastLoss !== null)).toMatchObject([
      { store: { loss: null, lastLoss: { outcome: 'restored' } } },
    ]);
    const { entries } = await admin<{ entries: { action: string; after: object }[] }>(fresh, 'GET', '/audit');
    expect(entries.filter(({ action }) => action === 'registry.mend')).toMatchObject([
      {
        after: {
          records: expect.arrayContaining(['vault', `key/${leaked.id}`, 'team/later', 'writes/team/good']),
        },
      },
    ]);
  });
});
