/**
 * Ensures one process per data folder, by a file named `lock`. Node has no lock that the kernel releases with the
 * process, so the file names its holder, and the next process checks whether that one is alive:
 * - A holder on the same kernel, in the same PID namespace, is looked up by its number and start time, which is exact.
 * - Any other holder (another container or machine, or without /proc) is alive as long as it writes to the file, which it
 * does every second.
 * Not covered: a holder that cannot be looked up and pauses longer than {@link STALE_AFTER_MS} loses the folder. It
 * checks before each write, so that only a write in progress can still arrive. The same check decides if two processes find
 * a dead holder at once and {@link SETTLE_MS} are not enough. File systems that show writes of other machines late (NFS with
 * attribute caching) are not supported.
 */
import { type Stats, statSync } from 'node:fs';
import { type FileHandle, link, open, readFile, readlink, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { randomId } from '../../lib/chance.js';
import { parseOrNull } from '../../lib/json.js';
import { sleep, startTicks, stopTicks } from '../../lib/time.js';
import { FolderInUse, type StoreLog, StoreRefused } from '../refused.js';
import { nullAt } from './data-folder.js';

interface FolderLockOptions {
  readonly logger: StoreLog;
  /** Silence after which a holder that cannot be looked up counts as dead. */
  readonly staleAfterMs?: number;
  /** The lock was taken over. */
  readonly onLost?: () => void;
}

interface Holder {
  /** Different for each lock. */
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /** The boot of the kernel, and the PID namespace; null without /proc. */
  readonly realm: string | null;
  /** Start of the process in ticks of the kernel; null without /proc. */
  readonly startedAt: string | null;
}

const absent = nullAt('ENOENT');

const HEARTBEAT_MS = 1_000;
const STALE_AFTER_MS = 5_000;
const LOOK_EVERY_MS = 200;
const SETTLE_MS = 100;

/** @throws StoreRefused naming the folder and its living holder */
export async function lockFolder(folder: string, options: FolderLockOptions) {
  const { logger, staleAfterMs = STALE_AFTER_MS } = options;
  const path = join(folder, 'lock');
  const self = await describeSelf();
  let tookOver = false;
  let gaveTime = false;
  for (;;) {
    const file = await open(path, 'wx', 0o600).catch(nullAt('EEXIST'));
    if (file !== null) {
      const lock = await hold(path, file, self, options);
      if (tookOver) await sleep(SETTLE_MS);
      if (await lock.held()) return lock;
      await lock.release();
      continue;
    }
    const found = await readLock(path);
    if (found === null) continue;
    const holder = parseOrNull(found) as Holder | null;
    if (holder === null && !gaveTime) {
      // Its holder has not written yet, or was killed.
      gaveTime = true;
      await sleep(LOOK_EVERY_MS);
      continue;
    }
    const running = holder === null ? null : await isRunning(holder, self);
    if (running ?? (await beats(path, staleAfterMs))) throw refusal(folder, holder, self);
    if (!(await removeJudged(path, found, self))) continue;
    logger.warn({ path, holder: holder?.pid }, 'removed a lock left by a process that is gone');
    tookOver = true;
  }
}

/**
 * Removes a dead lock: moves it aside, compares it again, and moves back one that was made meanwhile.
 * @returns whether it was the dead one
 */
async function removeJudged(path: string, judged: string, { id }: Holder): Promise<boolean> {
  if ((await readLock(path)) !== judged) return false;
  const aside = `${path}.${id}`;
  const moved = await rename(path, aside).then(() => true, absent);
  if (moved === null) return false;
  const wasJudged = (await readLock(aside)) === judged;
  // If that fails, its holder notices the loss at its next check.
  if (!wasJudged) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
  return wasJudged;
}

/** @throws StoreRefused if it is a folder */
async function readLock(path: string): Promise<string | null> {
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EISDIR')
      throw new StoreRefused(
        `${path} is a folder; the gateway keeps its lock in a file of this name: remove or rename the folder, or give the gateway another folder (GATEWAY_DATA_DIR)`,
      );
    return absent(error);
  });
}

