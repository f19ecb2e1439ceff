import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** Which process of which machine this is, so that another can find out whether it still runs. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** The kernel since its start, and the PID namespace; null where there is no /proc. */
  readonly realm: string | null;
  /** When the process started, in the kernel's ticks; null where there is no /proc. */
  readonly startedAt: string | null;
}

export async function describeSelf(): Promise<ProcessIdentity> {
  return {
    pid: process.pid,
    host: hostname(),
    realm: await readRealm(),
    startedAt: await readStart(process.pid),
  };
}

/**
 * Whether the process runs; null when that cannot be told from where `self` is. A number that was given to another
 * process since does not count, nor does a process that is dead and only not yet collected by its parent.
 */
export async function isRunning(process: ProcessIdentity, self: ProcessIdentity): Promise<boolean | null> {
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

async function readStart(pid: number): Promise<string | null> {
  try {
    return parseStart(await readFile(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * The start time in a line of `/proc/<pid>/stat` (proc(5), field 22); null for a process that is dead but not yet
 * collected. The name, field 2, is in parentheses and may itself hold spaces and parentheses.
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
    // EPERM: in use, by somebody else's process.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
