/**
 * A file of the data folder that belongs to another user, as after a restore by root, ended the start by SIGSEGV
 * (`lock.mdb`), was called damaged, with the advice to restore it, or was laid to a port that is taken.
 */
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { launch, type Process, ROOT, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const USER = 65_534;
let env: Readonly<Record<string, string>>;
let platform: Awaited<ReturnType<typeof startPlatform>>;
beforeAll(async () => {
  if (process.getuid?.() !== 0)
    throw new Error('files of another user can be made by root alone: run this test as root');
  platform = await startPlatform();
});

/** Another user needs a folder that can be reached. */
async function newData(): Promise<string> {
  const folder = await tempFolder();
  await chmod(folder, 0o755);
  const data = join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  await chown(data, USER, USER);
  env = { ...platform.env, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', GATEWAY_DATA_DIR: data };
  return data;
}

function serveAsUser(): Process {
  const user = ['--reuid', `${USER}`, '--regid', `${USER}`, '--clear-groups'];
  return launch('setpriv', [...user, process.execPath, join(ROOT, 'dist', 'cli.js'), 'serve'], env);
}

/** @returns the log */
async function startOnce(): Promise<string> {
  const gateway = serveAsUser();
  await waitFor('a start', () => gateway.stdout.includes('"msg":"listening"'), gateway);
  await gateway.end('SIGTERM');
  return gateway.stdout;
}

describe('a data folder that another user has a part of', () => {
  it.each(['state/lock.mdb', 'state/data.mdb', 'state', 'volatile', 'cache', 'cache/3-1', '.'])(
    'stops the start, naming %s',
    async (name) => {
      const data = await newData();
      await startOnce();
      const path = join(data, name);
      await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) =>
        expect(error.code).toBe('EEXIST'),
      );
      await chown(path, 0, 0);
      const gateway = serveAsUser();
      expect(await gateway.exited).toEqual({ code: 78, signal: null });
      expect(gateway.stderr).toContain(`${path} cannot be read and written (EACCES): give it to the user`);
    },
    60_000,
  );

  it('begins with an empty cache where only files of the cache are not ours', async () => {
    const data = await newData();
    await startOnce();
    await chown(join(data, 'cache', '3-1', 'lock.mdb'), 0, 0);
    expect(await startOnce()).toContain('the cache on the disk is damaged, and begins empty');
  });
});
