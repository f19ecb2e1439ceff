/** One seed, from the first replica's start to the last one's end. */
import { useChance } from '../../src/chance.js';
import type { Config } from '../../src/config/load.js';
import { useTime } from '../../src/time.js';
import { createMemoryServer } from '../support/memory/memory-store.js';
import { clockOf, DAY, NOON } from '../support/test-clock.js';
import { chanceOf } from './chance-of-seed.js';
import { type Faults, planFaults } from './faults.js';
import { createOracle } from './oracle.js';
import { type Replica, startReplica, stopReplica } from './replicas.js';
import { createScheduler, type Scheduler } from './scheduler.js';
import { ADVERTISERS, createSimPlatform, DAYS_BACK, dayAgo } from './sim-platform.js';
import { askAt, caller, newTeam, operator, question, restating, type WorldOfSeed } from './workload.js';

export interface Outcome {
  readonly seed: number;
  /** Of every step, answer and platform call. */
  readonly hash: string;
  readonly steps: number;
  readonly virtualMs: number;
  /** Answers by status and code. */
  readonly counts: ReadonlyMap<string, number>;
}

const NAMES = ['replica-0', 'replica-1', 'replica-2'];
/** Nothing goes wrong any more, nobody asks any more, and everything has come to rest. */
const [WORK_MS, QUIET_MS] = [20_000, 10_000];
const CALLERS = 4;
/** Leases that are never released: they say that something has been done, until they lapse. */
const LAPSING = /^(cross-check:|history:sweep)/;

/** Every fourth seed's callers come in by Fastify, and those of the others at `gateway.ts`. */
const isByFastify = (seed: number) => seed % 4 === 0;

/** @throws what the oracle found, or what was thrown at a caller */
export async function simulate(seed: number, config: Config): Promise<Outcome> {
  const chance = (name: string) => chanceOf(seed, name);
  const scheduler = createScheduler(chance('order'), NOON + chance('hour').below(DAY));
  const machine = { now: Date.now, random: Math.random };
  useTime(scheduler);
  useChance(chance('program'));
  // Libraries look at them, too.
  Date.now = () => scheduler.wallMs();
  Math.random = chance('libraries').randomShare;
  try {
    return await scheduler.run(play(seed, config, scheduler));
  } catch (error) {
    const again = `SEED=${seed} npx vitest run test/simulation/simulation.test.ts`;
    throw new Error(`${(error as Error).message}\nTo play it again: ${again}`, { cause: error });
  } finally {
    useTime(null);
    useChance(null);
    Date.now = machine.now;
    Math.random = machine.random;
  }
}

async function play(seed: number, config: Config, scheduler: Scheduler): Promise<Outcome> {
  const chance = (name: string) => chanceOf(seed, name);
  const faults = planFaults(chance('faults'), NAMES, WORK_MS);
  const logger = { info() {}, warn() {}, error() {} };
  const server = createMemoryServer({ clock: clockOf(scheduler), logger });
  const platform = createSimPlatform({ scheduler, faults, chance: chance('platform') });
  platform.issueToken();
  const oracle = createOracle({ platform, scheduler, faults });
  const world: WorldOfSeed = {
    ...{ scheduler, platform, oracle, chance: chance('workload'), keys: [], replicas: new Map() },
    isLossy: faults.losses.length > 0,
  };
  const dice = chance('numbers');
  for (const advertiser of ADVERTISERS)
    for (let ago = 0; ago <= DAYS_BACK; ago += 1)
      if (dice.is(0.85)) platform.restate(advertiser, dayAgo(scheduler.wallMs(), ago));
  const options = {
    config,
    server,
    platform,
    scheduler,
    faults,
    byFastify: isByFastify(seed),
    chance: chance('store'),
  };
  const start = async (name: string) =>
    void world.replicas.set(name, await scheduler.begin(name, () => startReplica(name, options)));
  for (const name of NAMES) await start(name);
  const [first] = [...world.replicas.values()] as [Replica];
  await newTeam(world, first, 'one', [1]);
  await newTeam(world, first, 'two', [2]);
  await newTeam(world, first, 'all', '*');
  if (world.keys.length < 3) throw new Error('the teams could not be made');
  lose(faults, server, scheduler);
  await Promise.all([
    ...Array.from({ length: CALLERS }, () => caller(world, WORK_MS)),
    operator(world, WORK_MS),
    restating(world, WORK_MS),
    restarts(world, start),
  ]);
  await quiet(scheduler);
  await atRest(world, server);
  for (const replica of world.replicas.values())
    await scheduler.begin(replica.name, () => stopReplica(replica));
  await quiet(scheduler);
  if (platform.underWay > 0) throw new Error(`${platform.underWay} calls of the platform are left`);
  for (const name of NAMES)
    if (scheduler.waiting(name) > 0) throw new Error(`${scheduler.waiting(name)} timers of ${name} are left`);
  const { steps, nowMs } = scheduler;
  return { seed, hash: scheduler.hash(), steps, virtualMs: nowMs, counts: oracle.counts };
}

