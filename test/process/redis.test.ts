/** Contract on a real Redis: replicas see each other's changes and cache; Redis lost, back, away and wrongly set up. */
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { createClock } from '../../src/lib/clock.js';
import { openStore } from '../../src/server/open-store.js';
import { admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { CAMPAIGN } from '../support/campaign.js';
import { type Env, launchGateway, type Platform, startGateway, startPlatform } from '../support/processes.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { freePort, startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&_period=last_7_days`;
const SECRETS = {
  GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
  ADMIN_TOKEN: 'an-admin-token-for-tests',
};

const codeOf = async (url: string, key: string): Promise<number | string> => {
  const answer = await ask(url, { key });
  return answer.status === 200 ? 200 : answer.json<{ code: string }>().code;
};

/** A Redis of its own, ended with the test. */
async function withRedis(
  use: (redis: Awaited<ReturnType<typeof startRedis>>) => Promise<void>,
  args: string[] = [],
) {
  const redis = await startRedis({ args });
  try {
    await use(redis);
  } finally {
    await redis.close();
  }
}

let platform: Platform;
let env: Env;
beforeAll(async () => {
  platform = await startPlatform();
  env = { ...platform.env, ...SECRETS };
});

describe.concurrent('two gateways on one Redis', () => {
  it('name the settings that one of them has otherwise, until it ends', async ({ expect }) => {
    await withRedis(async (redis) => {
      const settings = { ...env, REDIS_URL: redis.url };
      const [one, two] = await Promise.all([
        startGateway(settings),
        startGateway({ ...settings, PLATFORM_TIMEZONE: 'Europe/Berlin' }),
      ]);
      const saidBy = async (gateway: typeof one) => {
        const { verdict } = (await admin(gateway, 'GET', '/status')) as {
          verdict: { findings: { part: string; do: string }[] };
        };
        return verdict.findings.find(({ part }) => part === 'settings')?.do ?? 'nothing';
      };
      for (const gateway of [one, two])
        await within('the finding', 15_000, async () =>
          /with the same platform\.timezone, which/.test(await saidBy(gateway)),
        );
      await two.end('SIGTERM');
      await within('its end', 15_000, async () => (await saidBy(one)) === 'nothing');
      expect(await saidBy(one)).toBe('nothing');
    });
  });

  it('share one token, teams, keys, revocations, the cache and purges; a campaign is made once', async ({
    expect,
  }) => {
    const own = await startPlatform({ switches: { latencyMs: 200 } });
    await withRedis(async (redis) => {
      const settings = { ...own.mintEnv, ...SECRETS, REDIS_URL: redis.url };
      const [one, two] = await Promise.all([startGateway(settings), startGateway(settings)]);
      const sim = simulatorOf(own.url);
      const vaults = await Promise.all([admin(one, 'GET', '/token'), admin(two, 'GET', '/token')]);
      expect(vaults[1]).toEqual(vaults[0]);
      expect((await sim.calls()).filter(({ path }) => path === '/oauth/token')).toHaveLength(1);
      await sim.set({ latencyMs: 0 });

      const { key, id } = await newTeam(one, { id: 'shared' });
      await within('the key on the other', 1000, async () => (await codeOf(two.data + QUERY, key)) === 200);
      expect(await admin(two, 'GET', '/teams/shared')).toMatchObject({ id: 'shared', advertisers: '*' });

      await sim.forget();
      const first = await ask(`${one.data}${REPORT}?advertiserId=2&byDate=1&_period=last_7_days&x=1`, {
        key,
      });
      expect(first.headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
      const second = await ask(`${two.data}${REPORT}?x=1&byDate=true&advertiserId=2&_period=last_7_days`, {
        key,
      });
      expect(second.headers['cache-status']).toMatch(/^dsp-gateway; hit; ttl=\d+; detail=store$/);
      expect(second.text).toBe(first.text);
      expect(second.headers.etag).toBe(first.headers.etag);
      expect(await sim.calls()).toHaveLength(1);

      await admin(two, 'POST', '/cache/purge', { advertiserId: 2 });
      await within('the purge on the first', 1000, async () => {
        const again = await ask(`${one.data}${REPORT}?advertiserId=2&byDate=1&_period=last_7_days&x=1`, {
          key,
        });
        return again.headers['cache-status'] === 'dsp-gateway; fwd=miss; stored';
      });

      const token = await sim.issueToken();
      await admin(one, 'POST', '/token/rotate', { token, force: true });
      await within('the new token on the other', 1000, async () => {
        await ask(`${two.data}${REPORT}?advertiserId=3&_period=yesterday`, {
          key,
          headers: { 'cache-control': 'no-cache' },
        });
        return (await sim.calls()).at(-1)?.headers.authorization === `Bearer ${token}`;
      });

      await admin(one, 'PATCH', '/teams/shared', { advertisers: [2] });
      await within(
        'the shorter list on the other',
        1000,
        async () => (await codeOf(two.data + QUERY, key)) === 'advertiser_forbidden',
      );
      await admin(two, 'DELETE', `/keys/${id}`);
      await within(
        'the revocation on the first',
        1000,
        async () => (await codeOf(one.data + QUERY, key)) === 'revoked_api_key',
      );

      const buyers = await newTeam(one, { id: 'buyers' });
      await waitFor(
        'the key',
        async () => (await ask(`${two.data}/gateway/v1/me`, { key: buyers.key })).status === 200,
      );
      const create = (at: number, name: string) =>
        ask(`${(at % 2 === 0 ? one : two).data}/api/v1/campaign/create`, {
          method: 'POST',
          key: buyers.key,
          json: CAMPAIGN,
          headers: { 'idempotency-key': name },
        });
      const all = await Promise.all(Array.from({ length: 20 }, (_, at) => create(at, 'shared')));
      const [made, ...replayed] = all.filter(({ status }) => status < 300);
      for (const { text } of replayed) expect(text).toBe(made?.text);
      for (const at of [0, 1]) {
        const again = await create(at, 'shared');
        expect([again.text, again.headers['idempotency-replayed']]).toEqual([made?.text, 'true']);
      }
      await redis.kill();
      const away = await waitFor('the store missed', async () => {
        const answer = await create(0, 'away');
        return answer.json<{ code?: string }>().code === 'not_ready' && answer;
      });
      expect(Number(away.headers['retry-after'])).toBeGreaterThan(0);
      const sent = (await sim.calls()).filter(({ path }) => path.endsWith('/create'));
      expect(sent).toHaveLength(1);
      for (const gateway of [one, two]) await gateway.end('SIGKILL');
    });
  });
});

/** The status, 0 while nobody listens. */
async function askedQuietly(url: string): Promise<number> {
  return ask(url).then(
    ({ status }) => status,
    () => 0,
  );
}

/** Waits, and says when it took longer than promised. */
async function within(what: string, ms: number, look: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  await waitFor(what, look);
  const tookMs = performance.now() - startedAt;
  // The machine may be busy with other tests; five times the promise is no matter of speed any more.
  if (tookMs > 5 * ms) throw new Error(`${what} took ${Math.round(tookMs)} ms, promised are ${ms}`);
}

describe.concurrent('a Redis that fails', () => {
  it('is done without while it is gone, and used again when it is back', async ({ expect }) => {
    await withRedis(
      async (redis) => {
        const gateway = await startGateway({ ...env, REDIS_URL: redis.url });
        const { key } = await newTeam(gateway, { id: 'faithful' });
        const url = gateway.data + QUERY;
        expect((await ask(url, { key })).status).toBe(200);

        await redis.kill();
        const kept = await ask(url, { key });
        expect([kept.status, kept.headers['cache-status']]).toEqual([
          200,
          expect.stringMatching(/detail=l1$/),
        ]);
        const fresh = await ask(`${gateway.data}${REPORT}?advertiserId=4&_period=yesterday`, { key });
        expect(fresh.status).toBe(200);
        expect(fresh.headers['cache-status']).toBe('dsp-gateway; fwd=miss; detail=degraded');
        const refused = await ask(`${gateway.admin}/admin/v1/teams`, {
          method: 'POST',
          bearer: gateway.adminToken,
          json: { id: 'never' },
        });
        expect(refused.status).toBe(503);
        expect(refused.json()).toMatchObject({ code: 'not_ready' });
        const health = await waitFor('a store that is away', async () => {
          const { store } = (await ask(`${gateway.data}/readyz`)).json<{ store: string }>();
          return store !== 'ok' && store;
        });
        expect(health).not.toContain('redis://');
        // Keys known in memory go on being accepted: not ready is for what cannot answer.
        expect((await ask(`${gateway.data}/readyz`)).status).toBe(200);

        await redis.restart();
        await waitFor(
          'a store that is back',
          async () => (await ask(`${gateway.data}/readyz`)).json<{ store: string }>().store === 'ok',
        );
        const again = await ask(`${gateway.data}${REPORT}?advertiserId=5&_period=yesterday`, { key });
        expect(again.headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
        const { teams } = await admin<{ teams: { id: string }[] }>(gateway, 'GET', '/teams');
        expect(teams.map(({ id }) => id)).toEqual(['faithful']);
        await newTeam(gateway, { id: 'later' });
        await gateway.end('SIGTERM');
      },
      ['--appendonly', 'yes'],
    );
  });

  it('gets back what it held when it comes back empty: keys go on, also in a process that starts later', async ({
    expect,
  }) => {
    await withRedis(async (redis) => {
      const settings = { ...env, REDIS_URL: redis.url };
      const gateway = await startGateway(settings);
      const { key } = await newTeam(gateway, { id: 'lost' });
      expect(await codeOf(gateway.data + QUERY, key)).toBe(200);
      await redis.restart();
      await waitFor('the registry to be put back', async () => {
        const audit = await ask(`${gateway.admin}/admin/v1/audit`, { bearer: gateway.adminToken });
        const { entries = [] } = audit.json() as { entries?: { action: string }[] };
        return entries.some(({ action }) => action === 'registry.restore');
      });
      expect(await codeOf(gateway.data + QUERY, key)).toBe(200);
      const later = await startGateway(settings);
      expect(await codeOf(later.data + QUERY, key)).toBe(200);
      await later.end('SIGTERM');
      await gateway.end('SIGTERM');
    });
  });

  it('is waited for when it is away at the start: alive, not ready, then ready', async ({ expect }) => {
    const [dataPort, redisPort] = [await freePort(), await freePort()];
    const gateway = await launchGateway({
      ...env,
      PORT: String(dataPort),
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    });
    const url = `http://127.0.0.1:${dataPort}`;
    const alive = await waitFor(
      'a process that lives',
      () => ask(`${url}/healthz`).catch(() => false),
      gateway,
    );
    expect(alive).toMatchObject({ status: 200 });
    const ready = await ask(`${url}/readyz`);
    expect([ready.status, ready.json()]).toEqual([503, expect.objectContaining({ ready: false })]);
    const report = await ask(url + QUERY, { key: 'any' });
    expect([report.status, report.json()]).toEqual([503, expect.objectContaining({ code: 'not_ready' })]);
    expect(report.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(report.headers['retry-after']).toMatch(/^[1-9]\d*$/);

    const redis = await startRedis({ port: redisPort });
    try {
      await waitFor('readiness', async () => (await askedQuietly(`${url}/readyz`)) === 200, gateway);
      expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
    } finally {
      await redis.close();
    }
  });

  it('may not evict keys, or the start is refused; another may hold the registry', async ({ expect }) => {
    await withRedis(
      async ({ url }) => {
        const open = (more: Env = {}) =>
          openStore(
            loadConfig({ ...env, REDIS_URL: url, ...more }),
            createClock(),
            createRecordedLog().logger,
            () => Promise.reject(new Error('it is there')),
          );
        await expect(open()).rejects.toThrow(/allkeys-lru.*REDIS_REGISTRY_URL/);
        await withRedis(async (registry) => {
          const apart = await open({ REDIS_REGISTRY_URL: registry.url });
          await apart.registry.commit({ writes: new Map([['team/a', '{}']]) });
          await apart.close();
          await registry.restart();
          const emptied = await open({ REDIS_REGISTRY_URL: registry.url });
          expect((await emptied.registry.load()).records.size).toBe(0);
          await emptied.close();
        });
      },
      ['--maxmemory', '32mb', '--maxmemory-policy', 'allkeys-lru'],
    );
  });
});
