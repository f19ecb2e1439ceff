import { randomInt } from 'node:crypto';

/** No counter: a record that was deleted and made again must not look like the one before. Fits into six bytes. */
export function newStamp(): number {
  return randomInt(1, 2 ** 48 - 1);
}
