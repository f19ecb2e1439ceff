/** Watches as registry records, shared by replicas: one for each watch, by team and life of the team. */
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { RegistryRecord } from '../../store/port.js';
import { commitChange } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { createTurns } from '../../store/turns.js';

const PREFIX = 'watch/';
/** Of a team. */
export const MAX_WATCHES = 100;

const WatchRecord = recordForm(
  Type.Object({
    endpoint: Type.String(),
    /** As the caller sent it: a relative period stays relative. */
    query: Type.String(),
    maxAgeDays: Type.Number(),
    /** Epoch milliseconds. */
    createdAt: Type.Number(),
  }),
);

export interface Watch extends RecordOf<typeof WatchRecord> {
  /** Team and its life, as of pins. */
  readonly owner: string;
  readonly id: string;
}

const TRIES = 10;
const CHANGED = { what: 'The watches of the team', tries: TRIES };

export function createWatchBook(registry: Registry) {
  const turns = createTurns();
  const recordOf = (owner: string, id: string) => `${PREFIX}${owner}/${id}`;

  /** A damaged one is absent. */
  function read([record, { value }]: readonly [string, RegistryRecord]): Watch[] {
    const known = WatchRecord.parse(value);
    const [owner = '', id = ''] = record.slice(PREFIX.length).split('/');
    return known === null ? [] : [{ ...known, owner, id }];
  }
  const listIn = (prefix: string): readonly Watch[] =>
    registry
      .list(prefix)
      .flatMap(read)
      .sort((a, b) => (a.id < b.id ? -1 : 1));

  // The leader looks at all of them each second.
  let all: readonly Watch[] | null = null;
  registry.onChange(PREFIX, () => {
    all = null;
  });

  return {
    all(): readonly Watch[] {
      all ??= listIn(PREFIX);
      return all;
    },
    of: (owner: string) => listIn(`${PREFIX}${owner}/`),
    get(owner: string, id: string): Watch | null {
      const record = recordOf(owner, id);
      const found = registry.get(record);
      return found === undefined ? null : (read([record, found])[0] ?? null);
    },
    /**
     * Adds or replaces a watch.
     * @returns whether it is new. @throws GatewayError `conflict` beyond the limit
     */
    async put({ owner, id, ...watch }: Watch): Promise<boolean> {
      const record = recordOf(owner, id);
      let isNew = false;
      // One after the other: changes of this process are no conflict.
      const commit = () =>
        commitChange(registry, CHANGED, () => {
          const before = registry.get(record);
          isNew = before === undefined;
          const count = registry.list(`${PREFIX}${owner}/`).length;
          if (isNew && count >= MAX_WATCHES) throw tooMany(count);
          const writes = new Map([[record, JSON.stringify(watch)]]);
          const expect = new Map([[record, before?.revision ?? 0]]);
          // Another replica may be adding one.
          return isNew ? { writes, expect, version: registry.version } : { writes, expect };
        });
      await turns('', commit);
      return isNew;
    },
    /** @returns whether there was one */
    async remove(owner: string, id: string): Promise<boolean> {
      const record = recordOf(owner, id);
      let isThere = false;
      await commitChange(registry, CHANGED, () => {
        const before = registry.get(record);
        isThere = before !== undefined;
        if (before === undefined) return null;
        return { writes: new Map([[record, null]]), expect: new Map([[record, before.revision]]) };
      });
      return isThere;
    },
  };
}

function tooMany(count: number): GatewayError {
  return new GatewayError('conflict', {
    detail: `The team has ${count} watches; the limit is ${MAX_WATCHES}.`,
    help: 'Delete a watch that is not needed (DELETE /gateway/v1/watches/{id}), then repeat the call.',
  });
}
