import { randomWhole } from '../chance.js';

/** No counter: a record that was deleted and made again must not look like the one before. Fits into six bytes. */
export function newStamp(): number {
  return randomWhole(1, 2 ** 48 - 1);
}
