/** The value of a record in lmdb: its stamp, which lmdb-js stores, a checksum, and the bytes. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import Type, { type Static, type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { checksumOf } from '../checksum.js';
import { StoreUnavailable } from '../port.js';

const CRC_BYTES = 4;
const STAMP_BYTES = 8;

export function encodeRecord(key: Buffer, stamp: number, value: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(CRC_BYTES + value.length);
  bytes.writeUInt32LE(checksum(key, stamp, value));
  value.copy(bytes, CRC_BYTES);
  return bytes;
}

/** @returns null for a damaged value */
export function decodeRecord(key: Buffer, stamp: number, bytes: Buffer): Buffer | null {
  if (bytes.length < CRC_BYTES) return null;
  const value = bytes.subarray(CRC_BYTES);
  return bytes.readUInt32LE() === checksum(key, stamp, value) ? value : null;
}

/** @param data of the file, with the stamp */
export function recordIsWhole(key: Buffer, data: Buffer): boolean {
  if (data.length < STAMP_BYTES) return false;
  return decodeRecord(key, data.readDoubleLE(), data.subarray(STAMP_BYTES)) !== null;
}

/** Includes key and stamp, to detect a value in the place of another. */
function checksum(key: Buffer, stamp: number, value: Buffer): number {
  return checksumOf(value, crc32(key, crc32(String(stamp))));
}

export function toBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * Null for null. Unknown members are kept.
 * @throws StoreUnavailable if it does not match the schema: another release wrote it, as its checksum is right
 */
export function fromBytes<T extends TSchema, B extends Buffer | null>(
  schema: T,
  bytes: B,
): Static<T> | Extract<B, null> {
  if (bytes === null) return null as Extract<B, null>;
  const value: unknown = JSON.parse(bytes.toString());
  const validator = VALIDATORS.get(schema) ?? Compile(schema);
  VALIDATORS.set(schema, validator);
  if (!validator.Check(value)) throw new StoreUnavailable('a record of the store has an unknown form');
  return value as Static<T>;
}

/** Compiled once, as interpreting a schema is far slower. */
const VALIDATORS = new WeakMap<TSchema, Validator>();

export const TEXT = Type.String();
export const WHOLE = Type.Integer();

/** Longer names, in bytes of UTF-8, are replaced by their digest. */
const NAME_MAX_BYTES = 300;
/** No UTF-8 begins with it: a digest cannot be mistaken for a name. */
const DIGEST = 0xff;

/** @param table the first letter of the key, which distinguishes the tables of an environment */
export function nameKey(table: string, name: string): Buffer {
  const bytes = Buffer.from(`${table}${name}`);
  if (bytes.length <= NAME_MAX_BYTES) return bytes;
  return Buffer.concat([Buffer.from(table), Buffer.of(DIGEST), createHash('sha256').update(name).digest()]);
}

/**
 * @param number a whole number, 0 or more, which orders the keys
 * @param rest distinguishes keys of one number
 */
export function numberKey(table: string, number: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(Math.min(number, Number.MAX_SAFE_INTEGER)));
  return Buffer.concat([Buffer.from(table), bytes, rest]);
}

/** The bounds of a table. */
export function wholeTable(table: string): { readonly from: Buffer; readonly to: Buffer } {
  return { from: Buffer.from(table), to: Buffer.of(table.charCodeAt(0) + 1) };
}
