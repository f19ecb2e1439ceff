/**
 * A table before the index of a month, so that a store finds the parts of days without reading the index: 31 bytes, for each day
 * the number of its part (0: none); the number of parts (1 byte); for each part the length of its name (1), the name, and its
 * size (4, big endian).
 */
import { type MonthWrite, PARTS_MAX, type PartRef } from './days-port.js';

export const DAYS_IN_TABLE = 31;
const SIZE_BYTES = 4;
const NAME = /^[a-z0-9-]{1,60}$/;

/** @throws RangeError for days, names or numbers of parts that the port does not allow */
export function withTable({ index, named, parts }: Pick<MonthWrite, 'index' | 'named' | 'parts'>): Buffer {
  for (const name of parts.keys()) checkName(name);
  const refs = [...new Map([...named.values()].map((part) => [part.name, part])).values()];
  if (refs.length > PARTS_MAX) throw new RangeError(`an index that names ${refs.length} parts`);
  const days = Buffer.alloc(DAYS_IN_TABLE + 1);
  for (const [day, { name }] of named) {
    if (!(day >= 1 && day <= DAYS_IN_TABLE)) throw new RangeError(`not a day of a month: ${day}`);
    days[day - 1] = refs.findIndex((one) => one.name === name) + 1;
  }
  days[DAYS_IN_TABLE] = refs.length;
  return Buffer.concat([days, ...refs.map(entryOf), index]);
}

function entryOf({ name, bytes }: PartRef): Buffer {
  checkName(name);
  const entry = Buffer.alloc(1 + name.length + SIZE_BYTES);
  entry[0] = name.length;
  entry.write(name, 1, 'latin1');
  entry.writeUInt32BE(bytes, 1 + name.length);
  return entry;
}

function checkName(name: string): void {
  if (!NAME.test(name)) throw new RangeError(`not a name of a part: ${name}`);
}

/** @param bytes of {@link withTable}. @returns the index, and names of parts by day */
export function readTable(bytes: Buffer): {
  readonly index: Buffer;
  readonly named: ReadonlyMap<number, string>;
} {
  let at = DAYS_IN_TABLE + 1;
  const names = Array.from({ length: bytes[DAYS_IN_TABLE] ?? 0 }, () => {
    const from = at + 1;
    const to = from + (bytes[at] ?? 0);
    at = to + SIZE_BYTES;
    return bytes.toString('latin1', from, to);
  });
  const named = new Map<number, string>();
  for (let day = 1; day <= DAYS_IN_TABLE; day += 1) {
    const name = names[(bytes[day - 1] ?? 0) - 1];
    if (name !== undefined) named.set(day, name);
  }
  return { index: bytes.subarray(at), named };
}
