/** The token changed, refused and lost while three gateways on one Redis are under load over 8 connections. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  admin,
  ask,
  type IssuedKey,
  newTeam,
  type PlatformCall,
  REPORT,
  simulatorOf,
} from '../support/ask.js';
import { type Env, type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const CACHED = `${REPORT}?advertiserId=1&byDate=1&_period=last_7_days`;
const PROBE = `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-01`;
const CONNECTIONS = 8;
/** The promise: all replicas are on the new token by then. */
const FOLLOWED_MS = 1200;

interface Shown {
  readonly id: string;
  readonly source: string;
}
type Vault = Record<'active' | 'pending' | 'previous', Shown | null>;

/** The way a platform is reached: with a pasted token, or with the token request. */
async function openFleet(way: 'paste' | 'mint') {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const platform = await startPlatform(['--switch', 'latencyMs=5']);
  const env: Env = {
    ...(way === 'paste' ? platform.env : platform.mintEnv),
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    REDIS_URL: redis.url,
    PLATFORM_PROBE: PROBE,
  };
  const gateways = await Promise.all([startGateway(env), startGateway(env), startGateway(env)]);
  onTestFinished(async () => {
    for (const gateway of gateways) await gateway.end('SIGTERM');
  });
  const [first] = gateways as [Gateway, Gateway, Gateway];
  // Limits are not what is looked at here.
  const limits = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 1000 };
  const team = await newTeam(first, { id: 'loaded', limits });
  for (const { data } of gateways) {
    await waitFor('the key', async () => (await ask(data + CACHED, { key: team.key })).status === 200);
  }
  return { platform, gateways, first, team, sim: simulatorOf(platform.url) };
}

interface Load {
  /** Requests answered so far. */
  readonly answered: number;
  /** Lets what is under way finish. @returns what was no success, empty when all went well */
  stop(): Promise<string[]>;
}

/** 8 connections that ask all gateways in turn: cached reports, fresh ones, and what is passed through. */
function startLoad(gateways: readonly Gateway[], { key }: IssuedKey): Load {
  const failed: string[] = [];
  let [sent, answered, stopped] = [0, 0, false];
  const targets = [
    () => ({ path: CACHED, headers: {} }),
    () => ({
      path: `${REPORT}?advertiserId=${(sent % 6) + 1}&_period=yesterday`,
      headers: { 'cache-control': 'no-cache' },
    }),
    () => ({ path: '/api/v1/campaign/999999999', headers: {} }),
  ];
  async function connection(): Promise<void> {
    while (!stopped) {
      const { path, headers } = (targets[sent % targets.length] as (typeof targets)[0])();
      const gateway = gateways[Math.floor(sent / targets.length) % gateways.length] as Gateway;
      sent += 1;
      const { status, text } = await ask(gateway.data + path, { key, headers });
      // The platform knows no such campaign, and says so: it has answered.
      if (status !== 200 && !(status === 404 && path.includes('/campaign/')))
        failed.push(`${status} ${text}`);
      answered += 1;
    }
  }
  const connections = Array.from({ length: CONNECTIONS }, connection);
  return {
    get answered() {
      return answered;
    },
    async stop() {
      stopped = true;
      await Promise.all(connections);
      return failed;
    },
  };
}

/** Waits for that many further answers, so that what follows happens amid the load. */
async function more(load: Load, count: number): Promise<void> {
  const from = load.answered;
  await waitFor('answers under load', () => load.answered >= from + count);
}

const rotate = ({ admin: url, adminToken }: Gateway, json: object) =>
  ask(`${url}/admin/v1/token/rotate`, { method: 'POST', bearer: adminToken, json });
const tokenOf = ({ headers }: PlatformCall): string => headers.authorization ?? 'none';
const isMint = ({ path }: PlatformCall): boolean => path === '/oauth/token';
const isReport = ({ path }: PlatformCall): boolean => path.startsWith('/api/v1/');

