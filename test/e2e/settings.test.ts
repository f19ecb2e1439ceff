/** Contract, section 1: a missing or bad setting stops the start with exit code 78 and one line per fault. */
import { readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import {
  type Env,
  launchCli,
  launchGateway,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { freePort } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

/** Lines on standard error of a start that must fail. */
async function faultsOf(env: Env): Promise<string[]> {
  const gateway = await launchGateway(env);
  const { code } = await gateway.exited;
  expect({ code, stdout: gateway.stdout }).toEqual({ code: 78, stdout: '' });
  return gateway.stderr.trimEnd().split('\n');
}

const SECRET = 'a-secret-that-must-not-be-printed';
const BASE = { PLATFORM_BASE_URL: 'http://127.0.0.1:9' };

describe.concurrent('a start that is refused', () => {
  it('tells every fault of kind and range at once, a line each', async ({ expect }) => {
    const lines = await faultsOf({
      ...BASE,
      PORT: '70000',
      ADMIN_PORT: 'eighty',
      METRICS_PORT: '-1',
      WORKERS: '0',
      LOG_LEVEL: 'loud',
      GATEWAY_TEST_CLOCK: 'yes',
      PLATFORM_TOKEN_PATH: 'oauth/token',
      PLATFORM_PROBE: 'api/v1/x',
    });
    const byName = Object.fromEntries(lines.map((line) => [line.split(':', 1)[0], line]));
    expect(Object.keys(byName).sort()).toEqual([
      'ADMIN_PORT',
      'GATEWAY_TEST_CLOCK',
      'LOG_LEVEL',
      'METRICS_PORT',
      'PLATFORM_PROBE',
      'PLATFORM_TOKEN_PATH',
      'PORT',
      'WORKERS',
    ]);
    expect(byName.PORT).toBe('PORT: was 70000; allowed is a whole number from 0 to 65535');
    expect(byName.ADMIN_PORT).toBe('ADMIN_PORT: was "eighty"; allowed is a whole number from 0 to 65535');
    expect(byName.LOG_LEVEL).toContain('was "loud"; allowed is one of trace, debug, info');
    for (const line of lines) expect(line).toMatch(/^[A-Z_]+: was .+; allowed is .+$/);
  });

  it('tells the faults that need a second look, and never prints a secret', async ({ expect }) => {
    const lines = await faultsOf({
      PLATFORM_BASE_URL: 'ftp://platform.example',
      PLATFORM_USERNAME: SECRET,
      PLATFORM_TOKEN: `${SECRET} with a space`,
      PLATFORM_TOKEN_EXPIRES_AT: '2027-02-30',
      PLATFORM_TIMEZONE: 'Mars/Olympus',
      GATEWAY_MASTER_KEY: SECRET,
      REDIS_REGISTRY_URL: `http://:${SECRET}@127.0.0.1`,
      GATEWAY_TEST_CLOCK: '1',
      NODE_ENV: 'production',
    });
    const names = lines.map((line) => line.split(':', 1)[0]);
    expect(new Set(names)).toEqual(
      new Set([
        'PLATFORM_BASE_URL',
        'PLATFORM_PASSWORD',
        'PLATFORM_CLIENT_ID',
        'PLATFORM_CLIENT_SECRET',
        'PLATFORM_TOKEN',
        'PLATFORM_TOKEN_EXPIRES_AT',
        'PLATFORM_TIMEZONE',
        'GATEWAY_MASTER_KEY',
        'REDIS_REGISTRY_URL',
        'GATEWAY_TEST_CLOCK',
      ]),
    );
    for (const line of lines) expect(line).toMatch(/^[A-Z_]+: was .+; allowed is .+$/);
    expect(lines.join('\n')).not.toContain(SECRET);
  });

  it('asks for master key and admin token where Redis is used', async ({ expect }) => {
    const lines = await faultsOf({ ...BASE, REDIS_URL: `redis://:${SECRET}@127.0.0.1:9` });
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual(['GATEWAY_MASTER_KEY', 'ADMIN_TOKEN']);
    expect(lines.join('\n')).not.toContain(SECRET);
  });

  it('names an unknown member of the YAML, and a file that is not there', async ({ expect }) => {
    const yaml = join(await tempFolder(), 'gateway.yaml');
    await writeFile(yaml, 'server:\n  prot: 8080\n  port: many\nplatfrom: {}\n');
    const lines = await faultsOf({ ...BASE, PORT: '', GATEWAY_CONFIG: yaml });
    expect(lines.map((line) => line.split(':', 1)[0]).sort()).toEqual(['PORT', 'platfrom', 'server.prot']);
    const missing = await faultsOf({ ...BASE, GATEWAY_CONFIG: `${yaml}.gone` });
    expect(missing).toHaveLength(1);
    expect(missing[0]).toMatch(/^GATEWAY_CONFIG: was .*gateway\.yaml\.gone; allowed is /);
  });

  it('is the same for `config check`, which starts nothing', async ({ expect }) => {
    const wrong = launchCli(['config', 'check']);
    expect((await wrong.exited).code).toBe(78);
    expect(wrong.stderr).toBe(
      'PLATFORM_BASE_URL: was not set; allowed is an http:// or https:// address without user, query or fragment\n',
    );
    const right = launchCli(['config', 'check'], BASE);
    expect(await right.exited).toEqual({ code: 0, signal: null });
  });

  it.for(['/dev/null/data', '/proc/no-such-folder'])(
    'names a data folder that cannot be: %s',
    async (folder, { expect }) => {
      const [line, ...more] = await faultsOf({ ...BASE, GATEWAY_DATA_DIR: folder });
      expect(line).toMatch(
        /^GATEWAY_DATA_DIR: was "\/(dev|proc)\/.*"; allowed is a folder that is there or can be made \(E[A-Z]+\)$/,
      );
      expect(more).toEqual([]);
    },
  );

  it('names an address that is none of this machine', async ({ expect }) => {
    const lines = await faultsOf({ ...BASE, HOST: '203.0.113.7', LOG_LEVEL: 'silent' });
    expect(lines.join('\n')).toContain('set HOST and ADMIN_HOST to an address or name of this machine');
    expect(lines).toHaveLength(1);
  });

  it('names the port that is taken', async ({ expect }) => {
    const gateway = await startGateway(BASE);
    const port = new URL(gateway.data).port;
    const second = await launchGateway({ ...BASE, PORT: port });
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`EADDRINUSE.*${port}.*PORT`));
  });
});

