/** The token changed, refused and lost while two gateways on one Redis are under load; by a file, and by its age. */
import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  admin,
  ask,
  type IssuedKey,
  newTeam,
  type PlatformCall,
  REPORT,
  simulatorOf,
} from '../support/ask.js';
import { type Env, type Gateway, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { DAY } from '../support/test-clock.js';
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

async function openFleet() {
  const redis = await startRedis();
  const platform = await startPlatform({ switches: { latencyMs: 5 } });
  const env: Env = {
    ...platform.mintEnv,
    ...platform.env,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    REDIS_URL: redis.url,
    PLATFORM_PROBE: PROBE,
  };
  const gateways = await Promise.all([startGateway(env), startGateway(env)]);
  const [first] = gateways;
  // Limits are not what is looked at here.
  const limits = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 1000 };
  const team = await newTeam(first, { id: 'loaded', limits });
  for (const { data } of gateways) {
    await waitFor('the key', async () => (await ask(data + CACHED, { key: team.key })).status === 200);
  }
  return { platform, redis, gateways, first, team, sim: simulatorOf(platform.url) };
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

type Fleet = Awaited<ReturnType<typeof openFleet>>;

describe('two gateways under load', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await openFleet();
    return () => fleet.redis.close();
  });

  it('never use a wrong token but to prove it, once', async () => {
    const { gateways, first, team, sim } = fleet;
    const before = await admin<Vault>(first, 'GET', '/token');
    const load = startLoad(gateways, team);
    await more(load, 30);
    const refused = await rotate(first, { token: 'copied-from-elsewhere' });
    expect([refused.status, refused.json().code]).toEqual([409, 'verification_failed']);
    await more(load, 60);
    expect(await load.stop()).toEqual([]);
    const wrong = (await sim.calls()).filter((call) => tokenOf(call) === 'Bearer copied-from-elsewhere');
    expect(wrong.map(({ url }) => url)).toEqual([PROBE]);
    for (const gateway of gateways) expect(await admin(gateway, 'GET', '/token')).toEqual(before);
  });

  it('change to another token without one failed request, all of them within 1.2 s', async () => {
    const { platform, gateways, first, team, sim } = fleet;
    await sim.forget();
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
    expect(vaults).toEqual([vaults[0], vaults[0]]);
    // The old token was good to its end: what was under way finished with the one it started with.
    expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200, 404]));
  });

  it('recover a token that the platform revokes by one token request, and no caller sees it', async () => {
    const { gateways, team, sim } = fleet;
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
    const { gateways, team, sim } = fleet;
    await sim.fault({ kind: 'status', status: 503, path: '/oauth/token', times: 0 });
    await sim.revoke();
    await sim.forget();
    const { key } = team;
    const [fresh, cached] = [new Set<string>(), new Set<string>()];
    const endsAt = Date.now() + 2000;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, index) => {
        const { data } = gateways[index % gateways.length] as Gateway;
        while (Date.now() < endsAt) {
          const unknown = await ask(`${data}${REPORT}?advertiserId=2&dateFrom=2026-01-01&dateTo=2026-01-03`, {
            key,
          });
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
      return (
        (await ask(`${data}${REPORT}?advertiserId=2&dateFrom=2026-01-01&dateTo=2026-01-03`, { key }))
          .status === 200
      );
    });
  });
});

/** A mounted secret: `token` leads through `..data` to a folder, and an update swaps `..data` (kubelet does so). */
async function mountSecret() {
  const folder = await tempFolder();
  let version = 0;
  async function put(token: string): Promise<void> {
    version += 1;
    const data = join(folder, `..${version}`);
    await mkdir(data);
    await writeFile(join(data, 'token'), `${token}\n`);
    await symlink(`..${version}`, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await rm(join(folder, `..${version - 1}`), { recursive: true, force: true });
  }
  await symlink('..data/token', join(folder, 'token'));
  return { path: join(folder, 'token'), put };
}

it('a mounted token that is swapped is proven and taken over; a wrong one changes nothing; an old one warns', async () => {
  const [platform, secret] = await Promise.all([startPlatform(), mountSecret()]);
  await secret.put(platform.token);
  const gateway = await startGateway({
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TOKEN_FILE: secret.path,
    PLATFORM_PROBE: PROBE,
    GATEWAY_TEST_CLOCK: '1',
  });
  const { key } = await newTeam(gateway, { id: 'mounted' });
  const sim = simulatorOf(platform.url);
  const used = async () => {
    await sim.forget();
    await ask(`${gateway.data}/api/v1/campaign/9`, { key });
    return (await sim.calls()).filter(({ path }) => path.endsWith('/9')).map(tokenOf);
  };
  await secret.put('copied-from-elsewhere');
  await waitFor('the refusal', () => /stays pending/.test(gateway.stdout), gateway);
  expect(await used()).toEqual([`Bearer ${platform.token}`]);
  const next = await sim.issueToken();
  await secret.put(next);
  await waitFor('the new token', async () => (await used()).join() === `Bearer ${next}`);

  await admin(gateway, 'PUT', '/clock', { offsetMs: 355.5 * DAY });
  await waitFor('the warning', () => /expires in 9 days \(assumed\)/.test(gateway.stdout), gateway);
  const { text } = await ask(`${gateway.admin}/metrics`);
  expect(text).toMatch(/^dsp_gateway_token_expiry_warning_days 14$/m);
});

it('a token from the token request is renewed 30 days ahead, though nobody asks', async () => {
  const platform = await startPlatform();
  const gateway = await startGateway({ ...platform.mintEnv, GATEWAY_TEST_CLOCK: '1' });
  const before = await admin<Vault>(gateway, 'GET', '/token');
  await admin(gateway, 'PUT', '/clock', { offsetMs: 334 * DAY });
  expect(await admin(gateway, 'GET', '/token')).toEqual(before);
  // Past the jitter, which is a tenth of the 30 days at most.
  await admin(gateway, 'PUT', '/clock', { offsetMs: 339 * DAY });
  const renewed = await waitFor('another token', async () => {
    const now = await admin<Vault>(gateway, 'GET', '/token');
    return now.active?.id !== before.active?.id && now;
  });
  expect(renewed.previous?.id).toBe(before.active?.id);
});
