import type { World } from '../world.js';

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
  /** @param chance from 0 to 1, by seed */
  play(chance: () => number): Promise<Found>;
}

/** Ends the world, also when the work in it throws. */
export async function inWorld<T>(world: World, work: (world: World) => Promise<T>): Promise<T> {
  try {
    return await work(world);
  } finally {
    await world.end();
  }
}
