/**
 * Old pins on the server of the registry: a hash for each owner, and a sorted set of all owners. Fields of a hash: `01` the stamp
 * (6 bytes) and the index; `01:name` rows; `f:digest` their facts.
 */
import { type OldPinStore, readOldRows } from '../old-pins-port.js';
import { newStamp, STAMP_BYTES, stampBytes, stampOf } from '../stamp.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { script } from './script.js';

const INDEX = '01';
/** Of the members of the set, before the owner. */
const MONTH = '2000-01 ';

/** KEYS: the hash. ARGV: expected stamp; the new index; deleted fields. 1 or 0. */
const writeOldPins = script<number>('dgwWriteOldPins')`
local hash = KEYS[1]
if string.sub(redis.call('HGET', hash, '${INDEX}') or '', 1, ${STAMP_BYTES}) ~= ARGV[1] then return 0 end
redis.call('HSET', hash, '${INDEX}', ARGV[2])
for at = 3, #ARGV do redis.call('HDEL', hash, ARGV[at]) end
return 1`;

export function createRedisOldPins(link: Link, { owners, pins }: Keys['oldPins']): OldPinStore {
  const valuesOf = async (owner: string, fields: readonly string[]) =>
    fields.length === 0
      ? []
      : await link.call('hmget', (client) => client.hmgetBuffer(pins(owner), ...fields));
  return {
    async index(owner) {
      const [value = null] = await valuesOf(owner, [INDEX]);
      if (value === null || value.length < STAMP_BYTES) return null;
      return { stamp: stampOf(value), bytes: value.subarray(STAMP_BYTES) };
    },
    async rows(owner, names) {
      const values = await valuesOf(
        owner,
        names.map((name) => `${INDEX}:${name}`),
      );
      const found = values.map(readOldRows);
      const digests = [...new Set(found.flatMap((one) => one?.digest ?? []))];
      const facts = await valuesOf(
        owner,
        digests.map((digest) => `f:${digest}`),
      );
      return found.map((one) => {
        const shared = one === null ? null : (facts[digests.indexOf(one.digest)] ?? null);
        return one === null || shared === null ? null : { ...one, facts: shared };
      });
    },
    async write(owner, { stamp, bytes }, removed) {
      const next = Buffer.concat([stampBytes(newStamp()), bytes]);
      const gone = removed.map((name) => `${INDEX}:${name}`);
      return (await writeOldPins(link, [pins(owner)], [stampBytes(stamp), next, ...gone])) === 1;
    },
    async owners(after, limit) {
      const from = after === null ? '-' : `(${MONTH}${after}`;
      const found = await link.call('zrangebylex', (client) =>
        client.zrangebylex(owners, from, '+', 'LIMIT', 0, limit),
      );
      return found.map((member) => member.slice(MONTH.length));
    },
    async remove(owner) {
      await link.call('unlink', (client) => client.unlink(pins(owner)));
      await link.call('zrem', (client) => client.zrem(owners, `${MONTH}${owner}`));
    },
  };
}
