import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { waitFor } from './wait-for.js';

export interface StartRedisOptions {
  /** Further arguments of redis-server, e.g. `['--maxmemory', '1mb']`. */
  readonly args?: readonly string[];
  /** A free one when not given. */
  readonly port?: number;
}

/** A private redis-server. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now; another after a restart. */
  readonly pid: number;
  /** Stops it where it stands (SIGSTOP): connections stay open, nothing is answered. */
  pause(): void;
  resume(): void;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Kills it if it runs, and starts it again on the same port, with the same folder. */
  restart(): Promise<void>;
  /** Kills it and removes its folder. */
  close(): Promise<void>;
}

let own: string | null = null;

/** Names the program where no test runner has found one. */
export function useRedisProgram(path: string): void {
  own = path;
}

export const redisProgram = (): string => own ?? inject('redisServer');

const TRIES = 5;
/** Starts a server on a free port of the loopback, without persistence, and waits until it answers. */
export async function startRedis(options: StartRedisOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-redis-'));
  const { args = [] } = options;
  let port = options.port ?? (await freePort());
  let child = await launchSomewhere();

  /** A port found free may be taken by the time the server binds it. */
  async function launchSomewhere(): Promise<ChildProcess> {
    for (let left = TRIES; ; left -= 1) {
      try {
        return await launch(port, folder, args);
      } catch (error) {
        if (options.port !== undefined || left === 1 || !String(error).includes('bind')) throw error;
        port = await freePort();
      }
    }
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  return {
    get url() {
      return `redis://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    get pid() {
      return child.pid ?? 0;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill,
    async restart() {
      await kill();
      child = await launch(port, folder, args);
    },
    async close() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function launch(port: number, folder: string, args: readonly string[]): Promise<ChildProcess> {
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const child = spawn(redisProgram(), [...settings, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  // Both: its own word, for somebody else may be what answers on the port, and an answer.
  try {
    await waitFor(`redis-server on port ${port}`, async () => {
      if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`);
      return /Ready to accept connections/.test(output) && (await answers(port));
    });
  } catch (cause) {
    child.kill('SIGKILL');
    throw new Error(`redis-server did not start on port ${port}:\n${output}`, { cause });
  }
  return child;
}

/** Whether something that speaks Redis answers a PING, be it with NOAUTH. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
