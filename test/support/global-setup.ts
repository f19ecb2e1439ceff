import { execFile, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a redis-server that runs. */
    redisServer: string;
  }
}

const INSTALL = 'apt-get update && apt-get install --yes --no-install-recommends redis-server';

/**
 * Finds the real Redis that tests start servers of: by REDIS_SERVER, then the PATH, then by installing Debian's.
 * @throws an error with the command to type when there is none: tests are never skipped.
 */
export default async function setup(project: TestProject): Promise<void> {
  project.provide('redisServer', await findRedisServer());
}

async function findRedisServer(): Promise<string> {
  const named = process.env.REDIS_SERVER;
  if (named !== undefined && named !== '') {
    if (await runs(named)) return named;
    throw new Error(`REDIS_SERVER is ${named}, which does not run as a redis-server; correct or unset it`);
  }
  const found = (await findOnPath()) ?? (await install());
  if (found !== null) return found;
  throw new Error(
    `The tests need a redis-server. Install one (Debian and Ubuntu: sudo sh -c '${INSTALL}'; macOS: brew install redis), or name one: REDIS_SERVER=/path/to/redis-server npm test`,
  );
}

async function findOnPath(): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder === '') continue;
    const path = join(folder, 'redis-server');
    if (await runs(path)) return path;
  }
  return null;
}

async function runs(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await promisify(execFile)(path, ['--version']);
    return /Redis|Valkey/.test(stdout);
  } catch {
    return false;
  }
}

/** Debian and its kin only, and only as root. @returns null when it could not be done */
async function install(): Promise<string | null> {
  if (process.getuid?.() !== 0 || !(await runsAptGet())) return null;
  process.stdout.write('No redis-server found; installing it with apt-get ...\n');
  // The service that the package would start is not wanted: tests start servers of their own.
  const child = spawn('sh', ['-c', INSTALL], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', resolve);
  });
  process.stdout.write(code === 0 ? 'redis-server is installed.\n' : `apt-get failed (exit code ${code}).\n`);
  return code === 0 ? await findOnPath() : null;
}

async function runsAptGet(): Promise<boolean> {
  try {
    await promisify(execFile)('apt-get', ['--version']);
    return true;
  } catch {
    return false;
  }
}
