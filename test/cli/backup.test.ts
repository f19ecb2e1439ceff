/** The command line around backups, master keys and usage. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';
import { type Ran, runCli } from './run-cli.js';

const [first, second] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

let platform: Platform;
let folder: string;
beforeAll(async () => {
  platform = await startPlatform();
  folder = await mkdtemp(join(tmpdir(), 'dgw-backup-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const start = (masterKey: string): Promise<Gateway> =>
  startGateway({ ...platform.env, GATEWAY_MASTER_KEY: masterKey });
const cli = (gateway: Gateway, line: string, input?: string): Promise<Ran> =>
  runCli(line.split(' '), { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken }, input);
const status = async (gateway: Gateway, key: string): Promise<number> =>
  (await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key })).status;

it('what is exported works in a gateway that knew nothing of it', async () => {
  const from = await start(first);
  const { key } = await newTeam(from, { id: 'kept' });
  const path = join(folder, 'backup.json');
  expect(await cli(from, `registry export --out ${path}`)).toMatchObject({
    code: 0,
    stdout: `written: ${path}\n`,
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const text = await readFile(path, 'utf8');
  expect(text).not.toContain(key);
  expect(text).not.toContain(platform.token);
  const again = await cli(from, `registry export --out ${path}`);
  expect([again.code, again.stderr]).toEqual([65, expect.stringContaining('EEXIST')]);
  expect((await cli(from, 'registry export')).json()).toMatchObject({ records: expect.any(Array) });

  const to = await start(first);
  expect(await status(to, key)).toBe(401);
  expect((await cli(to, `registry import ${path}`)).stdout).toBe('imported: 1 team, 1 key\n');
  expect(await status(to, key)).toBe(200);

  expect(await cli(to, `registry import ${path}`)).toMatchObject({ code: 4, stdout: '' });
  const unasked = await cli(to, `registry import ${path} --replace`);
  expect([unasked.code, unasked.stderr]).toEqual([64, expect.stringContaining('Repeat with --yes')]);
  expect((await cli(to, 'registry import - --replace --yes', text)).stdout).toMatch(
    /, in place of what was there\n$/,
  );
  expect(await status(to, key)).toBe(200);

  for (const wrong of ['{"teams":', '[]', 'dgw_SECRET']) {
    const ran = await cli(to, 'registry import -', wrong);
    expect([ran.code, ran.stderr]).toEqual([65, '-: is no export of a registry\n']);
  }
});

it('after a reseal the old master key is not needed any more', async () => {
  const before = await start(first);
  const { key } = await newTeam(before, { id: 'sealed' });
  const env = { ...platform.env, GATEWAY_DATA_DIR: before.dataDir };
  await before.end('SIGTERM');
  const both = await startGateway({ ...env, GATEWAY_MASTER_KEY: `${second},${first}` });
  expect((await cli(both, 'token reseal')).stdout).toMatch(/^sealed under master key \S+: .*vault/);
  await both.end('SIGTERM');
  const after = await startGateway({ ...env, GATEWAY_MASTER_KEY: second });
  expect(await status(after, key)).toBe(200);
});

it('usage is told by team and day, with the sum of all', async () => {
  const gateway = await start(first);
  const { key } = await newTeam(gateway, { id: 'counted' });
  for (let index = 0; index < 3; index++) expect(await status(gateway, key)).toBe(200);
  expect((await cli(gateway, 'usage --from 2026-01-01 --to 2026-01-02')).stdout).toBe(
    'Nothing was asked for from 2026-01-01 to 2026-01-02.\n',
  );
  const { stdout } = await waitFor('what was counted', async () => {
    const ran = await cli(gateway, 'usage --team counted');
    // The counts come in turns, and all of the three at last.
    return /counted .* 3 +2 /.test(ran.stdout) && ran;
  });
  expect(stdout).toMatch(/^\d{4}-\d\d-\d\d +counted +67 % +3 +2 +0 +1 +1 +2 /m);
  expect(stdout).toMatch(/^all +– +67 % +3 +2 +0 +1 +1 +2 /m);
  const json = (await cli(gateway, 'usage --json')).json<{ usage: { team: string; requests: number }[] }>();
  expect(json.usage).toContainEqual(expect.objectContaining({ team: 'counted', requests: 3 }));
  expect(await cli(gateway, 'usage --from today')).toMatchObject({ code: 65 });
});