function refusal(folder: string, holder: Holder | null, self: Holder): StoreRefused {
  const isSelf =
    holder?.realm === self.realm && holder.pid === self.pid && holder.startedAt === self.startedAt;
  const of = holder && `process ${holder.pid} on ${holder.host}${isSelf ? ' (this very process)' : ''}`;
  return new FolderInUse(
    `the data folder ${folder} is in use by ${of ?? 'another process'}; only one process may use it: stop that one, or give this one another folder (GATEWAY_DATA_DIR)`,
  );
}

/** Whether a process writes to the file, by the clock of the file system, as clocks of machines differ. */
async function beats(path: string, staleAfterMs: number): Promise<boolean> {
  const first = await stat(path).catch(absent);
  if (first === null) return false;
  const ageMs = (await fileSystemNow(path)) - first.mtimeMs;
  let leftMs = Math.min(staleAfterMs, staleAfterMs - ageMs);
  while (leftMs > 0) {
    await sleep(Math.min(LOOK_EVERY_MS, leftMs));
    leftMs -= LOOK_EVERY_MS;
    const again = await stat(path).catch(absent);
    if (again === null) return false;
    if (again.mtimeMs !== first.mtimeMs || again.ino !== first.ino) return true;
  }
  return false;
}

async function fileSystemNow(path: string): Promise<number> {
  const probe = `${path}.${randomId()}`;
  const file = await open(probe, 'wx', 0o600);
  try {
    return (await file.stat()).mtimeMs;
  } finally {
    await file.close();
    await rm(probe, { force: true });
  }
}

async function hold(path: string, file: FileHandle, self: Holder, { logger, onLost }: FolderLockOptions) {
  const text = JSON.stringify(self);
  await file.write(text, 0);
  // While the file is open, its inode is not reused.
  const held = isStill(path, await file.stat());
  let beat: Promise<void> = Promise.resolve();
  const timer = startTicks(() => {
    beat = beat
      .then(async () => {
        await file.write(text, 0);
        if (await held()) return;
        stopTicks(timer);
        logger.error({ path }, 'the folder was removed, or another process has taken it over');
        onLost?.();
      })
      .catch((error: unknown) => logger.warn({ err: error, path }, 'failed to refresh the lock'));
  }, HEARTBEAT_MS);
  timer.unref();

  return {
    /** Whether the folder is still ours. */
    held,
    async release(): Promise<void> {
      stopTicks(timer);
      await beat;
      if (await held()) await rm(path, { force: true });
      await file.close();
    },
  };
}

async function describeSelf(): Promise<Holder> {
  const { pid } = process;
  const [realm, startedAt] = await Promise.all([readRealm(), readStart(pid)]);
  return { id: randomId(), pid, host: hostname(), realm, startedAt };
}

/** Whether the process runs; null: unknown. A reused number or a zombie does not count. */
async function isRunning(process: Holder, self: Holder): Promise<boolean | null> {
  if (process.realm !== null && process.realm === self.realm) {
    const startedAt = await readStart(process.pid);
    return startedAt !== null && startedAt === process.startedAt;
  }
  const bothBlind = process.realm === null && self.realm === null && process.host === self.host;
  return bothBlind && !isNumberInUse(process.pid) ? false : null;
}

async function readRealm(): Promise<string | null> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

const readStart = (pid: number): Promise<string | null> =>
  readFile(`/proc/${pid}/stat`, 'utf8').then(parseStart, () => null);

/**
 * The start time in a line of `/proc/<pid>/stat` (proc(5), field 22); null for a zombie. The name, field 2, is in
 * parentheses and may contain spaces and parentheses.
 */
export function parseStart(line: string): string | null {
  const [state, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return null;
  return rest[18] ?? null;
}

function isNumberInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: a process of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Synchronous, as it runs before each write: it takes a few microseconds, on another thread ten times as long.
 * @param file the file of that name, open or mapped, so that its inode is not reused
 * @returns whether the name still leads to this file
 */
export function isStill(path: string, file: Pick<Stats, 'ino' | 'dev'>): () => Promise<boolean> {
  return async () => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found !== undefined && found.ino === file.ino && found.dev === file.dev;
  };
}
