/** How a seed is played from elsewhere: by the hardening run. */
import type { Config } from '../../src/config/load.js';
import { settings } from './replicas.js';
import { simulate } from './simulate.js';

export interface Played {
  /** Of every step, answer and platform call; '' where it failed. */
  readonly hash: string;
  /** What is wrong, with the command that plays it again; none: it held. */
  readonly failures: readonly string[];
}

let config: Promise<Config> | null = null;

/**
 * Plays a seed, a whole number. One at a time: time and chance of the whole process are the seed's meanwhile.
 * @returns what came of it; never rejects for what the simulation finds
 */
export async function playSeed(seed: number): Promise<Played> {
  config ??= settings();
  try {
    const { hash } = await simulate(seed, await config);
    return { hash, failures: [] };
  } catch (error) {
    return { hash: '', failures: [(error as Error).message] };
  }
}
