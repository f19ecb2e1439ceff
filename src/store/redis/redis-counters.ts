import { BATCH_MEMORY_MS, checkBatch, wholeMs } from '../check-input.js';
import type { CounterAdd, CounterRaise, Counters } from '../port.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Keys } from './keys.js';

export interface RedisCountersOptions extends ReplicaWait {
  readonly keys: Keys;
}

/** Groups as hashes; see durable-scripts.ts. */
export function createRedisCounters(options: RedisCountersOptions): Counters {
  const { link } = options;
  const { ends, batches, group } = options.keys.counters;
  return {
    async add(batchId, adds, raises, ttlMs) {
      checkBatch(adds, raises);
      const ms = wholeMs(ttlMs, 1);
      if (adds.length + raises.length === 0) return;
      const { groups, changes } = counterArguments(adds, raises);
      const keys = [ends, batches, ...groups.map(group)];
      const replicas = await link.call((client) =>
        client.dgwCount(keys.length, [...keys, batchId, BATCH_MEMORY_MS, ms, adds.length, ...changes]),
      );
      await awaitReplicas(ends, replicas, { batchId }, options);
    },
    async read(groups) {
      if (groups.length === 0) return [];
      const rows = await link.call((client) =>
        client.dgwReadCounters(1 + groups.length, ends, ...groups.map(group)),
      );
      return rows.map(toFields);
    },
  };
}

function counterArguments(adds: readonly CounterAdd[], raises: readonly CounterRaise[]) {
  // Places in KEYS are counted from 1, and the first two are no groups.
  const places = new Map<string, number>();
  const placeOf = (name: string) => {
    const place = places.get(name) ?? places.size + 3;
    places.set(name, place);
    return place;
  };
  const changes = [
    ...adds.flatMap(({ group, field, by }) => [placeOf(group), field, by]),
    ...raises.flatMap(({ group, field, to }) => [placeOf(group), field, to]),
  ];
  return { groups: [...places.keys()], changes };
}

function toFields(row: readonly string[]): Map<string, number> {
  const fields = new Map<string, number>();
  for (let at = 0; at + 1 < row.length; at += 2) fields.set(row[at] as string, Number(row[at + 1]));
  return fields;
}
