/** What becomes of replicas while others go on: one is stopped, or killed without a word, or all are, and the registry is lost. */
import type { MemoryServer } from '../support/memory/memory-store.js';
import { FIRST_TOKEN, type Replica, stopReplica } from './replicas.js';
import { NAMES, teamsOf } from './shape.js';
import { newTeam } from './workload.js';
import { lapse, type WorldOfSeed } from './world.js';

export interface EndOptions {
  readonly world: WorldOfSeed;
  readonly server: MemoryServer;
  readonly start: (name: string) => Promise<void>;
}

export async function ends(options: EndOptions): Promise<void> {
  const { world } = options;
  const { shape, chance, isLossy } = world;
  if (shape.end === 'none') return;
  await lapse(world, chance.between(500, shape.workMs / 2));
  if (shape.end === 'lost-registry') return loseRegistry(options);
  // Of a registry that is lost, those that live know most.
  if (isLossy) return;
  const name = chance.pick(NAMES);
  const replica = world.replicas.get(name) as Replica;
  world.replicas.delete(name);
  // What came before is still answered by one that is stopped.
  if (shape.end === 'kill') kill(world, replica);
  else await world.scheduler.begin(replica.owner, () => stopReplica(replica));
  await lapse(world, chance.between(0, 2_000));
  await startAgain(options, name);
}

function kill({ scheduler }: WorldOfSeed, { owner, agent }: Replica): void {
  scheduler.note(`killed ${owner}`);
  scheduler.kill(owner);
  agent.forget();
}

async function startAgain({ world, start }: EndOptions, name: string): Promise<void> {
  for (;;) {
    try {
      return await start(name);
    } catch (error) {
      if ((error as Error).name !== 'StoreUnavailable') throw error;
      await lapse(world, 1_000);
    }
  }
}

/**
 * No process is left that knows the registry, and the store has lost it, but not the cache: whatever is begun anew gives
 * nothing that was kept before.
 */
async function loseRegistry(options: EndOptions): Promise<void> {
  const { world, server } = options;
  const { replicas, scheduler, oracle, platform, keys } = world;
  for (const replica of replicas.values()) kill(world, replica);
  replicas.clear();
  server.loseRegistry();
  platform.accept(FIRST_TOKEN);
  const now = { byReplica: '', askedMs: scheduler.nowMs, doneMs: scheduler.nowMs };
  oracle.purges.push({ ...now, advertiser: null });
  for (const { text } of keys.splice(0)) oracle.revoked.set(text, now);
  oracle.policies.clear();
  await Promise.all(NAMES.map((name) => startAgain(options, name)));
  const [first] = [...replicas.values()] as [Replica];
  await newTeams(world, first);
}

/** Made in their order, for their first keys are never revoked. */
export async function newTeams(world: WorldOfSeed, replica: Replica): Promise<void> {
  for (const [id, advertisers] of teamsOf(world.shape))
    while (!world.keys.some(({ team }) => team === id)) {
      await newTeam(world, replica, id, advertisers);
      await lapse(world, 10);
    }
}
