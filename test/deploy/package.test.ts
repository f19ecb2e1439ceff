/** What `npm pack` makes, started where nothing else is: the packages it needs are those of this checkout. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
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
  const exit = await demo.exited;
  const { stdout, stderr } = demo;
  expect(exit, `it said:\n${stdout}\n${stderr}`).toEqual({ code: 0, signal: null });
  // A miss, a hit, another format, a join, totals, and somebody else's advertiser.
  expect(stdout).toMatch(/200 · fwd=miss; stored · .* platform calls: 1/);
  expect(stdout).toMatch(/200 · hit; ttl=\d+; detail=(l1|store) · .* platform calls: 0/);
  expect(stdout).toMatch(/_format=csv\n {3}200 · .* platform calls: 0\n {3}first lines: date,/);
  expect(stdout).toMatch(/joined from days, no platform call/);
  expect(stdout).toMatch(/true reach [\d,]+; the sum of the days would be [\d,]+/);
  expect(stdout).toMatch(/403 · .* platform calls: 0/);
  const [, questions, calls, direct, saved] =
    /(\d+) requests, (\d+) platform calls?\..* would have made (\d+): (\d+) saved\./.exec(stdout) ?? [];
  expect(Number(questions)).toBeGreaterThanOrEqual(5);
  expect(Number(calls)).toBeGreaterThan(0);
  expect(Number(saved)).toBe(Number(direct) - Number(calls));
  // What was spent on comparing counts, and is little beside what dashboards ask for.
  expect(Number(saved)).toBeGreaterThan(Number(calls));
  expect(stdout.match(/^ {3}checked: \d+ rows, all values equal those of the platform$/gm)).toHaveLength(5);
  expect(stdout).toMatch(
    /\n5 of the answers were compared with .*: all equal\.\n\d+ requests, .* saved\.\n$/,
  );
  expect(stdout).not.toContain('WRONG');
  expect(stderr).toBe('');
  const program = join(folder, 'package', 'dist', 'program');
  for (const name of await readdir(program))
    expect(await readFile(join(program, name), 'utf8'), name).not.toMatch(/[^\0-\xff]/);
  expect(await readdir(empty)).toEqual([]);
  const shipped = await readdir(join(folder, 'package'));
  expect(shipped).toEqual(
    expect.arrayContaining(['LICENSE', 'README.md', 'config', 'dist', 'docs', 'package.json']),
  );
  expect(shipped).not.toEqual(expect.arrayContaining(['test']));
  expect(await readdir(join(folder, 'package', 'docs'))).toContain('first-steps.md');
});
