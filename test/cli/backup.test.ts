/** The command line around backups of the registry. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { type Ran, runCli } from './run-cli.js';

type Gateway = OpenGateway['gateway'];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dgw-backup-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const cli = (gateway: Gateway, line: string, input?: string): Promise<Ran> =>
  runCli(line.split(' '), { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken }, input);
const status = async (gateway: Gateway, key: string): Promise<number> =>
  (await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key })).status;

it('what is exported works in a gateway that knew nothing of it', async () => {
  const [{ gateway: from, platform }, { gateway: to }] = [await openGateway(), await openGateway()];
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

  expect(await status(to, key)).toBe(401);
  expect((await cli(to, `registry import ${path}`)).stdout).toBe('imported: 1 team, 1 key\n');
  expect(await status(to, key)).toBe(200);

  expect(await cli(to, `registry import ${path}`)).toMatchObject({ code: 4, stdout: '' });
  const unasked = await cli(to, `registry import ${path} --replace`);
  expect([unasked.code, unasked.stderr]).toEqual([64, expect.stringContaining('Repeat with --yes')]);
  expect((await cli(to, 'registry import - --replace --yes', text)).stdout).toMatch(
    /, replacing all existing ones\n$/,
  );
  expect(await status(to, key)).toBe(200);

  for (const wrong of ['{"teams":', '[]', 'dgw_SECRET']) {
    const ran = await cli(to, 'registry import -', wrong);
    expect([ran.code, ran.stderr]).toEqual([65, '-: is not an export of a registry\n']);
  }
});