describe.concurrent('settings that work', () => {
  it('come from the YAML, and the environment wins', async ({ expect }) => {
    const platform = await startPlatform(['--base-path', '/dsp/one']);
    const port = await freePort();
    const yaml = join(await tempFolder(), 'gateway.yaml');
    const settings = [
      `server: { host: 127.0.0.1, port: 1, adminPort: 0, maxUriBytes: 300 }`,
      `platform: { baseUrl: '${platform.url}', token: '${platform.token}' }`,
      `logLevel: info`,
    ];
    await writeFile(yaml, settings.join('\n'));
    const gateway = await startGateway({ GATEWAY_CONFIG: yaml, PORT: String(port) });
    expect(gateway.data).toBe(`http://127.0.0.1:${port}`);
    const { key } = await newTeam(gateway, { id: 'yaml' });
    // The path prefix of the base URL is kept.
    const answer = await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key });
    expect(answer.status).toBe(200);
    const long = await ask(`${gateway.data}/${'a'.repeat(300)}`);
    expect(long.status).toBe(414);
  });

  it('are read from files, and read again when a file is swapped', async ({ expect }) => {
    const platform = await startPlatform();
    const folder = await tempFolder();
    const file = async (name: string, content: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(`${path}.new`, content);
      await rename(`${path}.new`, path);
      return path;
    };
    const [first, second] = ['admin-token-of-the-first-day', 'admin-token-of-the-second-day'];
    const gateway = await startGateway({
      PLATFORM_BASE_URL: platform.url,
      PLATFORM_TOKEN_FILE: await file('token', `${platform.token}\n`),
      ADMIN_TOKEN_FILE: await file('admin', `${first}\n`),
    });
    expect(gateway.adminToken).toBe(first);
    // Given, so none is generated.
    expect(await readdir(gateway.dataDir)).not.toContain('admin.token');
    const { key } = await newTeam(gateway, { id: 'files' });
    const report = `${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`;
    expect((await ask(report, { key })).status).toBe(200);

    await file('admin', second);
    const status = (bearer: string) => ask(`${gateway.admin}/admin/v1/status`, { bearer });
    await waitFor('the new admin token', async () => (await status(second)).status === 200, gateway);
    expect((await status(first)).json()).toMatchObject({ status: 401, code: 'invalid_admin_token' });

    await unlink(join(folder, 'admin'));
    await waitFor('a word about the lost file', () => /ADMIN_TOKEN cannot be used/.test(gateway.stdout));
    expect((await status(second)).status).toBe(200);
  });

  it('must not come both from the environment and from a file, nor from an empty file', async ({
    expect,
  }) => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'empty'), '\n');
    const lines = await faultsOf({
      ...BASE,
      ADMIN_TOKEN: SECRET,
      ADMIN_TOKEN_FILE: join(folder, 'empty'),
      PLATFORM_TOKEN_FILE: join(folder, 'empty'),
    });
    expect(lines.map((line) => line.split(':', 1)[0]).sort()).toEqual(['ADMIN_TOKEN', 'PLATFORM_TOKEN_FILE']);
  });
});
