/**
 * Real processes of the built command line, as an operator starts them. Whatever a test file starts here is ended,
 * and its folders are removed, when the file is through.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { SimulatorOptions } from '../../src/simulator/simulator-api.js';
import { afterEachFile } from './after-file.js';
import { waitFor } from './wait-for.js';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLI = join(ROOT, 'dist', 'cli.js');

export type Env = Readonly<Record<string, string>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Process {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Promise<Exit>;
  /** Goes away as the reader of its standard output. */
  stopReading(): void;
  /** Reads its standard output no further, and stays. */
  pauseReading(): void;
  signal(name: NodeJS.Signals): void;
  /** Sends a signal and waits for the end. */
  end(name: NodeJS.Signals): Promise<Exit>;
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();
const platforms = new Set<Platform>();

afterEachFile(async () => {
  for (const child of running) killGroup(child);
  await Promise.all([...platforms].map((platform) => platform.close()));
  await Promise.all([...folders].map((folder) => rm(folder, { recursive: true, force: true })));
  folders.clear();
});

/** With a group of its own, for npm starts a shell that starts the command. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A folder that is removed when the test file is through. */
export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-process-'));
  folders.add(folder);
  return folder;
}

/**
 * Starts a command with exactly this environment, beside PATH and HOME.
 * @param output a file descriptor in the place of what is collected
 */
export function launch(
  command: string,
  args: readonly string[],
  env: Env = {},
  output: number | 'pipe' = 'pipe',
): Process {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', output, 'pipe'],
    detached: true,
  });
  running.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // `close` comes when the pipes are read to their end, so that nothing of the output is missing.
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    pid: child.pid ?? 0,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    exited,
    stopReading: () => void child.stdout?.destroy(),
    pauseReading: () => void child.stdout?.pause(),
    signal: (name) => void child.kill(name),
    end(name) {
      child.kill(name);
      return exited;
    },
  };
}

/** Runs `dsp-gateway` as it is built. */
export function launchCli(args: readonly string[], env: Env = {}, stdout: number | 'pipe' = 'pipe'): Process {
  return launch(process.execPath, [CLI, ...args], env, stdout);
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** How much of each output was read, and what was found in it: whoever waits for a line asks over and over. */
const read = new WeakMap<Process, { length: number; readonly lines: LogLine[] }>();

/** The JSON lines of a log; what is no JSON is left out. */
export function logLines(started: Process): LogLine[] {
  const known = read.get(started) ?? { length: 0, lines: [] };
  const { stdout } = started;
  const end = stdout.lastIndexOf('\n') + 1;
  for (const line of stdout.slice(known.length, end).split('\n'))
    if (line.startsWith('{') && line.endsWith('}')) known.lines.push(JSON.parse(line) as LogLine);
  known.length = end;
  read.set(started, known);
  return [...known.lines];
}

export interface Gateway extends Process {
  /** Base addresses of the planes. */
  readonly data: string;
  readonly admin: string;
  readonly adminToken: string;
  readonly dataDir: string;
}

/** Settings every gateway of a test has: the loopback, free ports. */
const LOOPBACK: Env = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' };

/** Settings every gateway of a test on Redis has: a busy machine is no slow Redis. */
const PATIENT_REDIS: Env = { GATEWAY_CONFIG: join(ROOT, 'test', 'support', 'patient-redis.yaml') };

/** `dsp-gateway serve` without waiting for anything. */
export async function launchGateway(env: Env): Promise<Process & { readonly dataDir: string }> {
  const dataDir = env.GATEWAY_DATA_DIR ?? join(await tempFolder(), 'data');
  const patient = env.REDIS_URL === undefined ? {} : PATIENT_REDIS;
  const started = launchCli(['serve'], { ...LOOPBACK, ...patient, GATEWAY_DATA_DIR: dataDir, ...env });
  return Object.assign(started, { dataDir });
}

/** Starts a gateway and waits until its data and admin planes listen. */
export async function startGateway(env: Env): Promise<Gateway> {
  const started = await launchGateway(env);
  const [data, admin] = await waitFor('listening planes', () => planesOf(started), started);
  const tokenFile = env.ADMIN_TOKEN_FILE ?? join(started.dataDir, 'admin.token');
  const adminToken = env.ADMIN_TOKEN ?? (await readFile(tokenFile, 'utf8')).trim();
  return Object.assign(started, { data, admin, adminToken });
}

/** Workers say where the data plane is, their supervisor where the admin plane is. */
function planesOf(started: Process): [string, string] | undefined {
  const data = planeOf(started, 'data');
  const admin = planeOf(started, 'admin');
  return data === undefined || admin === undefined ? undefined : [data, admin];
}

/** Where a plane listens, by the log. */
export function planeOf(started: Process, plane: 'data' | 'admin' | 'metrics'): string | undefined {
  return logLines(started)
    .filter(({ msg }) => msg === 'listening')
    .map(({ urls }) => (urls as Record<string, string>)[plane])
    .find((url) => url !== undefined);
}

export interface Platform {
  readonly url: string;
  readonly token: string;
  readonly username: string;
  readonly password: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Settings of a gateway in front of it, by way 1. */
  readonly env: Env;
  /** The same by way 2, the token request. */
  readonly mintEnv: Env;
  close(): Promise<void>;
}

/** The simulator, in this process, without a rate limit unless a switch says otherwise. Ended with the test file. */
export async function startPlatform({ switches, ...options }: SimulatorOptions = {}): Promise<Platform> {
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0, ...switches }, ...options });
  const { url, token } = simulator;
  const { username, password, clientSecret } = simulator.account;
  const clientId = String(simulator.account.clientId);
  const secrets = {
    PLATFORM_USERNAME: username,
    PLATFORM_PASSWORD: password,
    PLATFORM_CLIENT_ID: clientId,
    PLATFORM_CLIENT_SECRET: clientSecret,
  };
  const platform = {
    url,
    token,
    username,
    password,
    clientId,
    clientSecret,
    env: { PLATFORM_BASE_URL: url, PLATFORM_TOKEN: token },
    mintEnv: { PLATFORM_BASE_URL: url, ...secrets },
    async close() {
      if (platforms.delete(platform)) await simulator.close();
    },
  };
  platforms.add(platform);
  return platform;
}
