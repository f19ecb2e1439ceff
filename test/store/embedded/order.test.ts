/** In which order the disk is written: kill -9 cannot show it, for the kernel keeps what a process has written. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { tempFolder } from '../../support/processes.js';
import { script } from './child.js';
import { findStrace } from './strace.js';

const TIMES = 5;
/** Of a first start on an empty folder, and of commits. */
let lines: string[];
let folder: string;

beforeAll(async () => {
  folder = await tempFolder();
  const trace = join(folder, 'trace');
  const calls = 'trace=openat,rename,write,pwrite64,pwritev,writev,fsync,fdatasync';
  await promisify(execFile)(await findStrace(), [
    ...['-f', '-y', '-s', '64', '-e', calls, '-o', trace],
    ...[process.execPath, script('commit-once.mjs'), join(folder, 'data'), String(TIMES)],
  ]);
  lines = (await readFile(trace, 'utf8')).split('\n');
});

it('acknowledges a commit after the disk has its pages, and then the page that makes them valid', () => {
  // lmdb writes its meta pages through a file of its own, which waits for the disk at every write.
  const opened = lines.filter((line) => line.includes('state/data.mdb') && line.includes('O_DSYNC'));
  const synced = new Set(opened.map((line) => /= (\d+)</.exec(line)?.[1]));
  expect(synced.size).toBeGreaterThan(0);
  const steps = lines.flatMap((line) => stepOf(line, synced));
  const commits = steps.join(' ').split('begun ').slice(1);
  expect(commits).toHaveLength(TIMES);
  for (const commit of commits) expect(commit).toMatch(/^(data )+sync meta acknowledged\b/);
});

it.each(['state', 'history'])('gives the folder %s its name when the disk has all that is in it', (name) => {
  const data = join(folder, 'data');
  const from = (no: number, isIt: (line: string) => boolean) =>
    lines.findIndex((line, at) => at >= no && isIt(line));
  const syncs = (path: string) => (line: string) => line.includes('sync(') && line.includes(`<${path}>`);
  const named = from(0, (line) => line.includes(`rename("${data}/${name}.new", "${data}/${name}"`));
  const file = from(0, syncs(`${data}/${name}.new/data.mdb`));
  const entry = from(file, syncs(`${data}/${name}.new`));
  const used = from(named, (line) => line.includes(`"${data}/${name}/data.mdb"`));
  const steps = [file, entry, named, from(named, syncs(data)), used];
  expect(steps).not.toContain(-1);
  expect(steps).toEqual(steps.toSorted((one, other) => one - other));
});

function stepOf(line: string, synced: ReadonlySet<string | undefined>): string[] {
  const said = /write\(1<.*"(begun|acknowledged)\\n"/.exec(line)?.[1];
  if (said !== undefined) return [said];
  // What another thread interrupts is told of twice; the second time is when it has ended.
  if (line.includes('<unfinished') && !line.includes('write')) return [];
  if (/(fdatasync|fsync)(\(\d+<[^>]*state\/data\.mdb>| resumed)/.test(line)) return ['sync'];
  const [, descriptor] = /p?writev?(?:64)?\((\d+)<[^>]*state\/data\.mdb>/.exec(line) ?? [];
  if (descriptor === undefined) return [];
  return [synced.has(descriptor) ? 'meta' : 'data'];
}
