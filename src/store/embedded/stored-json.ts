import type { Static, TSchema } from 'typebox';
import Value from 'typebox/value';
import { StoreUnavailable } from '../port.js';

export function toBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * @returns what {@link toBytes} was given, with members that the schema does not name
 * @throws StoreUnavailable when it is not as the schema says: its checksum is right, so another version wrote it
 */
export function fromBytes<T extends TSchema>(schema: T, bytes: Buffer): Static<T> {
  const value: unknown = JSON.parse(bytes.toString());
  if (!Value.Check(schema, value)) throw new StoreUnavailable('a record of the store has an unknown form');
  return value;
}
