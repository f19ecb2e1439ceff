import { createHash } from 'node:crypto';

/** Names longer than this, in bytes of UTF-8, stand in keys as their digest. */
const NAME_MAX_BYTES = 300;
/** Begins no UTF-8: a digest cannot be taken for a name. */
const DIGEST = 0xff;

/**
 * @param table what a key begins with: an ASCII letter for each kind of record of an environment
 * @returns the key of what is called `name`
 */
export function nameKey(table: string, name: string): Buffer {
  const bytes = Buffer.from(`${table}${name}`);
  if (bytes.length <= NAME_MAX_BYTES) return bytes;
  return Buffer.concat([Buffer.from(table), Buffer.of(DIGEST), createHash('sha256').update(name).digest()]);
}

/**
 * @param number a whole number, 0 or more: keys of a table are ordered by it
 * @param rest tells keys of one number apart
 */
export function numberKey(table: string, number: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(Math.min(number, Number.MAX_SAFE_INTEGER)));
  return Buffer.concat([Buffer.from(table), bytes, rest]);
}

/** @returns the bounds of a table as a range has them */
export function wholeTable(table: string): { readonly from: Buffer; readonly to: Buffer } {
  return { from: Buffer.from(table), to: Buffer.of(table.charCodeAt(0) + 1) };
}
