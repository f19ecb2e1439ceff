/**
 * Tallies of this process, merged at intervals into documents that all replicas share, one for each key. A tally only grows:
 * replicas may add theirs in any order and more than once. If the store has lost the document, it is written again; if a later
 * release has written it, the tally stays in memory.
 */
import { createLastUsed } from '../lib/last-used.js';
import { repeat } from '../lib/repeat.js';
import { type Documents, StoreUnavailable } from './port.js';

interface MergedDocument<T> {
  readonly key: string;
  readonly ttlMs: number;
  /** Null: a later release has written it, and it is not changed. */
  readonly decode: (text: string) => T | null;
  /** Equal for equal values. */
  readonly encode: (value: T) => string;
  /** @param before null: no document */
  readonly add: (before: T | null) => T;
}

/** Other replicas may change it meanwhile, each seldom. */
const TRIES = 20;

/** Adds to a document by compare-and-set. @returns null if a later release has written it. @throws StoreUnavailable */
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
  throw new StoreUnavailable(`other replicas changed ${key} each time it was to be changed`);
}

interface SharedTalliesOptions<Key, Tally> extends Omit<MergedDocument<Tally>, 'key' | 'add'> {
  readonly documents: Documents;
  /** Null: flushed only by its owner. */
  readonly everyMs: number | null;
  readonly documentOf: (key: Key) => string;
  readonly none: Tally;
  readonly merge: (one: Tally, other: Tally) => Tally;
  /** The part that is written; default: all. */
  readonly keep?: (all: Tally) => Tally;
  /** Called with the tally of all replicas. If it throws, the tally is written again. */
  readonly onWritten?: (key: Key, all: Tally) => Promise<void>;
  /** Called with the first of consecutive failures; the tallies wait for the next flush. */
  readonly onAway: (error: unknown) => void;
}

/** Keys with unwritten tallies, and keys whose written tally is remembered. */
const MAX_WAITING = 2000;
const REMEMBERED = 500;

export function createSharedTallies<Key, Tally extends object>(options: SharedTalliesOptions<Key, Tally>) {
  const { documents, documentOf, none, merge, keep = (all) => all, decode, encode, onWritten } = options;
  let waiting = new Map<string, { readonly key: Key; readonly tally: Tally }>();
  let underWay: typeof waiting = new Map();
  /** As this process read or wrote it last. */
  const known = createLastUsed<Tally>(REMEMBERED);
  let isAway = false;
  let flushing = Promise.resolve();

  /** Without a call of the store. @returns false if too many keys wait */
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
    const all = isKnown
      ? before
      : await mergeDocument<Tally>(documents, {
          key: id,
          ttlMs: options.ttlMs,
          decode,
          encode,
          add: (others) => keep(merge(others ?? before ?? none, tally)),
        });
    if (all !== null) await onWritten?.(key, all);
    known.set(id, all ?? merge(before ?? none, tally));
  }

  async function writeAll(): Promise<void> {
    underWay = waiting;
    waiting = new Map();
    let failure: unknown = null;
    for (const [id, { key, tally }] of underWay) {
      try {
        // Without a call for each while the store is away.
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

  /** Including unwritten tallies. */
  const withOwn = (id: string, all: Tally | undefined) =>
    [underWay, waiting].reduce((sum, own) => merge(sum, own.get(id)?.tally ?? none), all ?? none);

  /** Never rejects; a failed write is repeated by the next flush. */
  const flush = (): Promise<void> => (flushing = flushing.then(writeAll));

  const flushes = options.everyMs === null ? null : repeat(options.everyMs, flush);
  return {
    add,
    flush,
    /** The tally of all replicas as last read or written; undefined: never. */
    known: (key: Key): Tally | undefined => known.get(documentOf(key)),
    /** The same, with unwritten tallies of this process. */
    atHand: (key: Key): Tally => withOwn(documentOf(key), known.get(documentOf(key))),
    /** @throws StoreUnavailable */
    async read(key: Key): Promise<Tally> {
      const id = documentOf(key);
      const text = await documents.get(id);
      const all = text === null ? null : decode(text);
      if (all !== null) known.set(id, all);
      const before = known.get(id);
      if (text === null && before !== undefined) {
        // Lost by the store: it is written.
        known.delete(id);
        wait(id, key, before);
      }
      return withOwn(id, before);
    },
    /** Keys with unwritten tallies. */
    unwritten: (): Key[] => [...underWay.values(), ...waiting.values()].map(({ key }) => key),
    async close(): Promise<void> {
      await flushes?.stop();
      await flush();
    },
  };
}
