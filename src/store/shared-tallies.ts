/**
 * Counts of this process. They are gathered in memory, and merged at intervals into documents that all replicas share, one for
 * each key. A tally only grows, so replicas may add theirs in any order, and may add the same one twice. What this process knows
 * is kept where the store has lost the document, or a later release has written it.
 */
import { createLastUsed } from '../lib/last-used.js';
import { repeat } from '../lib/repeat.js';
import { type Documents, StoreUnavailable } from './port.js';

// Documents that only grow: what one replica saw is added to what all have seen, by compare-and-set.

interface MergedDocument<T> {
  readonly key: string;
  readonly ttlMs: number;
  /** Null for what a later release has written: it is then left as it is. */
  readonly decode: (text: string) => T | null;
  /** Equal for equal values. */
  readonly encode: (value: T) => string;
  /** @param before null where there is none */
  readonly add: (before: T | null) => T;
}

/** Others write the same at times; each time one of them gets through. */
const TRIES = 5;

/** @returns all that is known now; null where a later release has written it. @throws StoreUnavailable */
export async function mergeDocument<T>(documents: Documents, document: MergedDocument<T>): Promise<T | null> {
  const { key, ttlMs, decode, encode, add } = document;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const text = await documents.get(key);
    const before = text === null ? null : decode(text);
    if (text !== null && before === null) return null;
    const all = add(before);
    const written = encode(all);
    if (written === text) return all;
    const isDone =
      text === null
        ? (await documents.create(key, written, ttlMs)) === null
        : await documents.replace(key, text, written, ttlMs);
    if (isDone) return all;
  }
  throw new Error('other replicas were always quicker');
}

interface SharedTalliesOptions<Key, Tally> extends Omit<MergedDocument<Tally>, 'key' | 'add'> {
  readonly documents: Documents;
  /** Null: flushed by its owner alone. */
  readonly everyMs: number | null;
  readonly documentOf: (key: Key) => string;
  readonly none: Tally;
  readonly merge: (one: Tally, other: Tally) => Tally;
  /** What is written of it, as of now. All of it when not given. */
  readonly keep?: (all: Tally) => Tally;
  /** Where there is no document: what an earlier release has written elsewhere. It is written to the document, too. */
  readonly former?: (key: Key) => Promise<Tally | undefined>;
  /** Told of what all replicas know now. While it throws, the tally is written again. */
  readonly onWritten?: (key: Key, all: Tally) => Promise<void>;
  /** Told of the first failure of several in a row; the tallies wait for the next flush. */
  readonly onAway: (error: unknown) => void;
}

/** Keys of which something waits to be written, and those of which this process remembers what is written. */
const MAX_WAITING = 2000;
const REMEMBERED = 500;

export type SharedTallies<Key, Tally extends object> = ReturnType<typeof createSharedTallies<Key, Tally>>;

export function createSharedTallies<Key, Tally extends object>(options: SharedTalliesOptions<Key, Tally>) {
  const { documents, documentOf, none, merge, keep = (all) => all, decode, encode, onWritten } = options;
  const { former = async () => undefined } = options;
  let waiting = new Map<string, { readonly key: Key; readonly tally: Tally }>();
  let underWay: typeof waiting = new Map();
  /** As this process read or wrote it last. */
  const known = createLastUsed<Tally>(REMEMBERED);
  let isAway = false;
  let flushing = Promise.resolve();

  /** Costs no call and no wait. @returns false where too much waits already */
  function add(key: Key, tally: Tally): boolean {
    const id = documentOf(key);
    if (waiting.size >= MAX_WAITING && !waiting.has(id)) return false;
    wait(id, key, tally);
    return true;
  }

  function wait(id: string, key: Key, tally: Tally): void {
    waiting.set(id, { key, tally: merge(waiting.get(id)?.tally ?? none, tally) });
  }

  async function write(id: string, key: Key, tally: Tally): Promise<void> {
    const before = known.get(id);
    const isKnown = before !== undefined && encode(merge(before, tally)) === encode(before);
    const earlier = before ?? (await former(key)) ?? none;
    const all = isKnown
      ? before
      : await mergeDocument<Tally>(documents, {
          ...{ key: id, ttlMs: options.ttlMs, decode, encode },
          add: (others) => keep(merge(others ?? earlier, tally)),
        });
    // Null: a later release has written it. What was counted here stays known here.
    if (all !== null) await onWritten?.(key, all);
    known.set(id, all ?? merge(earlier, tally));
  }

  async function writeAll(): Promise<void> {
    underWay = waiting;
    waiting = new Map();
    let failure: unknown = null;
    for (const [id, { key, tally }] of underWay) {
      try {
        // What does not answer is not asked for each of them.
        if (failure instanceof StoreUnavailable && failure.why === 'away') throw failure;
        await write(id, key, tally);
        isAway = false;
      } catch (error) {
        failure = error;
        wait(id, key, tally);
        if (!isAway) options.onAway(error);
        isAway = true;
      }
    }
    underWay = new Map();
  }

  /** With what is not written yet. */
  const withOwn = (id: string, all: Tally | undefined) =>
    [underWay, waiting].reduce((sum, own) => merge(sum, own.get(id)?.tally ?? none), all ?? none);

  /** Writes down what was counted so far. Never rejects; what the store does not take is tried again. */
  const flush = (): Promise<void> => (flushing = flushing.then(writeAll));

  const flushes = options.everyMs === null ? null : repeat(options.everyMs, flush);
  return {
    add,
    flush,
    /** What all have counted, as far as this process has heard of it; undefined: it has not. */
    known: (key: Key): Tally | undefined => known.get(documentOf(key)),
    /** The same, and what this process has counted. */
    atHand: (key: Key): Tally => withOwn(documentOf(key), known.get(documentOf(key))),
    /** What all have counted, and this process. @throws StoreUnavailable */
    async read(key: Key): Promise<Tally> {
      const id = documentOf(key);
      const text = await documents.get(id);
      const all = text === null ? null : decode(text);
      if (all !== null) known.set(id, all);
      const before = known.get(id) ?? (text === null ? await former(key) : undefined);
      if (text === null && before !== undefined) {
        // The store has lost it, or an earlier release has written it elsewhere: it is written.
        known.delete(id);
        wait(id, key, before);
      }
      return withOwn(id, before);
    },
    /** Keys of which something is not written yet. */
    unwritten: (): Key[] => [...underWay.values(), ...waiting.values()].map(({ key }) => key),
    async close(): Promise<void> {
      await flushes?.stop();
      await flush();
    },
  };
}
