/**
 * The history of reports, on the server of the registry: a hash for each series and month, with `07` the heads of a day
 * behind their stamp (6 bytes), `07:name` rows, see history-content.ts, `f:digest` facts of these; and a sorted set of all
 * months, so that the oldest are found. Nothing of it expires by itself.
 */

import { monthOf, packContent, unpackContent } from '../history-content.js';
import type { HistoryMonth, HistoryStore, HistoryWrite } from '../history-port.js';
import { newStamp } from '../new-stamp.js';
import { StoreUnavailable } from '../port.js';
import { answersOf } from './failure.js';
import type { MonthKeys } from './keys.js';
import type { Link } from './link.js';
import type { ServerMemory } from './memory-watch.js';

const STAMP_BYTES = 6;
/** `07` of `2026-03-07` */
const FIELD_AT = 8;

export interface RedisHistoryOptions {
  readonly link: Link;
  readonly keys: MonthKeys;
  /** Of its servers, as they told last; null while they did not. */
  readonly memory: () => readonly ServerMemory[] | null;
}

/** Of `maxmemory`: what history may take, and what may be used of it by all before no history is written any more. */
const [HISTORY_PART, USED_PART] = [0.25, 0.85];

export function createRedisHistory({ link, keys, memory }: RedisHistoryOptions): HistoryStore {
  const { months } = keys;
  const read = createFieldReader({ link, keys });
  const room = createRoom(memory);

  async function writeMonth(
    series: string,
    month: string,
    writes: readonly HistoryWrite[],
  ): Promise<boolean[]> {
    // First: what is not in the list would stay for ever.
    if (writes.some(({ stamp }) => stamp === 0))
      await link.call((client) => client.zadd(months, 0, memberOf({ series, month })));
    const hash = keys.month(series, month);
    const done = await link.call((client) => client.dgwWriteHistory(hash, argumentsFor(writes)));
    return done.map((one) => one === 1);
  }

  return {
    roomBytes() {
      const most = (memory() ?? []).reduce((sum, { maxBytes }) => sum + maxBytes, 0);
      return most === 0 ? null : most * HISTORY_PART;
    },
    async heads(series, days) {
      const found = await read(
        series,
        days.map((day) => [day, day.slice(FIELD_AT)]),
      );
      return found.map((value) => {
        if (value === null || value.length < STAMP_BYTES) return null;
        return { stamp: value.readUIntBE(0, STAMP_BYTES), heads: value.subarray(STAMP_BYTES) };
      });
    },
    async contents(series, wanted) {
      const fields = wanted.map(({ day, name }) => [day, `${day.slice(FIELD_AT)}:${name}`] as const);
      const found = (await read(series, fields)).map(unpackContent);
      const of = found.map((one, at) => [wanted[at]?.day ?? '', `f:${one?.digest ?? ''}`] as const);
      const facts = await read(series, of);
      return found.map((one, at) => {
        const shared = facts[at] ?? null;
        if (one === null || shared === null) return null;
        const { digest: _, ...content } = one;
        return { ...content, facts: shared };
      });
    },
    async write(series, writes) {
      room.take(bytesOf(writes));
      const done = new Map<HistoryWrite, boolean>();
      for (const month of new Set(writes.map(({ day }) => monthOf(day)))) {
        const some = writes.filter(({ day }) => monthOf(day) === month);
        const made = await writeMonth(series, month, some);
        for (const [at, write] of some.entries()) done.set(write, made[at] ?? false);
      }
      return writes.map((write) => done.get(write) ?? false);
    },
    async months(after, limit) {
      const from = after === null ? '-' : `(${memberOf(after)}`;
      const found = await link.call((client) => client.zrangebylex(months, from, '+', 'LIMIT', 0, limit));
      return found.map((member) => ({ month: member.slice(0, 7), series: member.slice(8) }));
    },
    async remove(what) {
      await link.call((client) => client.unlink(keys.month(what.series, what.month)));
      await link.call((client) => client.zrem(months, memberOf(what)));
    },
  };
}

/** What is written takes so many times its bytes at most: Redis allocates in steps. */
const GROSS = 1.5;

/**
 * What is left beyond a part of the server's memory is for teams, keys and tokens, which must be changed whatever lies beside
 * them. Between two looks at the server it goes by what was written here.
 */
function createRoom(memory: RedisHistoryOptions['memory']) {
  let seen = memory();
  let written = 0;
  return {
    /** @throws StoreUnavailable where there is no room for so many bytes */
    take(bytes: number): void {
      const now = memory();
      if (now !== seen) written = 0;
      seen = now;
      const isOver = ({ usedBytes, maxBytes }: ServerMemory) =>
        maxBytes > 0 && usedBytes + written + bytes * GROSS > maxBytes * USED_PART;
      if (now?.some(isOver)) throw new StoreUnavailable('Redis has no room for history', 'no-room');
      written += bytes * GROSS;
    },
  };
}

function bytesOf(writes: readonly HistoryWrite[]): number {
  const contents = writes.flatMap(({ added }) => [...added.values()]);
  const rows = contents.reduce((sum, { body, facts }) => sum + body.length + facts.length, 0);
  return writes.reduce((sum, { heads }) => sum + heads.length, rows);
}

type FieldsOfDays = readonly (readonly [day: string, field: string])[];

/** @returns reads fields of one series, in their order, in one round trip; null for those that are absent */
function createFieldReader({ link, keys }: Pick<RedisHistoryOptions, 'link' | 'keys'>) {
  return async (series: string, wanted: FieldsOfDays): Promise<(Buffer | null)[]> => {
    const months = [...new Set(wanted.map(([day]) => monthOf(day)))];
    if (months.length === 0) return [];
    const fieldsOf = (month: string) => wanted.filter(([day]) => monthOf(day) === month);
    const replies = await link.call(async (client) => {
      const pipeline = client.pipeline();
      for (const month of months)
        pipeline.hmgetBuffer(keys.month(series, month), ...fieldsOf(month).map(([, field]) => field));
      return answersOf(await pipeline.exec());
    });
    const found = new Map(
      months.flatMap((month, at) =>
        fieldsOf(month).map((one, n) => [one, bufferIn(replies[at], n)] as const),
      ),
    );
    return wanted.map((one) => found.get(one) ?? null);
  };
}

/** As the script takes them. */
function argumentsFor(writes: readonly HistoryWrite[]): (string | number | Buffer)[] {
  const all: (string | number | Buffer)[] = [writes.length];
  const facts = new Map<string, Buffer>();
  for (const { day, stamp, heads, added, removed } of writes) {
    all.push(day.slice(FIELD_AT), stampBytes(stamp), Buffer.concat([stampBytes(newStamp()), heads]));
    all.push(added.size, removed.length);
    for (const [name, content] of added) {
      const { bytes, digest } = packContent(content);
      facts.set(`f:${digest}`, content.facts);
      all.push(name, bytes);
    }
    all.push(...removed);
  }
  for (const [name, bytes] of facts) all.push(name, bytes);
  return all;
}

const memberOf = ({ series, month }: HistoryMonth) => `${month} ${series}`;

/** '' for none. */
function stampBytes(stamp: number): Buffer {
  const bytes = Buffer.alloc(stamp === 0 ? 0 : STAMP_BYTES);
  if (stamp !== 0) bytes.writeUIntBE(stamp, 0, STAMP_BYTES);
  return bytes;
}

function bufferIn(reply: unknown, at: number): Buffer | null {
  const value: unknown = Array.isArray(reply) ? reply[at] : null;
  return Buffer.isBuffer(value) ? value : null;
}
