/** A gateway on an empty folder, watched by strace from its first call on, while changes and writes go on. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask, newTeam, type PlatformCall, REPORT, simulatorOf } from '../../../support/ask.js';
import {
  type Env,
  type Gateway,
  launch,
  type Platform,
  planeOf,
  ROOT,
  startPlatform,
  tempFolder,
} from '../../../support/processes.js';
import { waitFor } from '../../../support/wait-for.js';
import { type Diary, startWorks } from '../works.js';
import { askMe, GUARD, leftOfDay } from '../world.js';
import { keptDiary, type Moment } from './diary.js';
import { parseTrace, STRACE_OPTIONS, type Trace } from './trace.js';

export interface Recording {
  readonly trace: Trace;
  /** Empty when the trace began; `data` in it is the gateway's. */
  readonly root: string;
  readonly moments: readonly Moment[];
  /** The diary when all was over. */
  readonly last: Diary;
  /** What reached the platform. */
  readonly calls: readonly PlatformCall[];
  readonly keys: { readonly free: string; readonly guarded: string };
  /** The days to which guarded writes were charged: the first, and another where midnight came. */
  readonly days: readonly string[];
  readonly platform: Platform;
  readonly settings: Env;
}

/** @returns null where strace is there and may watch, else why not */
export async function whyNoStrace(program = 'strace'): Promise<string | null> {
  return await promisify(execFile)(program, [
    '-f',
    '--seccomp-bpf',
    '-e',
    'trace=openat',
    '-qq',
    'true',
  ]).then(
    () => null,
    (error: Error) => `${program} cannot watch here: ${error.message.split('\n')[0]}`,
  );
}

/** @param workMs how long changes and writes go on */
export async function record(workMs: number, chance: () => number): Promise<Recording> {
  const platform = await startPlatform();
  const folder = await tempFolder();
  const root = join(folder, 'disk');
  await mkdir(root);
  const settings: Env = {
    ...platform.env,
    ...{ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', UV_USE_IO_URING: '0' },
    ADMIN_TOKEN: 'an-admin-token-of-the-crashes',
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  const traceFile = join(folder, 'trace');
  const dataDir = join(root, 'data');
  // The gateway is the child, and strace its child's child: signals come to the gateway.
  const started = launch(
    'strace',
    ['-D', ...STRACE_OPTIONS, '-o', traceFile, process.execPath, join(ROOT, 'dist', 'cli.js'), 'serve'],
    { ...settings, GATEWAY_DATA_DIR: dataDir },
  );
  const [data, admin] = await waitFor(
    'listening planes',
    () => {
      const planes = [planeOf(started, 'data'), planeOf(started, 'admin')];
      return planes.every((plane) => plane !== undefined) && (planes as [string, string]);
    },
    started,
  );
  const gateway = Object.assign(started, {
    data,
    admin,
    dataDir,
    adminToken: settings.ADMIN_TOKEN as string,
  });
  const keys = {
    free: (await newTeam(gateway, { id: 'free' })).key,
    guarded: (await newTeam(gateway, { id: 'guarded', writeGuard: GUARD })).key,
  };
  for (const key of Object.values(keys))
    await waitFor('an answer', async () => (await askMe(gateway, key)) === 200, gateway);
  const sim = simulatorOf(platform.url);
  const day = async () => {
    const left = await leftOfDay(gateway, keys.guarded);
    if (typeof left === 'string') throw new Error(left);
    return left.day;
  };
  const firstDay = await day();
  const { diary, moments } = keptDiary();
  const stop = startWorks({ gateways: [gateway], sim, keys }, diary, { chance, imports: true });
  const stopReading = startReading(gateway, keys.free, chance);
  await pause(workMs);
  const days = [...new Set([firstDay, await day()])];
  // In the middle of its work: what was under way may be there.
  await gateway.end('SIGKILL');
  await Promise.all([stop(), stopReading()]);
  const trace = await readTrace(traceFile);
  const calls = await sim.calls();
  return { trace, root, moments, last: diary, calls, keys, days, platform, settings };
}

async function readTrace(path: string): Promise<Trace> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: createReadStream(path, 'latin1') })) lines.push(line);
  await rm(path);
  return parseTrace(lines);
}

/** Fills the cache, and writes over what is in it. @returns stops it */
function startReading(gateway: Gateway, key: string, chance: () => number): () => Promise<void> {
  let going = true;
  const loop = async () => {
    while (going) {
      const advertiser = ADVERTISERS[Math.floor(chance() * ADVERTISERS.length)] as number;
      // One that was killed answers nobody.
      await readRows(gateway, key, advertiser, chance() < 0.5).catch(() => {});
    }
  };
  const looping = loop();
  return async () => {
    going = false;
    await looping;
  };
}

/** Of the simulated platform. */
export const ADVERTISERS: readonly number[] = [1, 2, 3, 4, 5, 6];

/** @returns the rows of a report as JSON, or what was answered instead */
export async function readRows(
  gateway: Pick<Gateway, 'data'>,
  key: string,
  advertiser: number,
  isAnew: boolean,
): Promise<string> {
  const headers: Record<string, string> = isAnew ? { 'cache-control': 'no-cache' } : {};
  const query = `advertiserId=${advertiser}&byDate=1&byCampaign=1&_period=last_7_days`;
  const answer = await ask(`${gateway.data}${REPORT}?${query}`, { key, headers });
  return answer.status === 200 ? JSON.stringify(answer.json().data) : `${answer.status} ${answer.text}`;
}
