/** What a machine runs out of, one case each, and how it is told. */
import type { CaseResult } from '../../stage.js';
import type { World } from '../world.js';

export interface LimitInput {
  /** From 0 to 1, by seed. */
  readonly chance: () => number;
  readonly say: (line: string) => void;
}

/** What a case found; a text is why it could not be done here. */
export type Found =
  | string
  | {
      readonly times: number;
      readonly worst: string;
      readonly faults: readonly string[];
      readonly note: string;
    };

export interface Limit {
  readonly name: string;
  readonly what: string;
  play(input: LimitInput): Promise<Found>;
}

const TOLD_FAULTS = 5;

/** Plays one; what it throws is a fault. */
export async function playLimit({ name, what, play }: Limit, input: LimitInput): Promise<CaseResult> {
  const found = await play(input).catch((error: unknown) => ({
    ...{ times: 1, worst: '-', note: '' },
    faults: [error instanceof Error ? error.message.slice(0, 2000) : String(error)],
  }));
  if (typeof found === 'string') return notRun({ name, what }, found);
  const { times, worst, faults, note } = found;
  for (const fault of faults) input.say(`${name}: ${fault}`);
  return {
    ...{ name, what, times, worst },
    result: faults.length === 0 ? 'held' : 'failed',
    note: [note, ...faults.slice(0, TOLD_FAULTS).map((fault) => fault.slice(0, 200))].join('; '),
  };
}

export function notRun({ name, what }: Pick<Limit, 'name' | 'what'>, note: string): CaseResult {
  return { name, what, times: 0, result: 'not run', worst: '-', note };
}

/** Ends the world, also when the work in it throws. */
export async function inWorld<T>(world: World, work: (world: World) => Promise<T>): Promise<T> {
  try {
    return await work(world);
  } finally {
    await world.end();
  }
}
