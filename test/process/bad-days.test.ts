/** The bad days, as an operator lives them: `status` and `doctor` give a verdict, and name the next step. */
import { readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Ran, runCli } from '../cli/run-cli.js';
import { ask, newTeam, REPORT } from '../support/ask.js';
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

const SECRETS = {
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ADMIN_TOKEN: 'an-admin-token-for-tests',
};
interface Checked {
  readonly checks: readonly { readonly name: string; readonly level: string }[];
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

it('a fresh gateway has no token: the verdict says so, the first rotation works, and forced junk is replaced by the token before', async () => {
  const cli = operator(await startGateway({ PLATFORM_BASE_URL: platform.url }));
  const bare = await cli('status');
  expect([bare.code, bare.stderr]).toEqual([2, '']);
  expect(bare.stdout).toMatch(
    /^NOT WELL: There is no platform token.*\n {2}since: .*\n {2}do: Copy a new token .*dsp-gateway token rotate/,
  );
  const junk = await cli('token rotate', 'junk');
  expect([junk.code, junk.stderr]).toEqual([4, expect.stringContaining('the token; no token is active')]);
  expect(await cli('token rotate', platform.token)).toMatchObject({ code: 0, stderr: '' });
  expect((await cli('status')).stdout).toMatch(/^WELL\n/);
  expect(await cli('token rotate --force', 'junk')).toMatchObject({ code: 0 });
  const forced = await cli('status');
  expect([forced.code, forced.stdout]).toEqual([
    1,
    expect.stringMatching(/^WARNING: .*no platform call has succeeded with it/),
  ]);
  // Its call goes back to the token before, as a request does.
  expect(checkOf(await cli('doctor --json'), 'the token works')?.level).toBe('well');
  const told = expect.poll(async () => (await cli('status')).stdout);
  await told.toMatch(/^WELL\b.*\nnote: the gateway runs on the previous token /s);
});

/** It shows no secret, and leaves the store alone. */
async function findsNothingWrong(gateway: Gateway, key: string): Promise<void> {
  const ran = await operator(gateway)('doctor');
  expect(ran.stdout).toMatch(/^WELL: \d+ well, 0 with a warning, 0 not well, \d+ not checked\n/);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(ran.stdout).toMatch(/^ok +the token works: the platform answered the probe with status 200/m);
  expect(ran.stdout).toMatch(/^ok +keys: 1 valid$/m);
  for (const secret of [key, platform.token, gateway.adminToken]) expect(ran.stdout).not.toContain(secret);

  // A shell that has its address and the admin token alone.
  const bare = { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken };
  const remote = await runCli(['doctor'], bare);
  expect([remote.code, remote.stderr]).toEqual([0, '']);
  expect(remote.stdout).toMatch(/^– +this machine: not checked: this shell does not have the settings/m);

  const GATEWAY_ADMIN_URL = `http://127.0.0.1:${await freePort()}`;
  const lost = await operator(gateway, { GATEWAY_ADMIN_URL })('doctor --json');
  expect(checkOf(lost, 'embedded store')).toMatchObject({
    level: 'skipped',
    says: expect.stringContaining('is in use by the running gateway'),
  });
}

describe('a lost master key', () => {
  it('of a gateway that was well stops the start with nothing written; forget-sealed keeps the teams', async () => {
    const before = await startGateway(platform.env);
    const { dataDir } = before;
    const env = { ...platform.env, GATEWAY_DATA_DIR: dataDir };
    const { key } = await newTeam(before, { id: 'growth', advertisers: [1] });
    await findsNothingWrong(before, key);
    const whileRunning = await runCli(['store', 'forget-sealed', '--yes'], env);
    expect([whileRunning.code, whileRunning.stderr]).toEqual([
      78,
      expect.stringContaining('is in use by process'),
    ]);
    await before.end('SIGTERM');
    await rm(join(dataDir, 'master.key'));
    const doctor = await operator(before)('doctor --json');
    expect(checkOf(doctor, 'master key')).toMatchObject({
      level: 'not well',
      says: expect.stringContaining('master.key is missing'),
      do: expect.stringContaining('dsp-gateway store forget-sealed'),
    });
    expect(checkOf(doctor, 'embedded store')).toMatchObject({ says: expect.stringContaining('intact: ') });
    const names = await readdir(dataDir);
    const refused = await launchGateway(env);
    expect(await refused.exited).toEqual({ code: 78, signal: null });
    expect(refused.stderr).toContain(`${join(dataDir, 'master.key')} is missing`);
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
    const another = (await cli('keys issue growth --json')).json<{ key: string }>();
    expect(await report(after, another.key)).toBe(200);
    expect((await cli('audit --json')).stdout).toContain('registry.forget-sealed');
  });

  it('of a store with nothing in it forgets nothing, and makes none', async () => {
    const folder = await tempFolder();
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const none = 'has no team, key or token; nothing was changed';
    for (const [env, words] of [
      [{ GATEWAY_DATA_DIR: join(folder, 'data') }, `${join(folder, 'data')} ${none}`],
      [{ ...SECRETS, REDIS_URL: redis.url }, `this Redis ${none}`],
    ] as const) {
      const ran = await runCli(['store', 'forget-sealed', '--yes'], { ...platform.env, ...env });
      expect([ran.code, ran.stdout, ran.stderr]).toEqual([78, '', expect.stringContaining(words)]);
    }
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('workers that cannot start', () => {
  it('end the whole at once, with the reason told once, where the port is taken', async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const other = createServer().listen(port, '127.0.0.1');
    onTestFinished(() => void other.close());
    const { env } = await openRedisScene();
    const ports = { PORT: `${port}`, ADMIN_PORT: `${adminPort}` };
    const gateway = await launchGateway({ ...env, WORKERS: '2', ...ports });
    expect(await gateway.exited).toEqual({ code: 1, signal: null });
    expect(gateway.stderr.match(/EADDRINUSE/g)).toHaveLength(1);
    expect(gateway.stderr).toContain('set PORT, ADMIN_PORT or METRICS_PORT to a free port');
  });
});

describe('doctor', () => {
  it('looks at everything though the settings are wrong and nobody answers', async () => {
    const nowhere = async () => `127.0.0.1:${await freePort()}`;
    const ran = await runCli(['doctor', '--json'], {
      GATEWAY_ADMIN_URL: `http://${await nowhere()}`,
      ADMIN_TOKEN: 'x'.repeat(20),
      PORT: 'abc',
      REDIS_URL: `redis://${await nowhere()}`,
    });
    expect(ran.code).toBe(2);
    expect(checkOf(ran, 'settings')).toMatchObject({ says: expect.stringContaining('PORT: was "abc"') });
    for (const [name, advice] of [
      ['Redis', 'Start Redis at 127.0.0.1:'],
      ['gateway', 'dsp-gateway serve'],
    ] as const)
      expect(checkOf(ran, name)).toMatchObject({ level: 'not well', do: expect.stringContaining(advice) });
  });

  it.each([
    ['noeviction', [], 'well', 'maxmemory-policy noeviction'],
    ['volatile-lru', ['--maxmemory', '64mb', '--maxmemory-policy', 'volatile-lru'], 'well', 'volatile-lru'],
    ['one that evicts nothing', ['--maxmemory', '64mb'], 'warning', 'volatile-lru'],
  ])('judges how Redis evicts and keeps: %s', async (_, args, level, words) => {
    const redis = await startRedis({ args });
    onTestFinished(() => redis.close());
    const ran = await runCli(['doctor', '--json'], { ...platform.env, ...SECRETS, REDIS_URL: redis.url });
    expect(checkOf(ran, 'Redis')).toMatchObject({ level: 'well' });
    expect(checkOf(ran, 'Redis: eviction')).toMatchObject({ level });
    expect(JSON.stringify(checkOf(ran, 'Redis: eviction'))).toContain(words);
    expect(checkOf(ran, 'Redis: persistence')).toMatchObject({ level: 'warning' });
  });
});
