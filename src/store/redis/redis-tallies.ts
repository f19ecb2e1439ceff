import type { Tallies, TallyAdd, TallyRaise } from '../port.js';
import { BATCH_MEMORY_MS, checkBatch } from '../tally-batch.js';
import { wholeMs } from '../whole-ms.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Keys } from './keys.js';

export interface RedisTalliesOptions extends ReplicaWait {
  readonly keys: Keys;
}

/** Books as hashes; see durable-scripts.ts. */
export function createRedisTallies(options: RedisTalliesOptions): Tallies {
  const { link } = options;
  const { ends, batches, book } = options.keys.tallies;
  return {
    async add(batchId, adds, raises, ttlMs) {
      checkBatch(adds, raises);
      const ms = wholeMs(ttlMs, 1);
      if (adds.length + raises.length === 0) return;
      const { books, changes } = tallyArguments(adds, raises);
      const keys = [ends, batches, ...books.map(book)];
      const replicas = await link.call((client) =>
        client.dgwTally(keys.length, [...keys, batchId, BATCH_MEMORY_MS, ms, adds.length, ...changes]),
      );
      await awaitReplicas(ends, replicas, { batchId }, options);
    },
    async read(books) {
      if (books.length === 0) return [];
      const rows = await link.call((client) =>
        client.dgwReadTallies(1 + books.length, ends, ...books.map(book)),
      );
      return rows.map(toFields);
    },
  };
}

function tallyArguments(adds: readonly TallyAdd[], raises: readonly TallyRaise[]) {
  // Places in KEYS are counted from 1, and the first two are no books.
  const places = new Map<string, number>();
  const placeOf = (name: string) => {
    const place = places.get(name) ?? places.size + 3;
    places.set(name, place);
    return place;
  };
  const changes = [
    ...adds.flatMap(({ book, field, by }) => [placeOf(book), field, by]),
    ...raises.flatMap(({ book, field, to }) => [placeOf(book), field, to]),
  ];
  return { books: [...places.keys()], changes };
}

function toFields(row: readonly string[]): Map<string, number> {
  const fields = new Map<string, number>();
  for (let at = 0; at + 1 < row.length; at += 2) fields.set(row[at] as string, Number(row[at + 1]));
  return fields;
}
