/** `store backup` beside a gateway that runs: the gateway makes the copy, and loses nothing meanwhile. */
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.js';
import { ask } from '../support/ask.js';
import {
  type Gateway,
  type Platform,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

let platform: Platform;
/** Ended by the last test. */
let shared: Gateway;
beforeAll(async () => {
  platform = await startPlatform();
  shared = await startGateway(platform.env);
});

const envOf = ({ admin, dataDir }: Gateway) => ({ GATEWAY_DATA_DIR: dataDir, GATEWAY_ADMIN_URL: admin });

const makeTeam = ({ admin, adminToken }: Gateway, id: string) =>
  ask(`${admin}/admin/v1/teams`, { method: 'POST', bearer: adminToken, json: { id, name: id } });

async function teamsOf({ admin, adminToken }: Gateway): Promise<string[]> {
  const { text } = await ask(`${admin}/admin/v1/teams`, { bearer: adminToken });
  return (JSON.parse(text) as { teams: { id: string }[] }).teams.map(({ id }) => id);
}

it('refuses a folder that cannot be made, and says what is allowed', async () => {
  const gateway = shared;
  const folder = await tempFolder();
  await mkdir(join(folder, 'there'));
  const ran = await runCli(['store', 'backup', join(folder, 'there')], envOf(gateway));
  expect(ran).toMatchObject({ code: 65, stdout: '' });
  expect(ran.stderr).toContain(
    `was "${join(folder, 'there')}", which is there already; allowed is the absolute path of a new folder`,
  );
  const called = await ask(`${gateway.admin}/admin/v1/store/backup`, {
    method: 'POST',
    bearer: gateway.adminToken,
    json: { folder: 'copy' },
  });
  expect(called.status).toBe(422);
  expect(called.json()).toMatchObject({
    code: 'invalid_body',
    errors: [{ param: 'folder', message: expect.stringContaining('which is not absolute; allowed is') }],
  });
  const alone = await runCli(
    ['store', 'backup', join(folder, 'alone'), '--without-history', '--json', '--url', gateway.admin],
    { ADMIN_TOKEN: gateway.adminToken },
  );
  expect(alone.json()).toEqual({ folder: join(folder, 'alone'), history: false });
  expect(await readdir(join(folder, 'alone'))).toEqual(['data.mdb']);
  expect(((await stat(join(folder, 'alone'))).mode & 0o777).toString(8)).toBe('700');
  expect(await readdir(folder)).toEqual(['alone', 'there']);
});

it('is of the gateway that GATEWAY_ADMIN_URL names, unless --data-dir names a folder', async () => {
  const { admin, adminToken } = shared;
  const folder = await tempFolder();
  const env = { GATEWAY_ADMIN_URL: admin, ADMIN_TOKEN: adminToken };
  const copy = join(folder, 'copy');
  expect(await runCli(['store', 'backup', copy], env)).toMatchObject({ code: 0, stderr: '' });
  expect(await readdir(copy)).toContain('data.mdb');
  const nowhere = join(folder, 'nowhere');
  expect(await runCli(['store', 'backup', join(folder, 'other'), '--data-dir', nowhere], env)).toMatchObject({
    code: 78,
    stderr: expect.stringContaining(nowhere),
  });
});

it('holds every change that was acknowledged before, and the gateway keeps those made meanwhile', async () => {
  const gateway = shared;
  const folder = await tempFolder();
  const acknowledged: string[] = [];
  let isOver = false;
  const load = Promise.all(
    ['a', 'b', 'c', 'd'].map(async (name) => {
      for (let at = 0; !isOver; at += 1) {
        expect(await makeTeam(gateway, `${name}${at}`)).toMatchObject({ status: 201 });
        acknowledged.push(`${name}${at}`);
      }
    }),
  );
  const copy = join(folder, 'copy');
  await waitFor('changes', () => acknowledged.length > 20);
  const before = [...acknowledged];
  const ran = await runCli(['store', 'backup', copy], envOf(gateway));
  expect(ran).toMatchObject({ code: 0, stderr: '', stdout: `The store was copied to ${copy}.\n` });
  isOver = true;
  await load;
  const audit = `${gateway.admin}/admin/v1/audit?action=store.backup&limit=1`;
  expect((await ask(audit, { bearer: gateway.adminToken })).json()).toMatchObject({
    entries: [{ actor: 'admin', after: { folder: copy, history: true } }],
  });
  await gateway.end('SIGTERM');
  const env = { ...platform.env, GATEWAY_DATA_DIR: gateway.dataDir };
  const again = await startGateway(env);
  expect(await teamsOf(again)).toEqual(expect.arrayContaining(acknowledged));
  await again.end('SIGTERM');
  expect(await runCli(['store', 'restore', copy], env)).toMatchObject({ code: 0 });
  expect(await teamsOf(await startGateway(env))).toEqual(expect.arrayContaining(before));
});
