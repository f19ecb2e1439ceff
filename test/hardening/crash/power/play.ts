/** Power is lost at many places of a recording: a store, and now and then a whole gateway, starts on what the disk may hold. */
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { simulatorOf } from '../../../support/ask.js';
import { type Gateway, startGateway, tempFolder } from '../../../support/processes.js';
import type { CaseResult } from '../../stage.js';
import { faultsAfter } from '../check.js';
import { askMe, CREATE, leftOfDay } from '../world.js';
import { diskAt } from './disk.js';
import { CHOICES, type Choice, type Image, imageOf } from './image.js';
import { faultsOfFound } from './judge.js';
import { openLooker } from './looker.js';
import { type Point, pointOf } from './points.js';
import { ADVERTISERS, type Recording, readRows, record, whyNoStrace } from './record.js';

export interface PowerLosses {
  /** Milliseconds; one place is tried in any case. */
  readonly timeLeft: () => number;
  /** From 0 to 1, by seed. */
  readonly chance: () => number;
  /** What of the unsynced writes may be there; all choices where it is absent. */
  readonly choices?: readonly Choice[];
  readonly say: (line: string) => void;
}

/** How long changes and writes go on while they are recorded, milliseconds; less where there is less time. */
const WORK_MS = 4_000;
const WORK_LEAST_MS = 500;
const STORES_PER_GATEWAY = 10;
const TOLD_FAULTS = 5;

const STORE = {
  name: 'Power loss, the store opens',
  what: 'Of the writes after the last sync some are there, some not, some torn, in a folder made from a trace of a gateway among changes and writes.',
};
const GATEWAY = {
  name: 'Power loss, a gateway starts',
  what: 'The same, and a whole gateway starts on that folder.',
};

/** Looks at what a folder holds. @returns what does not hold of what has to be there */
type Judge = (dataDir: string, point: Point) => Promise<string[]>;

interface Tally {
  times: number;
  worstMs: number;
  /** Where that was, and what was there of the unsynced writes. */
  worst: string;
  readonly faults: string[];
}

const newTally = (): Tally => ({ times: 0, worstMs: 0, worst: '', faults: [] });

export async function playPowerLoss(options: PowerLosses): Promise<readonly CaseResult[]> {
  const { timeLeft, chance } = options;
  const why = await whyNoStrace();
  if (why !== null)
    return [STORE, GATEWAY].map((one) => ({ ...one, times: 0, result: 'not run', worst: '-', note: why }));
  const recording = await record(Math.max(WORK_LEAST_MS, Math.min(WORK_MS, timeLeft() / 4)), chance);
  try {
    return await losePower(recording, options);
  } finally {
    await recording.platform.end('SIGTERM');
  }
}

/** @returns a line for stores, and one for gateways; each was started once at least */
export async function losePower(recording: Recording, options: PowerLosses): Promise<readonly CaseResult[]> {
  const { trace, last } = recording;
  const looker = openLooker();
  const folder = await tempFolder();
  const [store, gateway] = [newTally(), newTally()];
  const opens: Judge = (dataDir, point) => storeHolds(dataDir, point, recording, looker);
  const starts: Judge = (dataDir, point) => gatewayHolds(dataDir, point, recording);
  try {
    for (let count = 0; count < 2 || options.timeLeft() > 0; count += 1) {
      const isGateway = count % STORES_PER_GATEWAY === 1;
      const [tally, judge] = isGateway ? [gateway, starts] : [store, opens];
      await loseOnce(folder, recording, tally, judge, options);
    }
  } finally {
    await looker.end();
  }
  const note = `${trace.calls.length} calls that change files, ${last.steps} changes and writes acknowledged`;
  return [
    { ...STORE, ...resultOf(store, note, 'until the store is open, and looked through') },
    { ...GATEWAY, ...resultOf(gateway, note, 'until it listens') },
  ];
}

function resultOf({ times, worstMs, worst, faults }: Tally, note: string, until: string) {
  return {
    times,
    result: faults.length === 0 ? ('held' as const) : ('failed' as const),
    worst: `${(worstMs / 1000).toFixed(1)} s ${until}`,
    note: [note, `the longest at ${worst}`, ...faults.slice(0, TOLD_FAULTS)].join('; '),
  };
}

