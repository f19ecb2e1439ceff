/** Chance that follows from a seed. */
import type { ChanceSource } from '../../src/lib/chance.js';

export interface Chance extends ChanceSource {
  /** @returns a whole number from 0 to below `limit` */
  below(limit: number): number;
  /** @returns a whole number from `from` to `to`, both included */
  between(from: number, to: number): number;
  /** @returns true as often as this share of 1 */
  is(share: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** @param seed a whole number; two uses of one seed want different names, so that neither moves the other */
export function chanceOf(seed: number, name: string): Chance {
  let state =
    [...name].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 16777619), seed ^ 0x811c9dc5) >>>
    0;
  /** Mulberry32. */
  function share(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number) => Math.floor(share() * limit);
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join('');
  return {
    below,
    between: (from, to) => from + below(to - from + 1),
    is: (part) => share() < part,
    pick: <T>(from: readonly T[]) => from[below(from.length)] as T,
    randomId: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    randomBuffer: (bytes) => Buffer.from(Array.from({ length: bytes }, () => below(256))),
    randomWhole: (from, limit) => from + Math.floor(share() * (limit - from)),
    randomShare: share,
  };
}
