/**
 * A table before the index of a month, so that a store finds the parts of days without reading the index: the largest order of
 * fetches (7 bytes); for each of 31 days the number of its part (1; 0: none); the number of parts (1); for each part the length
 * of its name (1), the name, and its size (4). Numbers are big endian.
 */
import { type MonthWrite, PARTS_MAX, type PartRef } from './days-port.js';

/** Where the numbers of the days' parts begin, and how many they are. */
export const [DAYS_AT, DAYS_IN_TABLE] = [7, 31] as const;
const [ORDER_BYTES, SIZE_BYTES] = [7, 4];
const COUNT_AT = DAYS_AT + DAYS_IN_TABLE;
const NAME = /^[a-z0-9-]{1,60}$/;

/** @throws RangeError for days, names or numbers of parts that the port does not allow */
export function withTable({ index, order, named, parts }: MonthWrite): Buffer {
  for (const name of parts.keys()) checkName(name);
  const refs = [...new Map([...named.values()].map((part) => [part.name, part])).values()];
  if (refs.length > PARTS_MAX) throw new RangeError(`an index that names ${refs.length} parts`);
  const front = Buffer.alloc(COUNT_AT + 1);
  // In two: `writeUIntBE` takes at most six bytes.
  front.writeUInt8(Math.floor(order / ORDER_LOW), 0);
  front.writeUIntBE(order % ORDER_LOW, 1, ORDER_BYTES - 1);
  for (const [day, { name }] of named) {
    if (!(day >= 1 && day <= DAYS_IN_TABLE)) throw new RangeError(`not a day of a month: ${day}`);
    front[DAYS_AT + day - 1] = refs.findIndex((one) => one.name === name) + 1;
  }
  front[COUNT_AT] = refs.length;
  return Buffer.concat([front, ...refs.map(entryOf), index]);
}

const ORDER_LOW = 2 ** 48;

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

/** @param bytes of {@link withTable}. @returns `named`: names of parts by day */
export function readTable(bytes: Buffer): {
  readonly index: Buffer;
  readonly order: number;
  readonly named: ReadonlyMap<number, string>;
} {
  let at = COUNT_AT + 1;
  const names = Array.from({ length: bytes[COUNT_AT] ?? 0 }, () => {
    const from = at + 1;
    const to = from + (bytes[at] ?? 0);
    at = to + SIZE_BYTES;
    return bytes.toString('latin1', from, to);
  });
  const named = new Map<number, string>();
  for (let day = 1; day <= DAYS_IN_TABLE; day += 1) {
    const name = names[(bytes[DAYS_AT + day - 1] ?? 0) - 1];
    if (name !== undefined) named.set(day, name);
  }
  const order = (bytes[0] ?? 0) * ORDER_LOW + bytes.readUIntBE(1, ORDER_BYTES - 1);
  return { index: bytes.subarray(at), order, named };
}
