/** What `npm pack` makes, started where nothing else is: the packages it needs are those of this checkout. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { launch, ROOT, tempFolder } from '../support/processes.js';

const run = promisify(execFile);

it('the package has all that the demo, its pages and its settings need', async () => {
  const folder = await tempFolder();
  // The build is there; its script would make it anew below other tests.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const [tarball = ''] = await readdir(folder);
  expect(tarball).toMatch(/^dsp-gateway-[\d.]+\.tgz$/);
  await run('tar', ['-xzf', tarball], { cwd: folder });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const cli = join(folder, 'package', 'dist', 'cli.js');
  const empty = join(folder, 'empty');
  await mkdir(empty);
  const env = { PORT: '0', ADMIN_PORT: '0', TMPDIR: folder };
  const demo = launch('sh', ['-c', `cd '${empty}' && exec node '${cli}' demo --once`], env);
  expect(await demo.exited).toEqual({ code: 0, signal: null });
  expect(demo.stdout).toMatch(/\d+ questions, \d+ platform calls?\./);
  expect(demo.stderr).toBe('');
  expect(await readdir(empty)).toEqual([]);
  const shipped = await readdir(join(folder, 'package'));
  expect(shipped).toEqual(
    expect.arrayContaining(['LICENSE', 'README.md', 'config', 'dist', 'docs', 'package.json']),
  );
  expect(shipped).not.toEqual(expect.arrayContaining(['test']));
  expect(await readdir(join(folder, 'package', 'docs'))).toContain('first-steps.md');
});
