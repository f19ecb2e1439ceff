/**
 * The only source of randomness in `src` (`.ci/sources.mjs`), so that the simulation (`test/simulation/`) can seed it.
 */
import * as machine from 'node:crypto';

export type ChanceSource = typeof MACHINE;

/** `Math` is read at each call, as tests replace it. */
const MACHINE = {
  randomId: (): string => machine.randomUUID(),
  randomBuffer: (bytes: number): Buffer => machine.randomBytes(bytes),
  randomWhole: (from: number, below: number): number => machine.randomInt(from, below),
  randomShare: (): number => Math.random(),
};

let source = MACHINE;

/** Replaces the source, or restores it with null. For tests. */
export function useChance(other: ChanceSource | null): void {
  source = other ?? MACHINE;
}

/** @returns a UUID from a secure source */
export function randomId(): string {
  return source.randomId();
}

/** @returns bytes from a secure source */
export function randomBuffer(bytes: number): Buffer {
  return source.randomBuffer(bytes);
}

/** @returns an integer in [from, below), from a secure source */
export function randomWhole(from: number, below: number): number {
  return source.randomWhole(from, below);
}

/** @returns a number in [0, 1), not secure */
export function randomShare(): number {
  return source.randomShare();
}
