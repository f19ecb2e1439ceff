/** Contract, section 1: a missing or bad setting stops the start with exit code 78 and one line per fault. */
import { once } from 'node:events';
import { mkdir, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Fault, faultOf } from '../../src/cli/exit.js';
import { loadConfig, proxySettings } from '../../src/config/load.js';
import { run } from '../../src/server/run.js';
import { runCli } from '../cli/run-cli.js';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type Env, launchGateway, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { freePort } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

/** Lines on standard error of a start that must fail. */
async function faultsOf(env: Env): Promise<string[]> {
  const gateway = await launchGateway(env);
  const { code } = await gateway.exited;
  if (code !== 78 || gateway.stdout !== '') throw new Error(`ended with ${code}: ${gateway.stdout}`);
  return gateway.stderr.trimEnd().split('\n');
}

/** A start that must fail, in this process: what `serve` would print, and its exit code. */
async function faultOfStart(env: Env): Promise<Fault> {
  const planes = ['data', 'admin', 'metrics'] as const;
  const start = async () => run({ config: loadConfig(env), proxy: proxySettings(env), planes });
  const started = await start().catch((error: unknown) => faultOf(error));
  if ('lines' in started) return started;
  await started.stop();
  throw new Error('it started');
}

const SECRET = 'a-secret-that-must-not-be-printed';
const BASE = { PLATFORM_BASE_URL: 'http://127.0.0.1:9' };

describe.concurrent('a start that is refused', () => {
  it('tells every fault of kind and range at once, a line each', async ({ expect }) => {
    const yaml = join(await tempFolder(), 'gateway.yaml');
    await writeFile(yaml, 'server:\n  prot: 8080\n');
    const faulty = { PORT: '70000', ADMIN_PORT: 'eighty', WORKERS: '0', LOG_LEVEL: 'loud' };
    const lines = await faultsOf({ ...BASE, ...faulty, GATEWAY_CONFIG: yaml });
    const names = lines.map((line) => line.split(':', 1)[0]);
    expect(names.toSorted()).toEqual(['ADMIN_PORT', 'LOG_LEVEL', 'PORT', 'WORKERS', 'server.prot']);
    expect(lines).toContain('PORT: was 70000; allowed is a whole number from 0 to 65535');
    for (const line of lines) expect(line).toMatch(/^[\w.]+: was .+; allowed is .+$/);
  });

  it('tells the faults that need a second look, and never prints a secret', async ({ expect }) => {
    const { lines } = await faultOfStart({
      PLATFORM_BASE_URL: 'ftp://platform.example',
      PLATFORM_TOKEN: `${SECRET} with a space`,
      GATEWAY_MASTER_KEY: SECRET,
      REDIS_URL: `http://:${SECRET}@127.0.0.1`,
    });
    const names = lines.map((line) => line.split(':', 1)[0]);
    expect(names).toEqual(
      expect.arrayContaining(['PLATFORM_BASE_URL', 'PLATFORM_TOKEN', 'GATEWAY_MASTER_KEY', 'REDIS_URL']),
    );
    expect(lines.join('\n')).not.toContain(SECRET);
  });

  it('is the same for `config check`, which starts nothing', async ({ expect }) => {
    expect(await runCli(['config', 'check'])).toMatchObject({
      code: 78,
      stderr:
        'PLATFORM_BASE_URL: was not set; allowed is an http:// or https:// address without user, query or fragment\n',
    });
    expect(await runCli(['config', 'check'], BASE)).toMatchObject({ code: 0, stderr: '' });
  });

  it.for(['/dev/null/data', '/proc/no-such-folder'])(
    'names a data folder that cannot be: %s',
    async (folder, { expect }) => {
      expect(await faultOfStart({ ...BASE, GATEWAY_DATA_DIR: folder })).toEqual({
        code: 78,
        lines: [
          expect.stringMatching(
            /^GATEWAY_DATA_DIR: was "\/(dev|proc)\/.*"; allowed is a folder that is there or can be made \(E[A-Z]+\)$/,
          ),
        ],
      });
    },
  );

  it.for<[name: string, text: string | null, words: string]>([
    ['admin.token', 'short\n', '16 printable ASCII characters or more'],
    ['master.key', '', 'is empty'],
    ['master.key', null, 'EISDIR'],
  ])('names a secret of the data folder: %s that holds %j', async ([name, text, words], { expect }) => {
    const dataDir = join(await tempFolder(), 'data');
    const path = join(dataDir, name);
    await mkdir(text === null ? path : dataDir, { recursive: true, mode: 0o700 });
    if (text !== null) await writeFile(path, text, { mode: 0o600 });
    const { lines, code } = await faultOfStart({ ...BASE, GATEWAY_DATA_DIR: dataDir });
    expect([lines.length, code]).toEqual([1, 78]);
    for (const part of [path, words, '; allowed is ']) expect(lines[0]).toContain(part);
  });

  it('names an address that is none of this machine', async ({ expect }) => {
    const lines = await faultsOf({ ...BASE, HOST: '203.0.113.7', LOG_LEVEL: 'silent' });
    expect(lines).toEqual([
      expect.stringContaining('set HOST and ADMIN_HOST to an address or host name of this machine'),
    ]);
  });

  it('names the port that is taken', async ({ expect }) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const gateway = await launchGateway({ ...BASE, PORT: String(port) });
    expect((await gateway.exited).code).toBe(1);
    expect(gateway.stderr).toMatch(new RegExp(`EADDRINUSE.*${port}.*PORT`));
    other.close();
  });
});

it('come from the YAML, the environment wins, and files are read again when they are swapped', async () => {
  const platform = await startPlatform({ basePath: '/dsp/one' });
  const port = await freePort();
  const folder = await tempFolder();
  const yaml = join(folder, 'gateway.yaml');
  const settings = [
    `server: { host: 127.0.0.1, port: 1, adminPort: 0, maxUriBytes: 300 }`,
    `platform: { baseUrl: '${platform.url}', token: '${platform.token}' }`,
  ];
  await writeFile(yaml, settings.join('\n'));
  const file = async (content: string): Promise<string> => {
    const path = join(folder, 'admin');
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
    return path;
  };
  const [first, second] = ['admin-token-of-the-first-day', 'admin-token-of-the-second-day'];
  const ADMIN_TOKEN_FILE = await file(`${first}\n`);
  const gateway = await startGateway({ GATEWAY_CONFIG: yaml, PORT: String(port), ADMIN_TOKEN_FILE });
  expect([gateway.data, gateway.adminToken]).toEqual([`http://127.0.0.1:${port}`, first]);
  // Given, so none is generated.
  expect(await readdir(gateway.dataDir)).not.toContain('admin.token');
  const { key } = await newTeam(gateway, { id: 'yaml' });
  const answer = await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key });
  expect(answer.status).toBe(200);
  expect((await ask(`${gateway.data}/${'a'.repeat(300)}`)).status).toBe(414);

  await file(second);
  const status = async (bearer: string) => (await ask(`${gateway.admin}/admin/v1/status`, { bearer })).status;
  await waitFor('the new admin token', async () => (await status(second)) === 200, gateway);
  expect(await status(first)).toBe(401);
  await file('half');
  await waitFor('a word about the bad file', () => /the file of ADMIN_TOKEN is invalid/.test(gateway.stdout));
  await unlink(join(folder, 'admin'));
  expect([await status(second), await status('half')]).toEqual([200, 401]);
});
