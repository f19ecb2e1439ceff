/** Stamps of values that are written if they have not changed since they were read. Before a value in Redis: 6 bytes, big endian. */
import { randomWhole } from '../lib/chance.js';

export const STAMP_BYTES = 6;

/** Random, so that a deleted and recreated record differs from the former one. */
export function newStamp(): number {
  return randomWhole(1, 2 ** 48 - 1);
}

export function stampOf(bytes: Buffer): number {
  return bytes.readUIntBE(0, STAMP_BYTES);
}

export function stampBytes(stamp: number): Buffer {
  const bytes = Buffer.alloc(STAMP_BYTES);
  bytes.writeUIntBE(stamp, 0, STAMP_BYTES);
  return bytes;
}
