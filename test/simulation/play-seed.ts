/** How a seed is played from elsewhere: by the tests, and by the hardening run. */
import { settings } from './replicas.js';
import { simulate } from './simulate.js';

export interface Played {
  /** A line for each step, answer and platform call; none where it failed. */
  readonly trace: readonly string[];
  /** What is wrong, with the command that plays it again; none: it held. */
  readonly failures: readonly string[];
  /** Pieces of work that were done. */
  readonly steps: number;
  /** Answers by status and code. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface PlayOptions {
  /** Whether callers come in by Fastify, or at `gateway.ts`; every second seed's when absent. */
  readonly byFastify?: boolean;
}

let configOf: ReturnType<typeof settings> | null = null;

/**
 * Plays a seed, a whole number. One at a time: time and chance of the whole process are the seed's meanwhile.
 * @returns what came of it; never rejects for what the simulation finds
 */
export async function playSeed(seed: number, options: PlayOptions = {}): Promise<Played> {
  configOf ??= settings();
  const { byFastify = seed % 2 === 0 } = options;
  try {
    const { trace, steps, counts } = await simulate(seed, { configOf: await configOf, byFastify });
    return { trace, steps, counts, failures: [] };
  } catch (error) {
    const way = options.byFastify === undefined ? '' : `BY_FASTIFY=${byFastify ? 1 : 0} `;
    const again = `To play it again: ${way}SEED=${seed} npx vitest run test/simulation/simulation.test.ts`;
    const { message, stack = '' } = error as Error;
    const stackText = process.env.SEED === undefined ? '' : `\n${stack}`;
    return {
      trace: [],
      steps: 0,
      counts: new Map(),
      failures: [`seed ${seed}: ${message}\n${again}${stackText}`],
    };
  }
}