const quiet = (scheduler: Scheduler) =>
  new Promise<void>((resolve) => void scheduler.after(QUIET_MS, 'world', resolve));

/** The store is emptied, or another server takes over that has not got the last changes. */
function lose({ losses }: Faults, server: ReturnType<typeof createMemoryServer>, scheduler: Scheduler): void {
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

/** One replica is stopped, or killed, and started again. */
async function restarts(world: WorldOfSeed, start: (name: string) => Promise<void>): Promise<void> {
  const { scheduler, chance, replicas, isLossy } = world;
  const wait = (ms: number) => new Promise<void>((resolve) => void scheduler.after(ms, 'world', resolve));
  // Of a registry that is lost, those that live know most.
  if (isLossy || chance.is(0.5)) return;
  await wait(chance.between(4_000, 15_000));
  const name = chance.pick(NAMES);
  const replica = replicas.get(name) as Replica;
  replicas.delete(name);
  // What came before is still answered.
  await scheduler.begin(name, () => stopReplica(replica));
  await wait(chance.between(0, 4_000));
  for (;;) {
    try {
      return await start(name);
    } catch (error) {
      if ((error as Error).name !== 'StoreUnavailable') throw error;
      await wait(1_000);
    }
  }
}

/** Nothing is held, nobody waits, everybody knows the same, and everything is answered. */
async function atRest(world: WorldOfSeed, server: ReturnType<typeof createMemoryServer>): Promise<void> {
  const { replicas, oracle, keys } = world;
  const leases = server.leases().filter(([name]) => !LAPSING.test(name));
  if (leases.length > 0) throw new Error(`leases are left: ${JSON.stringify(leases)}`);
  for (const { name, services, log } of replicas.values()) {
    const outlived = log.find((line) => line.includes('outlived its call'));
    if (outlived !== undefined)
      throw new Error(`${name} let go of a lock that nobody had ended: ${outlived}`);
    const { budget, pipeline, registry, directory } = services;
    const left = { running: budget.running, queued: budget.queued, waiting: pipeline.waiting() };
    if (Object.values(left).some((count) => count > 0))
      throw new Error(`${name} has left ${JSON.stringify(left)}`);
    const [{ services: other }] = [...replicas.values()] as [Replica];
    if (registry.version !== other.registry.version) throw new Error(`${name} knows another registry`);
    for (const [id, all] of oracle.policies) {
      const wanted = all.findLast(({ doneMs }) => doneMs !== null);
      const later = wanted === undefined ? all : all.slice(all.indexOf(wanted));
      const found = JSON.stringify(directory.team(id)?.advertisers);
      if (wanted !== undefined && !later.some(({ advertisers }) => JSON.stringify(advertisers) === found))
        throw new Error(`${name} has lost the policy of ${id}: ${found}`);
    }
    for (const key of keys) {
      const isRevoked = (directory.key(key.id)?.revokedAt ?? null) !== null;
      const wanted = oracle.revoked.get(key.text);
      if (wanted?.doneMs !== undefined && wanted.doneMs !== null && !isRevoked)
        throw new Error(`${name} has lost the revocation of ${key.id}`);
    }
  }
  await everythingIsAnswered(world);
}

async function everythingIsAnswered(world: WorldOfSeed): Promise<void> {
  const { replicas, oracle, keys, scheduler } = world;
  const last = keys.find(({ team }) => team === 'all');
  if (last === undefined) throw new Error('no key of a team that sees all');
  const before = oracle.counts.get('200') ?? 0;
  for (const replica of replicas.values()) {
    const asked = question({ ...world, keys: [last] }, replica);
    await askAt(world, { ...asked, directive: null, atMs: scheduler.nowMs }, replica);
  }
  if ((oracle.counts.get('200') ?? 0) < before + replicas.size)
    throw new Error('not everything is answered at rest');
}
