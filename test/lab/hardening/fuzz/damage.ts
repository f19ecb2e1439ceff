/** Bytes that were right. Pure. */
import type { Chance } from '../../../simulation/chance-of-seed.js';

export interface Damage {
  /** Null: nothing is there any more. */
  readonly bytes: Buffer | null;
  readonly how: string;
}

const LARGE_BYTES = 100_000;

/** @param other what lies under another name */
export function damaged(value: Buffer, other: Buffer, chance: Chance): Damage {
  const at = chance.below(value.length + 1);
  switch (chance.below(8)) {
    case 0:
      return { bytes: null, how: 'was lost' };
    case 1:
      return { bytes: Buffer.alloc(0), how: 'was emptied' };
    case 2:
      return { bytes: value.subarray(0, at), how: `was cut off at ${at}` };
    case 3:
      return { bytes: other, how: 'became what lies under another name' };
    case 4:
      return {
        bytes: Buffer.concat([value, chance.randomBuffer(chance.between(1, 40))]),
        how: 'became longer',
      };
    case 5:
      return { bytes: chance.randomBuffer(value.length), how: 'became random' };
    case 6:
      return { bytes: Buffer.concat([value, Buffer.alloc(LARGE_BYTES)]), how: 'became large' };
    default: {
      const changed = Buffer.from(value);
      for (let left = chance.between(1, 3); left > 0 && changed.length > 0; left -= 1) {
        const place = chance.below(changed.length);
        changed[place] = (changed[place] ?? 0) ^ (1 << chance.below(8));
      }
      return { bytes: changed, how: 'lost bits' };
    }
  }
}
