import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { kill, script, startScript } from './child.js';
import { openNotesIn, openTalliesIn } from './files-in-folder.js';
import { inFolder, openRegistryIn } from './registry-in-folder.js';

/** Lets a process commit until `enough` commits were acknowledged, and kills it in the middle of the next ones. */
async function killAfter(
  enough: number,
  folder: string,
  rewriteAfterBytes: number,
): Promise<Map<number, number>> {
  const child = await startScript('commit-loop.mjs', folder, String(rewriteAfterBytes));
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    if (text.split('\n').length > enough) child.kill('SIGKILL');
  });
  // `close`, not `exit`: what it said before it died is still to be read.
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  const whole = text.slice(0, text.lastIndexOf('\n')).split('\n');
  return new Map(whole.map((line) => line.split(' ').map(Number) as [number, number]));
}

describe('kill -9 in the middle of commits', () => {
  it.each([
    { rewriteAfterBytes: 1_000_000_000, how: 'while the journal only grows' },
    { rewriteAfterBytes: 0, how: 'while the journal is written anew time and again' },
  ])('loses nothing that was acknowledged, $how', ({ rewriteAfterBytes }) =>
    inFolder(async (folder) => {
      let versions = 0;
      for (const enough of [1, 7, 40, 90, 200]) {
        const acknowledged = await killAfter(enough, folder, rewriteAfterBytes);
        expect(acknowledged.size).toBeGreaterThanOrEqual(enough);
        const { registry, close } = await openRegistryIn(folder);
        const { version, records } = await registry.load();
        const audit = (await registry.readAudit(1_000_000)).map(({ text }) => text);
        await close();

        expect(version).toBeGreaterThanOrEqual(Math.max(versions, ...acknowledged.values()));
        expect(audit).toHaveLength(version);
        const lines = new Set(audit);
        for (const [number, at] of acknowledged) {
          expect(lines.has(`line ${number}`)).toBe(true);
          const record = records.get(`r${number % 50}`);
          // Either this very commit, or a later one to the same record.
          expect(record?.revision).toBeGreaterThanOrEqual(at);
          if (record?.revision === at) expect(record.value).toBe(`${number}`.padEnd(number % 300));
        }
        versions = version;
      }
    }),
  );
});

/** Lets a process work until it has said `enough`, and kills it. @returns what it said of each number last */
async function killWorker(enough: number, ...args: string[]): Promise<Map<number, string>> {
  const child = await startScript('durable-loop.mjs', ...args);
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    if (text.split('\n').length > enough) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  const whole = text.slice(0, text.lastIndexOf('\n')).split('\n');
  return new Map(whole.map((line) => [Number(line.split(' ')[0]), line.split(' ')[1] ?? '']));
}

describe('kill -9 in the middle of tallies and notes', () => {
  it.each([
    { rewriteAfterBytes: 1_000_000_000, how: 'while the journal only grows' },
    { rewriteAfterBytes: 0, how: 'while the journal is written anew time and again' },
  ])('loses nothing that was acknowledged, $how', ({ rewriteAfterBytes }) =>
    inFolder(async (folder) => {
      let first = 0;
      for (const enough of [1, 9, 50, 200, 350]) {
        const said = await killWorker(enough, folder, String(rewriteAfterBytes), String(first));
        await checkTallies(folder, first, said);
        await checkNotes(folder, said);
        first = Math.max(...said.keys()) + 1;
      }
    }),
  );
});

/** Each batch is there as a whole or not at all, and whoever repeats those in doubt counts every one once. */
async function checkTallies(folder: string, first: number, said: Map<number, string>): Promise<void> {
  const { tallies, close } = await openTalliesIn(folder);
  const books = Array.from({ length: 7 }, (_, at) => `book ${at}`);
  const calls = async () => {
    const [all, ...others] = await tallies.read(['all', ...books]);
    const sum = others.reduce((total, book) => total + (book.get('calls') ?? 0), 0);
    expect(all?.get('calls') ?? 0).toBe(sum);
    return sum;
  };
  const counted = [...said.values()].filter((what) => what !== 'begun').length;
  expect(await calls()).toBeGreaterThanOrEqual(first + counted);
  expect(await calls()).toBeLessThanOrEqual(first + said.size);
  for (const number of said.keys()) {
    const adds = ['all', `book ${number % 7}`].map((book) => ({ book, field: 'calls', by: 1 }));
    await tallies.add(`batch ${number}`, adds, [], 24 * 3_600_000);
  }
  expect(await calls()).toBe(first + said.size);
  await close();
}

/** Each note is as was said of it last, or as the next step makes it. */
async function checkNotes(folder: string, said: Map<number, string>): Promise<void> {
  const { notes, close } = await openNotesIn(folder);
  const steps = [null, 'made', 'changed', null];
  for (const [number, what] of said) {
    const at = { begun: 0, counted: 0, made: 1, changed: 2, deleted: 3 }[what] ?? -1;
    const last = number % 2 === 0 ? 3 : 2;
    expect(steps.slice(at, Math.min(at + 1, last) + 1)).toContain(await notes.get(`note ${number}`));
  }
  await close();
}

describe('a disk that is full', () => {
  it('refuses what does not fit, keeps what did, and takes what fits again', () =>
    inFolder(async (folder) => {
      // No file of this process may grow beyond 48 KiB: the kernel then takes a part of a write and refuses the rest.
      const limited = `ulimit -f 96 && exec "${process.execPath}" "${script('fill-disk.mjs')}" "${folder}"`;
      const { stdout } = await promisify(execFile)('sh', ['-c', limited]);
      expect(JSON.parse(stdout)).toEqual({
        outcomes: [1, 2, 3, 4, 5, 'StoreUnavailable', 'StoreUnavailable', 6, 'StoreUnavailable', 7],
        version: 7,
        ids: ['r0', 'r1', 'r2', 'r3', 'r4', 'r7', 'r9'],
      });
      const { registry, log, close } = await openRegistryIn(folder);
      const { version, records } = await registry.load();
      await close();
      expect(version).toBe(7);
      expect([...records].map(([id, { value }]) => [id, value.length / 1024])).toEqual([
        ['r0', 1],
        ['r1', 2],
        ['r2', 4],
        ['r3', 8],
        ['r4', 16],
        ['r7', 1],
        ['r9', 1],
      ]);
      expect(log.lines).toEqual([]);
    }));
});

describe('a process that ends without closing the store', () => {
  it('leaves nothing in the way of the next', () =>
    inFolder(async (folder) => {
      const child = await startScript('commit-loop.mjs', folder, '1000000');
      await once(child.stdout, 'data');
      await kill(child);
      const { registry, close } = await openRegistryIn(folder);
      await registry.commit({ writes: new Map([['after', 'wards']]) });
      expect((await registry.load()).records.get('after')?.value).toBe('wards');
      await close();
    }));
});
