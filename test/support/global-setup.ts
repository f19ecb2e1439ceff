import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { BrowserServer } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a redis-server that runs. */
    redisServer: string;
    /** Address that answers where the one Chromium of all tests listens. */
    browserAt: string;
  }
}

/** A program that tests start. */
interface Program {
  /** The environment variable that names one. */
  readonly setting: string;
  /** As it is called on the PATH, the usual name first. */
  readonly names: readonly [string, ...string[]];
  /** What `--version` says where it is the right one. */
  readonly says: RegExp;
  /** Debian's package, and what a Mac installs. */
  readonly debian: string;
  readonly mac: string;
}

const REDIS: Program = {
  setting: 'REDIS_SERVER',
  names: ['redis-server'],
  says: /Redis|Valkey/,
  debian: 'redis-server',
  mac: 'brew install redis',
};

const CHROMIUM: Program = {
  setting: 'CHROMIUM',
  names: ['chromium', 'chromium-browser', 'google-chrome'],
  says: /Chrom/,
  debian: 'chromium',
  mac: 'brew install --cask chromium',
};

/**
 * Finds the real programs that tests start: by their settings, then the PATH, then by installing Debian's.
 * @throws an error with the command to type when there is none: tests are never skipped.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (project.name !== 'pages') {
    project.provide('redisServer', await find(REDIS));
    return async () => {};
  }
  const browser = await offerBrowser(await find(CHROMIUM));
  project.provide('browserAt', browser.url);
  return browser.close;
}

/** One browser for the tests of all workers, started by the first that asks where it is. */
async function offerBrowser(executablePath: string) {
  let started: Promise<BrowserServer> | null = null;
  const start = async () =>
    (await import('playwright-core')).chromium.launchServer({
      executablePath,
      // Without the GPU's process, which draws by software here.
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
  const door = createServer((_request, response) => {
    started ??= start();
    started.then(
      (browser) => response.end(browser.wsEndpoint()),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await once(door.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
    async close() {
      door.close();
      await (await started)?.close();
    },
  };
}

async function find(program: Program): Promise<string> {
  const { setting, names, mac } = program;
  const named = process.env[setting];
  if (named !== undefined && named !== '') {
    if (await runs(named, program)) return named;
    throw new Error(`${setting} is ${named}, which does not run as a ${names[0]}; correct or unset it`);
  }
  const found = (await findOnPath(program)) ?? (await install(program));
  if (found !== null) return found;
  throw new Error(
    `The tests need ${names[0]}. Install it (Debian and Ubuntu: sudo sh -c '${installing(program)}'; macOS: ${mac}), or name one: ${setting}=/path/to/${names[0]} npm test`,
  );
}

async function findOnPath(program: Program): Promise<string | null> {
  for (const name of program.names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      if (folder === '') continue;
      const path = join(folder, name);
      if (await runs(path, program)) return path;
    }
  }
  return null;
}

async function runs(path: string, { says }: Program): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await promisify(execFile)(path, ['--version']);
    return says.test(stdout);
  } catch {
    return false;
  }
}

function installing({ debian }: Program): string {
  return `apt-get update && apt-get install --yes --no-install-recommends ${debian}`;
}

/** Debian and its kin only, and only as root. @returns null when it could not be done */
async function install(program: Program): Promise<string | null> {
  if (process.getuid?.() !== 0 || !(await runsAptGet())) return null;
  process.stdout.write(`No ${program.names[0]} found; installing it with apt-get ...\n`);
  // A service that the package would start is not wanted: tests start servers of their own.
  const child = spawn('sh', ['-c', installing(program)], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', resolve);
  });
  const done = code === 0 ? 'is installed' : `could not be installed: apt-get failed (exit code ${code})`;
  process.stdout.write(`${program.names[0]} ${done}.\n`);
  return code === 0 ? await findOnPath(program) : null;
}

async function runsAptGet(): Promise<boolean> {
  try {
    await promisify(execFile)('apt-get', ['--version']);
    return true;
  } catch {
    return false;
  }
}