async function loseOnce(
  folder: string,
  recording: Recording,
  tally: Tally,
  judge: Judge,
  { chance, choices = CHOICES, say }: PowerLosses,
): Promise<void> {
  const point = pointOf(recording, chance);
  const choice = choices[Math.floor(chance() * choices.length)] ?? 'none';
  const disk = diskAt(recording.trace.calls, recording.root, point.at);
  await writeImage(folder, imageOf(disk, { choice, chance, zeros: true }));
  const begunMs = performance.now();
  const faults = await judge(join(folder, 'data'), point);
  const ms = performance.now() - begunMs;
  const place = `place ${point.at} of ${recording.trace.length}, unsynced: ${choice}`;
  if (ms > tally.worstMs) Object.assign(tally, { worstMs: ms, worst: place });
  tally.times += 1;
  for (const fault of faults) {
    const line = `${place}: ${fault}`;
    say(line);
    tally.faults.push(line);
  }
}

/** As it is found when the machine has been off for a minute. */
async function writeImage(folder: string, image: Image): Promise<void> {
  const writtenS = Date.now() / 1000 - 60;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const [path, bytes] of image) {
    const whole = join(folder, path);
    if (bytes === null) await mkdir(whole, { mode: 0o700 });
    else {
      await writeFile(whole, bytes, { mode: 0o600 });
      await utimes(whole, writtenS, writtenS);
    }
  }
}

async function storeHolds(
  dataDir: string,
  point: Point,
  { days }: Recording,
  looker: ReturnType<typeof openLooker>,
): Promise<string[]> {
  const purses = days.map((day) => ({ team: 'guarded', route: `POST ${CREATE}`, day }));
  const found = await looker.look({ dataDir, once: [...point.diary.once.keys()], purses });
  return typeof found === 'string' ? [`the store does not open: ${found}`] : faultsOfFound(found, point);
}

async function gatewayHolds(
  dataDir: string,
  { diary, calls }: Point,
  { settings, keys, days, platform }: Recording,
): Promise<string[]> {
  const gateway = await startGateway({ ...settings, GATEWAY_DATA_DIR: dataDir }).catch(
    (error: Error) => error,
  );
  if (gateway instanceof Error) return [`the gateway does not start: ${gateway.message}`];
  try {
    if (diary.steps === 0) return [];
    for (const key of Object.values(keys))
      if ((await askMe(gateway, key)) !== 200)
        return ['a key of the teams that were there before is refused'];
    const left = await leftOfDay(gateway, keys.guarded);
    const isSameDay = typeof left !== 'string' && left.day === days[0];
    const sent = calls.filter(({ body }) => isSameDay || !body.includes('"guarded-'));
    const sim = simulatorOf(platform.url);
    const before = (await sim.calls()).length;
    // What reached the platform after the power was lost never did.
    const seen = { ...sim, calls: async () => [...sent, ...(await sim.calls()).slice(before)] };
    const faults = await faultsAfter(
      { gateways: [gateway], keys, sim: seen, redisIsKilled: false },
      structuredClone(diary),
    );
    return [...faults, ...(await faultsOfRows(gateway, keys.free))];
  } finally {
    await gateway.end('SIGKILL');
  }
}

/** What the cache has kept are the rows that the platform gives. */
async function faultsOfRows(gateway: Gateway, key: string): Promise<string[]> {
  const faults: string[] = [];
  for (const advertiser of ADVERTISERS) {
    const kept = await readRows(gateway, key, advertiser, false);
    const anew = await readRows(gateway, key, advertiser, true);
    if (kept !== anew) faults.push(`rows of advertiser ${advertiser}: ${difference(kept, anew)}`);
  }
  return faults;
}

function difference(kept: string, anew: string): string {
  const at = [...kept].findIndex((letter, index) => letter !== anew[index]);
  return `${kept.slice(Math.max(0, at - 40), at + 40)} for ${anew.slice(Math.max(0, at - 40), at + 40)}`;
}
