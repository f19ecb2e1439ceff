/** One seed, from the first replica's start to the last one's end. */

import type { Config } from '../../src/config/load.js';
import { useChance } from '../../src/lib/chance.js';
import { useTime } from '../../src/lib/time.js';
import { createMemoryServer, type MemoryServer } from '../support/memory/memory-store.js';
import { clockOf, DAY, NOON } from '../support/test-clock.js';
import { caller } from './asking.js';
import { atRest } from './at-rest.js';
import { chanceOf } from './chance-of-seed.js';
import { ends, newTeams } from './ends.js';
import { type Faults, planFaults } from './faults.js';
import { createFollower, follow, followedAll } from './follower.js';
import { createOracle } from './oracle.js';
import { lookBack } from './past.js';
import { pinner, streamReader } from './readers.js';
import { type Replica, startReplica, stopReplica } from './replicas.js';
import { createScheduler, type Scheduler } from './scheduler.js';
import { NAMES, type Shape, shapeOf } from './shape.js';
import { ADVERTISERS, createSimPlatform, DAYS_BACK, dayAgo, type SimPlatform } from './sim-platform.js';
import { watchSlots } from './watch-slots.js';
import { operator, restating } from './workload.js';
import { lapse, type WorldOfSeed } from './world.js';
import { judgeDay, writer } from './writes.js';

export interface Outcome {
  readonly seed: number;
  /** A line for each step, answer and platform call. */
  readonly trace: readonly string[];
  readonly steps: number;
  readonly virtualMs: number;
  /** Answers by status and code. */
  readonly counts: ReadonlyMap<string, number>;
}

/** When all three serve, and callers begin. */
const BEGIN_MS = 1_800;
/** Nothing goes wrong any more, nobody asks any more, and everything has come to rest. */
const QUIET_MS = 10_000;

export interface SimulateOptions {
  readonly configOf: (shape: Shape) => Config;
  /** Whether callers come in by Fastify, or at `gateway.ts`. */
  readonly byFastify: boolean;
}

