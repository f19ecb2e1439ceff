/**
 * Changes that concern several records: each is worked out on what was read, and all that wait are written together,
 * on the condition that the head, a record that every such change writes, is still the one that was read. Where a write that
 * was given up as late was made meanwhile, they are worked out again.
 */
import type { Environment, RangeOptions, RecordWrite, View } from './environment.js';

interface DraftRecord {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** What is to be written, seen as if it were written already. */
export interface Draft {
  get(key: Buffer): Buffer | null;
  set(key: Buffer, value: Buffer | null): void;
  /** @returns the first `most` records of a range; none where `most` is less than 1 */
  range(bounds: Pick<RangeOptions, 'from' | 'to'>, most: number): DraftRecord[];
}

/** @returns what the caller is told; an error it throws refuses this change alone */
export type Apply<Change, Result> = (draft: Draft, change: Change) => Result;

export interface GroupCommitOptions<Change, Result> {
  readonly environment: Pick<Environment, 'read' | 'write'>;
  readonly head: Buffer;
  readonly apply: Apply<Change, Result>;
  /** Called when all changes of a group were applied; has to set the head. */
  readonly finish: (draft: Draft) => void;
}

interface Waiting<Change, Result> {
  readonly change: Change;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** What is written at once: enough to share the disk's time, and no more than others can wait for. */
const GROUP_MAX = 100;

/** @returns makes a change, and resolves when it is committed */
export function createGroupCommit<Change, Result>(
  options: GroupCommitOptions<Change, Result>,
): (change: Change) => Promise<Result> {
  let waiting: Waiting<Change, Result>[] = [];
  let running = false;

  async function run(): Promise<void> {
    running = true;
    // What is asked for in the same turn shares the first group.
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting.slice(0, GROUP_MAX);
      waiting = waiting.slice(GROUP_MAX);
      try {
        const tell = await commitGroup(options, group);
        tell();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    running = false;
  }

  return (change) =>
    new Promise((resolve, reject) => {
      waiting.push({ change, resolve, reject });
      if (!running) void run();
    });
}

/** @returns tells everybody what came of it */
async function commitGroup<Change, Result>(
  { environment, head, apply, finish }: GroupCommitOptions<Change, Result>,
  group: readonly Waiting<Change, Result>[],
): Promise<() => void> {
  for (;;) {
    const { stamp, writes, tellers } = environment.read((view) => {
      const draft = createDraft(view);
      const results = group.map((one) => outcome(draft, one, apply));
      if (draft.writes().length > 0) finish(draft);
      return { stamp: view.get(head)?.stamp ?? 0, writes: draft.writes(), tellers: results };
    });
    if (writes.length === 0 || (await environment.write({ key: head, stamp }, writes)))
      return () => {
        for (const tell of tellers) tell();
      };
  }
}

function outcome<Change, Result>(
  draft: Draft,
  { change, resolve, reject }: Waiting<Change, Result>,
  apply: Apply<Change, Result>,
): () => void {
  try {
    const result = apply(draft, change);
    return () => resolve(result);
  } catch (error) {
    return () => reject(error);
  }
}

function createDraft(view: View): Draft & { writes(): RecordWrite[] } {
  const staged = new Map<string, RecordWrite>();
  return {
    get(key) {
      const write = staged.get(key.toString('latin1'));
      return write === undefined ? (view.get(key)?.value ?? null) : write.value;
    },
    set: (key, value) => void staged.set(key.toString('latin1'), { key, value }),
    range({ from, to }, most) {
      if (most < 1) return [];
      const within = [...staged.values()].filter(
        ({ key }) => Buffer.compare(from, key) <= 0 && Buffer.compare(key, to) < 0,
      );
      // As many of those stored as are left even if all that is staged deletes some of them.
      const stored = view.range({ from, to, limit: most + within.length });
      const unchanged = stored.filter(({ key }) => !staged.has(key.toString('latin1')));
      const set = within.flatMap(({ key, value }) => (value === null ? [] : [{ key, value }]));
      return [...unchanged, ...set].sort((one, other) => Buffer.compare(one.key, other.key)).slice(0, most);
    },
    writes: () => [...staged.values()],
  };
}
