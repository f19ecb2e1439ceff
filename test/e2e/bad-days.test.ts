/** The bad days, as an operator lives them: `status` and `doctor` give a verdict, and name the next step. */
import { readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Ran, runCli } from '../cli/run-cli.js';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import {
  type Env,
  type Gateway,
  launchGateway,
  type Platform,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { freePort, startRedis } from '../support/redis.js';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});

interface Checked {
  readonly level: string;
  readonly checks: readonly {
    readonly name: string;
    readonly level: string;
    readonly says: string;
    readonly do: string;
  }[];
}

const operator = (gateway: Gateway, env: Env = {}) => {
  const all = {
    PLATFORM_BASE_URL: platform.url,
    GATEWAY_ADMIN_URL: gateway.admin,
    ADMIN_TOKEN: gateway.adminToken,
    GATEWAY_DATA_DIR: gateway.dataDir,
    ...env,
  };
  return (line: string, input?: string): Promise<Ran> => runCli(line.split(' '), all, input);
};
const checkOf = (ran: Ran, name: string) => ran.json<Checked>().checks.find((check) => check.name === name);
const report = async (gateway: Gateway, key: string) =>
  (await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key })).status;

describe('a fresh gateway', () => {
  it('has no token: the verdict says so, the first rotation works, and junk that is forced in is unproven', async () => {
    const gateway = await startGateway({ PLATFORM_BASE_URL: platform.url });
    const cli = operator(gateway);
    const bare = await cli('status');
    expect([bare.code, bare.stderr]).toEqual([2, '']);
    expect(bare.stdout).toMatch(/^NOT WELL: there is no platform token.*\n {2}do: dsp-gateway token rotate/);
    const junk = await cli('token rotate', 'junk');
    expect([junk.code, junk.stderr]).toEqual([
      4,
      expect.stringContaining('refused the token; no token is active'),
    ]);
    expect(await cli('token rotate', platform.token)).toMatchObject({ code: 0, stderr: '' });
    expect((await cli('status')).stdout).toMatch(/^WELL\n/);
    expect(await cli('token rotate --force', 'junk')).toMatchObject({ code: 0 });
    const forced = await cli('status');
    expect([forced.code, forced.stdout]).toEqual([
      1,
      expect.stringMatching(/^WARNING: .*not answered a call with this token yet/),
    ]);
    const doctor = await cli('doctor --json');
    expect([doctor.code, checkOf(doctor, 'the token works')?.level]).toEqual([2, 'not well']);
    // Since when is known once it stands in the vault.
    const told = expect.poll(async () => (await cli('status')).stdout, { timeout: 20_000 });
    await told.toMatch(/^NOT WELL: the platform refuses the token since \d{4}-/);
    expect((await cli('status')).code).toBe(2);
    await gateway.end('SIGTERM');
  });

  it('becomes well by the first report, where the token was seeded and never proven', async () => {
    const gateway = await startGateway(platform.env);
    const cli = operator(gateway);
    const { key } = await newTeam(gateway, { id: 'growth', advertisers: [1] });
    expect((await cli('status')).stdout).toMatch(
      /^WARNING: the platform has not answered a call with this token yet/,
    );
    expect(await report(gateway, key)).toBe(200);
    await expect.poll(async () => (await cli('status')).code).toBe(0);
    await gateway.end('SIGTERM');
  });
});

describe('a lost master key', () => {
  it('stops the start with nothing written; forget-sealed keeps the teams, and the gateway begins anew', async () => {
    const dataDir = join(await tempFolder(), 'data');
    const env = { ...platform.env, GATEWAY_DATA_DIR: dataDir };
    const before = await startGateway(env);
    const { key } = await newTeam(before, { id: 'growth', advertisers: [1] });
    const whileRunning = await runCli(['store', 'forget-sealed', '--yes'], env);
    expect([whileRunning.code, whileRunning.stderr]).toEqual([
      78,
      expect.stringContaining('is in use by process'),
    ]);
    await before.end('SIGTERM');
    await rm(join(dataDir, 'master.key'));
    const names = await readdir(dataDir);
    const refused = await launchGateway(env);
    expect(await refused.exited).toEqual({ code: 78, signal: null });
    expect(refused.stderr).toContain(`${join(dataDir, 'master.key')} is gone`);
    expect(refused.stderr).toContain('dsp-gateway store forget-sealed');
    expect(await readdir(dataDir)).toEqual(names);
    const asked = await runCli(['store', 'forget-sealed'], env);
    expect([asked.code, asked.stderr]).toEqual([64, expect.stringContaining('--yes')]);
    const done = await runCli(['store', 'forget-sealed', '--yes'], env);
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringContaining('the platform token and 1 key. Kept: 1 team.\n'),
    ]);
    const after = await startGateway(env);
    expect(await report(after, key)).toBe(401);
    const cli = operator(after);
    expect((await cli('keys list growth --json')).json()).toEqual([]);
    const another = (await cli('keys issue growth --json')).json<{ key: string }>();
    expect(await report(after, another.key)).toBe(200);
    expect((await cli('audit --json')).stdout).toContain('registry.forget-sealed');
    await after.end('SIGTERM');
  });
});

