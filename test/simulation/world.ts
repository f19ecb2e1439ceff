/** What is there while a seed is played. */
import type { Chance } from './chance-of-seed.js';
import type { Faults } from './faults.js';
import type { Oracle } from './oracle.js';
import type { Replica } from './replicas.js';
import type { Scheduler } from './scheduler.js';
import type { Shape } from './shape.js';
import type { SimPlatform } from './sim-platform.js';

export interface KeyOfTeam {
  readonly id: string;
  readonly text: string;
  readonly team: string;
}

export interface WorldOfSeed {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  /** Of those who put writes, where there are any. */
  readonly writeChance: Chance;
  /** Of those who read what is streamed through, and who pin. */
  readonly readChance: Chance;
  readonly platform: SimPlatform;
  readonly oracle: Oracle;
  readonly faults: Faults;
  /** Those that serve now. */
  readonly replicas: Map<string, Replica>;
  /** A key of each team, and more. */
  readonly keys: KeyOfTeam[];
  /** Whether what was acknowledged may be lost: the store fails over, or is emptied. */
  readonly isLossy: boolean;
  readonly shape: Shape;
  /** All processes there were. */
  readonly owners: string[];
  /** When a new token was compared with the active one, by reports that nobody is shown: by the scheduler's time. */
  readonly rotations: { readonly fromMs: number; untilMs: number }[];
}

/** Lets time pass. */
export const lapse = ({ scheduler }: Pick<WorldOfSeed, 'scheduler'>, ms: number): Promise<void> =>
  new Promise<void>((resolve) => void scheduler.after(ms, 'world', resolve));

/** @returns a replica that serves; waits for one */
export async function anyReplica(world: WorldOfSeed, chance = world.chance): Promise<Replica> {
  const { replicas } = world;
  while (replicas.size === 0) await lapse(world, 100);
  return chance.pick([...replicas.values()]);
}
