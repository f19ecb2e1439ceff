/**
 * Changes records one after the other: each change sees all earlier ones, and waiting ones share a commit. The
 * embedded store uses it over lmdb; tests use it over a map (`test/support/memory`).
 */
import {
  checkKey,
  type Environment,
  type RangeOptions,
  type Reader,
  type RecordDamaged,
  type RecordWrite,
  type StoredRecord,
  type View,
} from './environment.js';

/** The records including uncommitted changes. The stamp of a changed record is NaN until the commit. */
export interface Draft extends Reader {
  /** @throws RangeError for a key that is empty or too long */
  set(key: Buffer, value: Buffer | null): void;
  /** @returns the first `limit` records of a range; none for a limit below 1. @param onDamaged see {@link View.range} */
  range(
    bounds: Pick<RangeOptions, 'from' | 'to'>,
    limit: number,
    onDamaged?: (error: RecordDamaged) => void,
  ): StoredRecord[];
}

export interface Table {
  /** Shows the latest committed state. */
  read<T>(use: (view: View) => T): T;
  /**
   * Changes records, in turn with all other changes.
   * @param apply must be synchronous. Its error rejects this change alone, with everything that it has set
   * @returns the result of `apply`, after the commit
   * @throws StoreUnavailable
   */
  change<T>(apply: (draft: Draft) => T): Promise<T>;
}

interface Waiting {
  /** @returns resolves the caller's promise, after the commit */
  readonly apply: (draft: OpenDraft) => () => void;
  readonly reject: (error: unknown) => void;
}

/** Most changes, and bytes, of one commit: others wait for it, and so does the event loop. */
const [GROUP_MAX, GROUP_BYTES] = [100, 524_288];

export function createTable(environment: Pick<Environment, 'read' | 'write' | 'settled'>): Table {
  const waiting: Waiting[] = [];
  let running = false;

  async function run(): Promise<void> {
    running = true;
    // Changes of the same turn share the first commit.
    await Promise.resolve();
    while (waiting.length > 0) await commitNext();
    running = false;
  }

  async function commitNext(): Promise<void> {
    const taken: Waiting[] = [];
    try {
      // A write that took too long may still be made, and must not be overtaken.
      await environment.settled();
      const { tellers, writes } = environment.read((view) => {
        const draft = createDraft(view);
        const results: (() => void)[] = [];
        while (waiting.length > 0 && taken.length < GROUP_MAX && draft.bytes < GROUP_BYTES) {
          const next = waiting.shift() as Waiting;
          taken.push(next);
          results.push(next.apply(draft));
        }
        return { tellers: results, writes: draft.writes() };
      });
      if (writes.length > 0) await environment.write(writes);
      for (const tell of tellers) tell();
    } catch (error) {
      if (taken.length === 0) taken.push(...waiting.splice(0, GROUP_MAX));
      for (const { reject } of taken) reject(error);
    }
  }

  return {
    read: (use) => environment.read(use),
    change: (apply) =>
      new Promise((resolve, reject) => {
        const attempt = (draft: OpenDraft) => {
          try {
            const result = draft.attempt(apply);
            return () => resolve(result);
          } catch (error) {
            return () => reject(error);
          }
        };
        waiting.push({ apply: attempt, reject });
        if (!running) void run();
      }),
  };
}

export interface OpenDraft extends Draft {
  /** Makes one change; if it throws, its writes are undone. */
  attempt<T>(apply: (draft: Draft) => T): T;
  /** Bytes of all values that were set. */
  readonly bytes: number;
  writes(): RecordWrite[];
}

export function createDraft(view: View): OpenDraft {
  const staged = new Map<string, RecordWrite>();
  let bytes = 0;
  let replaced: [id: string, before: RecordWrite | undefined][] = [];
  const stagedAt = (key: Buffer) => staged.get(key.toString('latin1'));
  const draft: Draft = {
    get(key) {
      const write = stagedAt(key);
      return write === undefined ? view.get(key) : write.value;
    },
    has(key) {
      const write = stagedAt(key);
      return write === undefined ? view.has(key) : write.value !== null;
    },
    stampOf: (key) => (stagedAt(key) === undefined ? view.stampOf(key) : Number.NaN),
    set(key, value) {
      checkKey(key);
      bytes += value?.length ?? 0;
      const id = key.toString('latin1');
      replaced.push([id, staged.get(id)]);
      staged.set(id, { key, value });
    },
    range({ from, to }, limit, onDamaged) {
      if (limit < 1) return [];
      const within = [...staged.values()].filter(
        ({ key }) => Buffer.compare(from, key) <= 0 && Buffer.compare(key, to) < 0,
      );
      // Enough of the stored ones, even if all staged ones are deletions.
      const stored = view.range({ from, to, limit: limit + within.length }, onDamaged);
      const unchanged = stored.filter(({ key }) => !staged.has(key.toString('latin1')));
      const set = within.flatMap(({ key, value }) => (value === null ? [] : [{ key, value }]));
      return [...unchanged, ...set].sort((one, other) => Buffer.compare(one.key, other.key)).slice(0, limit);
    },
  };
  return {
    ...draft,
    attempt(apply) {
      replaced = [];
      try {
        return apply(draft);
      } catch (error) {
        for (const [id, before] of replaced.reverse())
          before === undefined ? staged.delete(id) : staged.set(id, before);
        throw error;
      }
    },
    get bytes() {
      return bytes;
    },
    writes: () => [...staged.values()],
  };
}

/** Records removed in one transaction, as others wait for it. */
const REMOVED_AT_ONCE = 500;

/** @param to exclusive. @returns the number of removed records */
export async function removeRange(
  table: Table,
  from: Buffer,
  to: Buffer,
  atOnce = REMOVED_AT_ONCE,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let all = 0;
  for (let removed = atOnce; removed === atOnce && !isStopped(); all += removed)
    removed = await table.change((draft) => {
      const damaged: Buffer[] = [];
      const found = draft.range({ from, to }, atOnce, ({ key }) => damaged.push(key));
      for (const { key } of found) draft.set(key, null);
      for (const key of damaged) draft.set(key, null);
      return found.length + damaged.length;
    });
  return all;
}