it('where the admin token is, is told once', async () => {
  const gateway = await startGateway(platform.env);
  await gateway.end('SIGTERM');
  expect(gateway.stderr.match(/The admin token is in /g)).toHaveLength(1);
});

it('a store with nothing in it is not said to be forgotten, nor made', async () => {
  const folder = await tempFolder();
  const dataDir = join(folder, 'data');
  const none = await runCli(['store', 'forget-sealed', '--yes'], {
    ...platform.env,
    GATEWAY_DATA_DIR: dataDir,
  });
  expect([none.code, none.stdout, none.stderr]).toEqual([
    78,
    '',
    expect.stringContaining(`${dataDir} holds no team, key or token: nothing was changed`),
  ]);
  expect(await readdir(folder)).toEqual([]);
  const redis = await startRedis();
  const onRedis = await runCli(['store', 'forget-sealed', '--yes'], {
    ...platform.env,
    REDIS_URL: redis.url,
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_TOKEN: 'admin-token-of-a-test',
  });
  expect([onRedis.code, onRedis.stderr]).toEqual([
    78,
    expect.stringContaining('this Redis holds no team, key or token: nothing was changed'),
  ]);
  await redis.close();
});

describe('workers that cannot start', () => {
  it('end the whole at once, with the reason told once, where the port is taken', async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const other = createServer().listen(port, '127.0.0.1');
    const { env } = await openRedisScene();
    const gateway = await launchGateway({
      ...env,
      WORKERS: '2',
      PORT: `${port}`,
      ADMIN_PORT: `${adminPort}`,
    });
    expect(await gateway.exited).toEqual({ code: 1, signal: null });
    expect(gateway.stderr.match(/EADDRINUSE/g)).toHaveLength(1);
    expect(gateway.stderr).toContain('set PORT, ADMIN_PORT or METRICS_PORT to a free port');
    other.close();
  });
});

