/**
 * Processes that are killed in the middle of their work, and a file that is looked at by lmdb and by ourselves after.
 *
 * `CRASH_ROUNDS=25 npx vitest run test/store/embedded/crash.test.ts` kills 100, and meets each of the points.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import type { Store } from '../../../src/store/port.js';
import { type Bundle, bundleScript } from './bundle.js';
import { type Child, kill, script, startScript } from './child.js';
import { inFolder, openIn } from './in-folder.js';
import { findStrace } from './strace.js';

const DAY_MS = 24 * 3_600_000;
/** Four processes are killed in each. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 6);

let loop: Bundle;
beforeAll(async () => {
  loop = await bundleScript('work-loop.mjs');
});
afterAll(() => loop.remove());

interface Life {
  readonly name: string;
  /** What it said of each number, in order. */
  readonly said: ReadonlyMap<number, readonly string[]>;
}

interface Living {
  readonly child: Child;
  /** How many lines it has said. */
  lines(): number;
  /** Resolves when it is dead, which it is by our hand alone. */
  readonly ended: Promise<Life>;
}

/** @param onLine called as it goes on */
async function begin(folder: string, role: string, name: string, onLine: (living: Living) => void) {
  const child = await startScript(loop.path, folder, role, name, '0');
  let text = '';
  const lines = () => text.split('\n').length - 1;
  async function end(): Promise<Life> {
    // `close`, not `exit`: what it said before it died is still to be read.
    const [code, signal] = await once(child, 'close');
    expect({ name, code, signal }).toEqual({ name, code: null, signal: 'SIGKILL' });
    const said = new Map<number, string[]>();
    for (const line of text.slice(0, text.lastIndexOf('\n')).split('\n')) {
      const [number, what] = [Number(line.split(' ')[0]), line.slice(line.indexOf(' ') + 1)];
      said.set(number, [...(said.get(number) ?? []), what]);
    }
    return { name, said };
  }
  const living: Living = { child, lines, ended: end() };
  child.stdout.on('data', (chunk) => {
    text += chunk;
    onLine(living);
  });
  return living;
}

/** Lets a process work until it has said so many lines, and kills it. */
async function live(folder: string, role: string, name: string, most: number): Promise<Life> {
  const living = await begin(folder, role, name, ({ child, lines }) => {
    if (lines() >= most) child.kill('SIGKILL');
  });
  return await living.ended;
}

/** Every commit that was acknowledged is there, whole: its record or a later one of that name, and its audit line. */
async function checkRegistry({ registry }: Store, { name, said }: Life): Promise<void> {
  const { version, records } = await registry.load();
  const lines = await registry.readAudit(1_000_000);
  const audit = new Map(lines.map(({ id, text }) => [text, Number(id)]));
  for (const [number, all] of said) {
    const told = all.find((what) => what.startsWith('version '));
    if (told === undefined) continue;
    const at = Number(told.split(' ')[1]);
    expect(version).toBeGreaterThanOrEqual(at);
    // Each commit has one line, and nothing else has any. What stands there instead, and around it, tells who wrote over it.
    const around = lines.filter(({ id }) => Math.abs(Number(id) - at) <= 3);
    expect(
      audit.get(`${name} ${number}`),
      `${name} ${number}; version ${version}; ${around.map(({ id, text }) => `${id}: ${text}`).join(', ')}`,
    ).toBe(at);
    const record = records.get(`${name} ${number % 50}`);
    expect(record?.revision).toBeGreaterThanOrEqual(at);
    if (record?.revision === at) expect(record.value).toBe(`${number}`.padEnd(number % 300));
  }
}

/** Each document is as was said of it last, or as the next step makes it. */
async function checkNotes({ documents }: Store, { name, said }: Life): Promise<void> {
  const steps = [null, 'made', 'changed', null];
  for (const [number, all] of said) {
    const done = ['made', 'changed', 'deleted'].filter((what) => all.includes(what)).length;
    const last = number % 2 === 0 ? 3 : 2;
    const found = await documents.get(`${name} ${number}`);
    expect(steps.slice(done, Math.min(done + 1, last) + 1)).toContain(found);
  }
}

/** Each batch is there as a whole or not at all, and whoever repeats those in doubt counts every one once. */
async function checkCounters({ counters }: Store, lives: readonly Life[]): Promise<void> {
  const groups = Array.from({ length: 7 }, (_, at) => `group ${at}`);
  const calls = async () => {
    const [all, ...others] = await counters.read(['all', ...groups]);
    const sum = others.reduce((total, group) => total + (group.get('calls') ?? 0), 0);
    expect(all?.get('calls') ?? 0).toBe(sum);
    return sum;
  };
  const entries = lives.flatMap(({ said }) => [...said.values()]);
  expect(await calls()).toBeGreaterThanOrEqual(entries.filter((all) => all.includes('counted')).length);
  expect(await calls()).toBeLessThanOrEqual(entries.length);
  const repeats = lives.flatMap(({ name, said }) =>
    [...said.keys()].map(async (number) => {
      const adds = ['all', `group ${number % 7}`].map((group) => ({ group, field: 'calls', by: 1 }));
      await counters.add(`${name} ${number}`, adds, [], DAY_MS);
    }),
  );
  await Promise.all(repeats);
  expect(await calls()).toBe(entries.length);
}

