/**
 * Pins on the server of the registry: a hash for each owner, and a sorted set of all owners. Fields of a hash: `i` the index, as
 * stamp (6 bytes, big endian), checksum (4) and bytes; `b:name` a body, as checksum and bytes. Nothing expires by itself.
 */
import { crc32 } from 'node:zlib';
import { checksumOf } from '../checksum.js';
import type { PinBytes, PinStore, PinsWrite } from '../pins-port.js';
import { newStamp, STAMP_BYTES, stampBytes, stampOf } from '../stamp.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { createRoom, type Memory } from './memory.js';
import { script } from './script.js';

const INDEX = 'i';
const bodyField = (name: string) => `b:${name}`;
const SUM_BYTES = 4;

/**
 * Changes an owner's hash if the stamp of its index is the expected one. What may be refused for lack of memory is first.
 *
 * KEYS: the hash. ARGV: expected stamp ('': no index); number of set fields; each with its value; deleted fields. 1 or 0.
 */
const writePins = script<number>('dgwWritePins')`
local hash, expected, deleted = KEYS[1], ARGV[1], 3 + 2 * ARGV[2]
local present = redis.call('HGET', hash, '${INDEX}') or ''
if string.sub(present, 1, ${STAMP_BYTES}) ~= expected then return 0 end
for at = 3, deleted - 2, 2 do redis.call('HSET', hash, ARGV[at], ARGV[at + 1]) end
for at = deleted, #ARGV do redis.call('HDEL', hash, ARGV[at]) end
return 1`;

/** @param memory of its servers */
export function createRedisPins(link: Link, { owners, pins }: Keys['pins'], memory: Memory): PinStore {
  const takeRoom = createRoom(memory, 'pins');
  return {
    async read(owner, names = []) {
      const fields = [INDEX, ...names.map(bodyField)];
      const values = await link.call('hmget', (client) => client.hmgetBuffer(pins(owner), ...fields));
      const [index, ...bodies] = fields.map((field, at) => unsealed(owner, field, values[at] ?? null));
      return { stamp: stampIn(values[0] ?? null), index: index ?? null, bodies };
    },
    async write(owner, write) {
      if (write.added.size > 0) takeRoom(bytesOf(write));
      // First: an owner that is not in the list would stay for ever.
      if (write.stamp === 0) await link.call('zadd', (client) => client.zadd(owners, 0, owner));
      return (await writePins(link, [pins(owner)], argumentsOf(owner, write))) === 1;
    },
    async list(after, limit) {
      const from = after === null ? '-' : `(${after}`;
      return await link.call('zrangebylex', (client) =>
        client.zrangebylex(owners, from, '+', 'LIMIT', 0, limit),
      );
    },
    async remove(owner) {
      await link.call('unlink', (client) => client.unlink(pins(owner)));
      await link.call('zrem', (client) => client.zrem(owners, owner));
    },
  };
}

function argumentsOf(owner: string, { stamp, index, added, removed }: PinsWrite) {
  const next = stampBytes(newStamp());
  const set = [
    [INDEX, Buffer.concat([next, sumOf(owner, INDEX, next, index), index])],
    ...[...added].map(([name, body]) => {
      const field = bodyField(name);
      return [field, Buffer.concat([sumOf(owner, field, NOTHING, body), body])] as const;
    }),
  ];
  return [stamp === 0 ? NOTHING : stampBytes(stamp), set.length, ...set.flat(), ...removed.map(bodyField)];
}

const NOTHING = Buffer.alloc(0);

function unsealed(owner: string, field: string, value: Buffer | null): PinBytes {
  if (value === null) return null;
  const sumAt = field === INDEX ? STAMP_BYTES : 0;
  const bytes = value.subarray(sumAt + SUM_BYTES);
  const sum = sumOf(owner, field, value.subarray(0, sumAt), bytes);
  return sum.equals(value.subarray(sumAt, sumAt + SUM_BYTES)) ? bytes : 'damaged';
}

/** Includes the place, to detect a value in the place of another. */
function sumOf(owner: string, field: string, stamp: Buffer, bytes: Buffer): Buffer {
  const sum = Buffer.alloc(SUM_BYTES);
  sum.writeUInt32BE(checksumOf(bytes, checksumOf(stamp, crc32(`${owner}\n${field}`))));
  return sum;
}

function stampIn(index: Buffer | null): number {
  return index === null || index.length < STAMP_BYTES ? 0 : stampOf(index);
}

function bytesOf({ index, added }: PinsWrite): number {
  return [...added.values()].reduce((sum, { length }) => sum + length, index.length);
}
