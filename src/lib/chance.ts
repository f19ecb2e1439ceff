/**
 * Where the whole program takes chance from: nothing else in `src` may draw it (`.ci/sources.mjs`), so that the
 * simulation (`test/simulation/`) can put a seed in its place.
 */
import * as machine from 'node:crypto';

/** Where chance comes from. */
export interface ChanceSource {
  randomId(): string;
  randomBuffer(bytes: number): Buffer;
  randomWhole(from: number, below: number): number;
  randomShare(): number;
}

/** The machine's own. `Math` is looked at at each call: tests lay theirs over it. */
const MACHINE: ChanceSource = {
  randomId: () => machine.randomUUID(),
  randomBuffer: (bytes) => machine.randomBytes(bytes),
  randomWhole: (from, below) => machine.randomInt(from, below),
  randomShare: () => Math.random(),
};

let source = MACHINE;

/** Puts other chance in the place of the machine's, or takes it back. For tests. */
export function useChance(other: ChanceSource | null): void {
  source = other ?? MACHINE;
}

/** @returns a UUID that nobody can guess */
export function randomId(): string {
  return source.randomId();
}

/** @returns bytes that nobody can guess */
export function randomBuffer(bytes: number): Buffer {
  return source.randomBuffer(bytes);
}

/** @returns a whole number from `from` to below `below`, which nobody can guess */
export function randomWhole(from: number, below: number): number {
  return source.randomWhole(from, below);
}

/** @returns a number from 0 to below 1; it can be guessed */
export function randomShare(): number {
  return source.randomShare();
}
