import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type TimeSource, useTime } from '../../../src/lib/time.js';
import { lockFolder, parseStart } from '../../../src/store/embedded/folder-lock.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { waitFor } from '../../support/wait-for.js';
import { change } from '../conformance-registry.js';
import { createTestLog } from '../test-log.js';
import { type Child, firstLine, kill, script, startScript } from './child.js';
import { inFolder, openIn } from './in-folder.js';

const lock = (folder: string, staleAfterMs?: number) =>
  lockFolder(folder, { logger: createTestLog(), ...(staleAfterMs === undefined ? {} : { staleAfterMs }) });

const lockFile = (folder: string) => join(folder, 'lock');

/** A lock as a process that cannot be looked up from here would have written it. */
const elsewhere = JSON.stringify({
  id: 'x',
  pid: 1,
  host: 'another-container',
  realm: 'another kernel',
  startedAt: '7',
});

/** The machine's time, in which nobody goes on from a pause before something else has happened. */
const sleepingAfter = (ready: Promise<void>): TimeSource => ({
  uptimeMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer: setTimeout,
  stopTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
  startTicks: setInterval,
  stopTicks: (timer) => clearInterval(timer as NodeJS.Timeout),
  nextTurn: setImmediate,
  turn: () => pause(0),
  sleep: (ms) => ready.then(() => pause(ms)),
  timeoutSignal: AbortSignal.timeout,
});

describe('the lock on a data folder', () => {
  it('is refused while another process holds it, naming folder and process, and given to one alone after that one is killed', () =>
    inFolder(async (folder) => {
      const holder = await startScript('hold-folder.mjs', folder);
      expect(await firstLine(holder)).toBe('held');
      await expect(lock(folder)).rejects.toThrow(
        `the data folder ${folder} is in use by process ${holder.pid} on`,
      );
      // Stopped is not dead.
      holder.kill('SIGSTOP');
      await expect(lock(folder)).rejects.toThrow(StoreRefused);
      await kill(holder);
      // Several processes find the dead holder at once.
      const racers: Child[] = await Promise.all(
        Array.from({ length: 3 }, () => startScript('hold-folder.mjs', folder)),
      );
      const said = await Promise.all(racers.map(firstLine));
      expect(said.filter((line) => line === 'held')).toHaveLength(1);
      expect(said.filter((line) => line.startsWith('StoreRefused'))).toHaveLength(2);
      await Promise.all(racers.map(kill));
      const taken = await lock(folder);
      expect(await taken.held()).toBe(true);
      await taken.release();
    }));

  it('is not kept by a dead process whose parent has not collected it', () =>
    inFolder(async (folder) => {
      // The shell becomes `sleep`, which never asks for its children.
      const parent = spawn(
        'sh',
        ['-c', `"${process.execPath}" "${script('hold-folder.mjs')}" "${folder}" <&3 & exec sleep 600`],
        {
          stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
        },
      );
      await once(parent.stdout as Readable, 'data');
      const { pid } = JSON.parse(await readFile(lockFile(folder), 'utf8')) as { pid: number };
      process.kill(pid, 'SIGKILL');
      await waitFor(
        'the end of the process',
        async () => parseStart(await readFile(`/proc/${pid}/stat`, 'utf8')) === null,
      );
      const taken = await lock(folder);
      expect(await taken.held()).toBe(true);
      await taken.release();
      const gone = once(parent, 'exit');
      parent.kill('SIGKILL');
      await gone;
    }));

  it('is not kept by a number that another process has got since', () =>
    inFolder(async (folder) => {
      const own = await lock(folder);
      const holder = JSON.parse(await readFile(lockFile(folder), 'utf8')) as { startedAt: string };
      await own.release();
      await writeFile(
        lockFile(folder),
        JSON.stringify({ ...holder, startedAt: String(Number(holder.startedAt) - 1) }),
      );
      const taken = await lock(folder);
      expect(await taken.held()).toBe(true);
      await taken.release();
    }));
});