/** @throws what the oracle found, or what was thrown at a caller */
export async function simulate(seed: number, options: SimulateOptions): Promise<Outcome> {
  const chance = (name: string) => chanceOf(seed, name);
  const decided = shapeOf(chance('shape'));
  const shape = { ...decided, writes: decided.writes && options.byFastify };
  const skewOf = (owner: string) => shape.skewMs.get(owner.replace(/#.*/, '')) ?? 0;
  const scheduler = createScheduler(chance('order'), NOON + chance('hour').below(DAY), skewOf);
  const machine = { now: Date.now, random: Math.random, traces: Error.stackTraceLimit };
  useTime(scheduler);
  useChance(chance('program'));
  // Libraries look at them, too.
  Date.now = () => scheduler.wallMs();
  Math.random = chance('libraries').randomShare;
  // Most errors are refusals that nobody reads the trace of, and it costs more than the refusal.
  if (process.env.SEED === undefined) Error.stackTraceLimit = 0;
  try {
    return await scheduler.run(play(seed, shape, scheduler, options));
  } finally {
    useTime(null);
    useChance(null);
    Date.now = machine.now;
    Math.random = machine.random;
    Error.stackTraceLimit = machine.traces;
  }
}

async function play(
  seed: number,
  shape: Shape,
  scheduler: Scheduler,
  { configOf, byFastify }: SimulateOptions,
): Promise<Outcome> {
  const chance = (name: string) => chanceOf(seed, name);
  const untilMs = BEGIN_MS + shape.workMs;
  const faults = planFaults(chance('faults'), {
    replicas: NAMES,
    workMs: [BEGIN_MS, untilMs],
    isCrowd: shape.isCrowd,
    mayLose: shape.end !== 'lost-registry',
  });
  const logger = { info() {}, warn() {}, error() {} };
  const server = createMemoryServer({ clock: clockOf(scheduler), logger });
  const platform = createSimPlatform({ scheduler, faults, chance: chance('platform') });
  platform.issueToken();
  const oracle = createOracle({ platform, scheduler, faults, shape });
  const world: WorldOfSeed = {
    scheduler,
    platform,
    oracle,
    faults,
    shape,
    chance: chance('workload'),
    keys: [],
    owners: [],
    rotations: [],
    writeChance: chance('writes'),
    readChance: chance('reads'),
    replicas: new Map(),
    isLossy: faults.losses.length > 0,
  };
  firstNumbers(platform, scheduler, chance('numbers'));
  if (shape.night !== null) hideEnds(world, shape.night.outage[0]);
  const config = configOf(shape);
  const options = { config, server, platform, scheduler, faults, byFastify, chance: chance('store') };
  const start = async (name: string) => {
    const owner = `${name}#${world.owners.length}`;
    world.owners.push(owner);
    const begun = scheduler.begin(owner, () => startReplica(name, owner, options));
    const replica = await begun.catch((error: unknown) => {
      // A process whose start fails ends.
      scheduler.kill(owner);
      throw error;
    });
    world.replicas.set(name, replica);
  };
  for (const name of NAMES) await start(name);
  await newTeams(world, world.replicas.get(NAMES[0]) as Replica);
  lose(faults, server, scheduler);
  const endWatch = watchSlots(world);
  const follower = createFollower();
  await Promise.all([
    ...Array.from({ length: shape.callers }, () => caller(world, untilMs)),
    operator(world, untilMs),
    ...(shape.writes ? ['a', 'b'].map((of) => writer(world, untilMs, of)) : []),
    ...(shape.writes ? ['c', 'd'].map((of) => streamReader(world, untilMs, of)) : []),
    ...(shape.writes ? [pinner(world, untilMs)] : []),
    ...(byFastify ? [follow(world, untilMs, follower)] : []),
    restating(world, untilMs),
    ends({ world, server, start }),
    night(world),
  ]);
  await lapse(world, QUIET_MS);
  await atRest(world, server);
  if (shape.writes) await judgeDay(world);
  if (byFastify) await followedAll(world, server, follower);
  endWatch();
  await lookBack(world);
  await endAll(world);
  const { steps, nowMs } = scheduler;
  return { seed, trace: scheduler.trace, steps, virtualMs: nowMs, counts: oracle.counts };
}

function firstNumbers(platform: SimPlatform, scheduler: Scheduler, dice: ReturnType<typeof chanceOf>): void {
  for (const advertiser of ADVERTISERS)
    for (let ago = 0; ago <= DAYS_BACK; ago += 1)
      if (dice.is(0.85)) platform.restate(advertiser, dayAgo(scheduler.trueMs(), ago));
}

/** The store is emptied, or another server takes over that has not got the last changes. */
function lose({ losses }: Faults, server: MemoryServer, scheduler: Scheduler): void {
  for (const { atMs, backMs, kind } of losses) {
    let failOver = () => {};
    scheduler.after(atMs - backMs - scheduler.nowMs, 'store', () => {
      failOver = server.save();
    });
    scheduler.after(atMs - scheduler.nowMs, 'store', () =>
      kind === 'emptied' ? server.empty() : failOver(),
    );
  }
}

/** Hours in which nobody asks. */
async function night(world: WorldOfSeed): Promise<void> {
  const { scheduler, shape } = world;
  if (shape.night === null) return;
  await lapse(world, shape.night.share * shape.workMs);
  scheduler.leap(shape.night.ms);
  hideEnds(world, shape.night.outage[1]);
}

/** An outage at the platform: late days are not there. */
function hideEnds({ platform, chance, scheduler }: WorldOfSeed, daysAgo: number): void {
  for (const advertiser of ADVERTISERS)
    if (chance.is(0.8)) platform.unsay(advertiser, dayAgo(scheduler.trueMs(), daysAgo));
}

async function endAll(world: WorldOfSeed): Promise<void> {
  const { scheduler, platform, replicas, owners } = world;
  for (const replica of replicas.values()) await scheduler.begin(replica.owner, () => stopReplica(replica));
  await lapse(world, QUIET_MS);
  if (platform.underWay > 0) throw new Error(`${platform.underWay} calls of the platform are left`);
  for (const owner of owners)
    if (scheduler.waiting(owner) > 0)
      throw new Error(`${scheduler.waiting(owner)} timers of ${owner} are left`);
}