const auditMax = 1_000_000;

describe('kill -9 in the middle of work', () => {
  it(
    'loses nothing that was acknowledged, at many points, while other processes go on',
    () =>
      inFolder(async (folder) => {
        const store: EmbeddedStore = await openIn(folder, { role: 'first', auditMax });
        const lives: Life[] = [];
        for (let round = 0; round < ROUNDS; round += 1) {
          // Steps that share no factor with what one piece of work says, so that points are met from all of it.
          const four = [0, 1, 2, 3].map((at) =>
            live(folder, 'further', `life ${round}.${at}`, 1 + (((round * 4 + at) * 37) % 101)),
          );
          const ended = await Promise.all(four);
          store.clearDeadReaders();
          for (const life of ended) await checkRegistry(store, life);
          for (const life of ended) await checkNotes(store, life);
          lives.push(...ended);
        }
        expect(lives).toHaveLength(4 * ROUNDS);
        await checkCounters(store, lives);
        const before = await store.registry.load();
        await store.close();
        // Opened again, it is looked through page by page.
        const again = await openIn(folder, { auditMax });
        expect(await again.registry.load()).toEqual(before);
        expect(again.log.lines).toEqual([]);
        await again.close();
      }),
    ROUNDS * 20_000,
  );

  it(
    'loses nothing that was acknowledged by a process that was alone',
    () =>
      inFolder(async (folder) => {
        const lives: Life[] = [];
        for (const [at, lines] of [1, 9, 50, 200, 350].entries()) {
          lives.push(await live(folder, 'only', `life ${at}`, lines));
          const store = await openIn(folder, { auditMax });
          for (const life of lives) await checkRegistry(store, life);
          await checkNotes(store, lives.at(-1) as Life);
          await store.close();
        }
        const store = await openIn(folder, { auditMax });
        await checkCounters(store, lives);
        await store.close();
      }),
    120_000,
  );
});

/** Opens the store, commits and closes it, in a process in which each read of the file by lmdb takes some 50 ms more. */
async function openLate(strace: string, folder: string): Promise<void> {
  const late = ['-P', join(folder, 'state', 'data.mdb'), '-e', 'inject=pread64:delay_exit=50000'];
  const once = [process.execPath, script('commit-once.mjs'), folder, '1', 'further'];
  const { stderr } = await promisify(execFile)(strace, ['-f', '-e', 'trace=pread64', ...late, ...once]);
  expect(stderr).toContain('DELAYED');
}

describe('a process that opens while others write', () => {
  it(
    'loses nothing of theirs, however long it takes',
    () =>
      inFolder(async (folder) => {
        const strace = await findStrace();
        const store = await openIn(folder, { role: 'first', auditMax });
        const writers = await Promise.all(
          ['one', 'other'].map((name) => begin(folder, 'further', name, () => {})),
        );
        await Promise.all(writers.map(({ child }) => once(child.stdout, 'data')));
        // What lmdb reads when it opens is held up, for many commits of the others. Each alone does harm every other time.
        await Promise.all([1, 2, 3].map(() => openLate(strace, folder)));
        for (const { child } of writers) child.kill('SIGKILL');
        const lives = await Promise.all(writers.map(({ ended }) => ended));
        for (const life of lives) await checkRegistry(store, life);
        await checkCounters(store, lives);
        await store.close();
        const again = await openIn(folder, { auditMax });
        expect(again.log.lines).toEqual([]);
        await again.close();
      }),
    60_000,
  );
});

describe('a process that stands still', () => {
  it(
    'holds up no more than the calls that need what it holds, and those end',
    () =>
      inFolder(async (folder) => {
        const store = await openIn(folder, { role: 'first' });
        const child = await startScript(loop.path, folder, 'further', 'still', '0');
        await once(child.stdout, 'data');
        child.stdout.resume();
        child.kill('SIGSTOP');
        // Whether it holds the lock of writers just now or not: a read never waits, and a write ends either way.
        const writes = Array.from({ length: 3 }, (_, at) =>
          store.registry.commit({ writes: new Map([[`r${at}`, '1']]) }).then(
            () => 'made',
            (error: Error) => error.name,
          ),
        );
        await store.registry.load();
        for (const outcome of await Promise.all(writes))
          expect(['made', 'StoreUnavailable']).toContain(outcome);
        await kill(child);
        await store.registry.commit({ writes: new Map([['after', 'wards']]) });
        await store.close();
      }),
    60_000,
  );
});

describe('a process that ends without closing the store', () => {
  it('leaves nothing in the way of the next', () =>
    inFolder(async (folder) => {
      const child = await startScript(loop.path, folder, 'only', 'first', '0');
      await once(child.stdout, 'data');
      await kill(child);
      const { registry, close } = await openIn(folder);
      await registry.commit({ writes: new Map([['after', 'wards']]) });
      expect((await registry.load()).records.get('after')?.value).toBe('wards');
      await close();
    }));
});