it('a folder in the place of the lock is named, and left alone', () =>
  inFolder(async (folder) => {
    await mkdir(lockFile(folder));
    const refused = await lock(folder).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreRefused);
    expect(String(refused)).toContain(`${lockFile(folder)} is a folder`);
    expect((await stat(lockFile(folder))).isDirectory()).toBe(true);
  }));

describe('a lock whose holder cannot be looked up', () => {
  it('is respected while somebody writes to it', () =>
    inFolder(async (folder) => {
      await writeFile(lockFile(folder), elsewhere);
      const file = await open(lockFile(folder), 'r+');
      const beat = setInterval(() => void file.write(elsewhere, 0), 20);
      await expect(lock(folder, 60_000)).rejects.toThrow(
        `${folder} is in use by process 1 on another-container`,
      );
      clearInterval(beat);
      await file.close();
    }));

  it.each([
    { what: 'a whole one', text: elsewhere },
    { what: 'one that was never written', text: '' },
  ])('is taken over after it stayed silent: $what', ({ text }) =>
    inFolder(async (folder) => {
      await writeFile(lockFile(folder), text);
      const taken = await lock(folder, 50);
      expect(await taken.held()).toBe(true);
      await taken.release();
    }),
  );

  it('shows others that it is held, by writing', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    return inFolder(async (folder) => {
      const held = await lock(folder);
      const { mtimeMs } = await stat(lockFile(folder));
      vi.advanceTimersByTime(1000);
      await waitFor('another look', async () => (await stat(lockFile(folder))).mtimeMs > mtimeMs);
      expect(JSON.parse(await readFile(lockFile(folder), 'utf8'))).toMatchObject({ pid: process.pid });
      await held.release();
    });
  });
});

describe('a lock that was lost', () => {
  it('right after it was taken over, to one who found the same dead holder, is not counted on', () =>
    inFolder(async (folder) => {
      await writeFile(lockFile(folder), elsewhere);
      await utimes(lockFile(folder), new Date(0), new Date(0));
      let go = () => {};
      useTime(sleepingAfter(new Promise<void>((resolve) => (go = resolve))));
      onTestFinished(() => useTime(null));
      const taking = lock(folder, 60_000);
      taking.catch(() => {}); // looked at below
      while ((await readFile(lockFile(folder), 'utf8').catch(() => elsewhere)) === elsewhere);
      await rm(lockFile(folder));
      const rival = await open(lockFile(folder), 'wx');
      await rival.write(elsewhere, 0);
      go();
      const beat = setInterval(() => void rival.write(elsewhere, 0), 20);
      await expect(taking).rejects.toThrow(`${folder} is in use by process 1 on another-container`);
      clearInterval(beat);
      await rival.close();
    }));

  it('lets nothing more be written, says so, and is left to its new holder', () =>
    inFolder(async (folder) => {
      const { registry, health, close } = await openIn(folder);
      await registry.commit(change({ a: '1' }));
      await rm(lockFile(folder));
      await writeFile(lockFile(folder), elsewhere);
      const commit = registry.commit(change({ a: '2' }));
      await expect(commit).rejects.toThrow(StoreUnavailable);
      await expect(commit).rejects.toThrow('another process has taken over the folder');
      expect(health()).toMatchObject({ ok: false, reason: expect.stringContaining('taken over') });
      expect((await registry.load()).version).toBe(1);
      await close();
      expect(await readFile(lockFile(folder), 'utf8')).toBe(elsewhere);
    }));
});

describe('parseStart', () => {
  const fields = Array.from({ length: 50 }, (_, at) => String(at + 4)).join(' ');

  it.each(['node', 'a (b) c', ') R 1 2', ''])('finds the start of a process named %j', (name) => {
    expect(parseStart(`12 (${name}) S ${fields}\n`)).toBe('22');
  });

  it.each(['Z', 'X'])('finds none for a dead process (state %s)', (state) => {
    expect(parseStart(`12 (node) ${state} ${fields}\n`)).toBeNull();
  });
});
