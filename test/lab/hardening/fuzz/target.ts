/** What a kind of input is given to. */
import type { Chance } from '../../../simulation/chance-of-seed.js';

export interface Target {
  readonly name: string;
  readonly what: string;
  /** @returns what is wrong, with the input; null: nothing */
  tryOne(chance: Chance): Promise<string | null>;
  close(): Promise<void>;
}

/** @returns what is wrong, with the beginning of the input that it followed from */
export const said = (input: string, wrong: string | null) =>
  wrong === null ? null : `${JSON.stringify(input.slice(0, 300))} ${wrong}`;
