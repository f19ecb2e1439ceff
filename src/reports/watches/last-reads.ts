/** What became of the reads of watches: a document of the store for each team. Losing it costs an early retry. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type Documents, whenAway } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';
import type { Watch } from './watch-book.js';

const TTL_MS = 30 * 86_400_000;

/** Times in epoch milliseconds. */
const LastRead = Type.Object({
  /** The last one that worked. */
  readAt: Type.Optional(Type.Number()),
  /** The last one, if it failed. */
  failed: Type.Optional(
    Type.Object({
      at: Type.Number(),
      /** For people. */
      message: Type.String(),
      /** In a row. */
      times: Type.Number(),
      /** No read before. */
      restsUntil: Type.Number(),
    }),
  ),
});
const LastReads = recordForm(Type.Record(Type.String(), LastRead));
type LastReads = RecordOf<typeof LastReads>;
export type LastRead = LastReads[string];

const NONE: LastRead = {};

export function createLastReads(documents: Documents) {
  const keyOf = (owner: string) => `watches:${owner}`;

  return {
    /** By id of the watch. Nothing is known while the store is away. */
    async of(owner: string): Promise<(id: string) => LastRead> {
      const text = await documents.get(keyOf(owner)).catch(whenAway(() => null));
      const known = text === null ? null : LastReads.parse(text);
      return (id) => (known !== null && Object.hasOwn(known, id) ? (known[id] as LastRead) : NONE);
    },
    /** @param step null: the watch is removed, or another report */
    async note({ owner, id }: Pick<Watch, 'owner' | 'id'>, step: ((before: LastRead) => LastRead) | null) {
      await mergeDocument<LastReads>(documents, {
        key: keyOf(owner),
        ttlMs: TTL_MS,
        decode: (text) => LastReads.parse(text) ?? {},
        encode: (all) => JSON.stringify(all),
        add(before) {
          const { [id]: known = NONE, ...others } = before ?? {};
          return step === null ? others : { ...others, [id]: step(known) };
        },
      }).catch(whenAway(() => null));
    },
  };
}