describe('three gateways under load', () => {
  it('change to another token without one failed request, all of them within 1.2 s', async () => {
    const { platform, gateways, first, team, sim } = await openFleet('paste');
    const token = await sim.issueToken();
    const load = startLoad(gateways, team);
    await more(load, 60);
    const askedAt = Date.now();
    expect((await rotate(first, { token })).status).toBe(200);
    const rotatedAt = Date.now();
    await pause(FOLLOWED_MS);
    await more(load, 60);
    expect(await load.stop()).toEqual([]);

    const calls = (await sim.calls()).filter(isReport);
    const late = calls.filter(({ at }) => at > rotatedAt + FOLLOWED_MS);
    expect(late.length).toBeGreaterThan(10);
    expect(new Set(late.map(tokenOf))).toEqual(new Set([`Bearer ${token}`]));
    const before = calls.filter(({ at }) => at < askedAt);
    expect(new Set(before.map(tokenOf))).toEqual(new Set([`Bearer ${platform.token}`]));
    const vaults = await Promise.all(gateways.map((gateway) => admin<Vault>(gateway, 'GET', '/token')));
    expect(vaults[0]?.active?.source).toBe('staged');
    expect(vaults).toEqual([vaults[0], vaults[0], vaults[0]]);
    // The old token was good to its end: what was under way finished with the one it started with.
    expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200, 404]));
  });

  it('never use a wrong token but to prove it, once', async () => {
    const { gateways, first, team, sim } = await openFleet('paste');
    const before = await admin<Vault>(first, 'GET', '/token');
    const load = startLoad(gateways, team);
    await more(load, 30);
    const refused = await rotate(first, { token: 'copied-from-elsewhere' });
    expect([refused.status, refused.json()]).toEqual([
      409,
      expect.objectContaining({ code: 'verification_failed' }),
    ]);
    await more(load, 60);
    expect(await load.stop()).toEqual([]);
    const wrong = (await sim.calls()).filter((call) => tokenOf(call) === 'Bearer copied-from-elsewhere');
    expect(wrong.map(({ url }) => url)).toEqual([PROBE]);
    for (const gateway of gateways) expect(await admin(gateway, 'GET', '/token')).toEqual(before);
  });

  it('recover a token that the platform revokes by one token request, and no caller sees it', async () => {
    const { gateways, team, sim } = await openFleet('mint');
    await sim.forget();
    const load = startLoad(gateways, team);
    await more(load, 60);
    await sim.revoke();
    await more(load, 200);
    expect(await load.stop()).toEqual([]);
    const calls = await sim.calls();
    expect(calls.filter(isMint)).toHaveLength(1);
    expect(calls.filter(({ status }) => status === 401).length).toBeGreaterThan(0);
    const vaults = await Promise.all(gateways.map((gateway) => admin<Vault>(gateway, 'GET', '/token')));
    expect(new Set(vaults.map(({ active }) => active?.id)).size).toBe(1);
  });

  it('go on with what is cached when no other token is to be had, asking for one at most 3 times in a burst', async () => {
    const { gateways, team, sim } = await openFleet('mint');
    await sim.fault({ kind: 'status', status: 503, path: '/oauth/token', times: 0 });
    await sim.revoke();
    await sim.forget();
    const { key } = team;
    const [fresh, cached] = [new Set<string>(), new Set<string>()];
    const endsAt = Date.now() + 3000;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, index) => {
        const { data } = gateways[index % gateways.length] as Gateway;
        while (Date.now() < endsAt) {
          const unknown = await ask(`${data}${REPORT}?advertiserId=2&_period=yesterday`, { key });
          fresh.add(`${unknown.status} ${unknown.json<{ code: string }>().code}`);
          expect(unknown.headers['retry-after']).toMatch(/^[1-9]\d*$/);
          const kept = await ask(data + CACHED, { key });
          cached.add(`${kept.status} ${kept.headers['cache-status']?.split(';')[1]}`);
          await pause(20);
        }
      }),
    );
    expect(fresh).toEqual(new Set(['503 credential_unavailable']));
    expect(cached).toEqual(new Set(['200  hit']));
    const mints = (await sim.calls()).filter(isMint);
    expect(mints.length).toBeGreaterThanOrEqual(1);
    expect(mints.length).toBeLessThanOrEqual(3);

    await sim.clearFaults();
    await waitFor('a token again', async () => {
      const { data } = gateways[0] as Gateway;
      return (await ask(`${data}${REPORT}?advertiserId=2&_period=yesterday`, { key })).status === 200;
    });
  });
});