describe('doctor', () => {
  it('finds nothing wrong with a gateway that is well, and shows no secret', async () => {
    const gateway = await startGateway(platform.env);
    const { key } = await newTeam(gateway, { id: 'growth', advertisers: [1] });
    const ran = await operator(gateway)('doctor');
    expect(ran.stdout).toMatch(/\nWELL: \d+ well, 0 with a warning, 0 not well, \d+ not looked at\n$/);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).toMatch(/^ok +the token works: the platform answered the probe with status 200/m);
    expect(ran.stdout).toMatch(/^ok +keys: 1 valid$/m);
    for (const secret of [key, platform.token, gateway.adminToken]) expect(ran.stdout).not.toContain(secret);
    await gateway.end('SIGTERM');
  });

  it('does not call a gateway unwell because the shell has only its address and the admin token', async () => {
    const gateway = await startGateway(platform.env);
    await newTeam(gateway, { id: 'growth', advertisers: [1] });
    const env = { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken };
    const ran = await runCli(['doctor'], env);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).toMatch(/^– +this machine: not looked at: the settings of the running gateway/m);
    await gateway.end('SIGTERM');
  });

  it('does not open the store of a gateway that runs and is not found', async () => {
    const gateway = await startGateway(platform.env);
    const ran = await runCli(['doctor', '--json'], {
      ...platform.env,
      ADMIN_TOKEN: gateway.adminToken,
      GATEWAY_DATA_DIR: gateway.dataDir,
      GATEWAY_ADMIN_URL: `http://127.0.0.1:${await freePort()}`,
    });
    const { checks } = ran.json<{ checks: { name: string; level: string; says: string }[] }>();
    expect(checks.find(({ name }) => name === 'embedded store')).toMatchObject({
      level: 'skipped',
      says: expect.stringContaining("is the running gateway's"),
    });
    await gateway.end('SIGTERM');
  });

  it('looks at everything though the settings are wrong and nobody answers', async () => {
    const env = {
      GATEWAY_ADMIN_URL: `http://127.0.0.1:${await freePort()}`,
      ADMIN_TOKEN: 'x'.repeat(20),
      PORT: 'abc',
    };
    const ran = await runCli(['doctor', '--json'], {
      ...env,
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    });
    expect(ran.code).toBe(2);
    expect(checkOf(ran, 'settings')?.says).toContain('PORT: was "abc"');
    expect(checkOf(ran, 'Redis')).toMatchObject({
      level: 'not well',
      do: expect.stringContaining('start Redis at 127.0.0.1:'),
    });
    expect(checkOf(ran, 'gateway')).toMatchObject({
      level: 'not well',
      do: expect.stringContaining('dsp-gateway serve'),
    });
  });

  it('names the master key that is gone, and a folder that others can read', async () => {
    const gateway = await startGateway(platform.env);
    await gateway.end('SIGTERM');
    await rm(join(gateway.dataDir, 'master.key'));
    const ran = await operator(gateway)('doctor --json');
    expect(checkOf(ran, 'master key')).toMatchObject({
      level: 'not well',
      says: expect.stringContaining('master.key is gone'),
      do: expect.stringContaining('dsp-gateway store forget-sealed'),
    });
    expect(checkOf(ran, 'embedded store')).toMatchObject({
      level: 'well',
      says: expect.stringContaining('whole: '),
    });
  });

  it('judges how Redis evicts and keeps', async () => {
    const redis = await startRedis();
    const secrets = {
      GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      ADMIN_TOKEN: 'admin-token-of-a-test',
    };
    const gateway = await startGateway({ ...platform.env, ...secrets, REDIS_URL: redis.url });
    const ran = await operator(gateway, { ...secrets, REDIS_URL: redis.url })('doctor --json');
    expect(checkOf(ran, 'Redis')).toMatchObject({ level: 'well' });
    expect(checkOf(ran, 'Redis: eviction')).toMatchObject({
      level: 'well',
      says: 'maxmemory-policy noeviction',
    });
    expect(checkOf(ran, 'Redis: persistence')?.level).toBe('warning');
    await redis.close();
    await expect
      .poll(async () => (await operator(gateway, secrets)('status')).stdout)
      .toMatch(/^NOT WELL: Redis cannot be reached/);
    await gateway.end('SIGTERM');
  });
});

it('doctor advises a Redis that evicts what expires, and warns of one that evicts nothing', async () => {
  const evicting = await startRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', 'volatile-lru'] });
  const full = await startRedis({ args: ['--maxmemory', '64mb'] });
  const secrets = { GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), ADMIN_TOKEN: 'a'.repeat(32) };
  const eviction = async ({ url }: { readonly url: string }) =>
    checkOf(
      await runCli(['doctor', '--json'], { ...platform.env, ...secrets, REDIS_URL: url }),
      'Redis: eviction',
    );
  expect(await eviction(evicting)).toMatchObject({ level: 'well', says: 'maxmemory-policy volatile-lru' });
  expect(await eviction(full)).toMatchObject({
    level: 'warning',
    do: expect.stringContaining('volatile-lru'),
  });
  await Promise.all([evicting.close(), full.close()]);
});

it('a platform that is down: the verdict says that it is left alone', async () => {
  const own = await startPlatform();
  const gateway = await startGateway({ ...own.env, PLATFORM_TOKEN: own.token });
  const { key } = await newTeam(gateway, { id: 'growth', advertisers: [1] });
  await simulatorOf(own.url).fault({ kind: 'status', status: 500, times: 1000 });
  const cli = operator(gateway);
  await expect
    .poll(async () => {
      await report(gateway, key);
      return (await cli('status')).stdout;
    })
    .toMatch(
      /NOT WELL: the platform fails \(failing; asked again in \d+ s\).*\n {2}do: see that the platform is up/,
    );
  expect((await cli('status')).code).toBe(2);
  await gateway.end('SIGTERM');
});
