/** What is still to be done, by time. */
import type { Timer } from '../../src/lib/time.js';

export class Task implements Timer {
  stopped = false;

  constructor(
    public atMs: number,
    /** Of what is due at one moment, what was put in first is due first. */
    public turn: number,
    readonly owner: string,
    readonly work: () => void,
    readonly everyMs: number | null,
  ) {}
  ref(): Timer {
    return this;
  }
  unref(): Timer {
    return this;
  }
}

export interface Queue {
  readonly all: readonly Task[];
  put(task: Task): void;
  first(): Task | undefined;
  /** Only where there is one. */
  take(): Task;
}

/** By time, and what was put in first comes first: a heap. */
export function createQueue(): Queue {
  const all: Task[] = [];
  let puts = 0;
  const isBefore = (one: Task, other: Task) =>
    one.atMs < other.atMs || (one.atMs === other.atMs && one.turn < other.turn);
  return {
    all,
    put(task) {
      puts += 1;
      task.turn = puts;
      let at = all.length;
      while (at > 0) {
        const above = all[(at - 1) >> 1] as Task;
        if (!isBefore(task, above)) break;
        all[at] = above;
        at = (at - 1) >> 1;
      }
      all[at] = task;
    },
    first: () => all[0],
    take() {
      const first = all[0] as Task;
      const last = all.pop() as Task;
      if (all.length > 0) sink(all, last, isBefore);
      return first;
    },
  };
}

/** Puts the last one where the first one was, and down from there. */
function sink(all: Task[], last: Task, isBefore: (one: Task, other: Task) => boolean): void {
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= all.length) break;
    if (below + 1 < all.length && isBefore(all[below + 1] as Task, all[below] as Task)) below += 1;
    if (!isBefore(all[below] as Task, last)) break;
    all[at] = all[below] as Task;
    at = below;
  }
  all[at] = last;
}

/** Takes one out of a list that is in no order. */
export function takeAt(tasks: Task[], at: number): Task {
  const task = tasks[at] as Task;
  const last = tasks.pop() as Task;
  if (at < tasks.length) tasks[at] = last;
  return task;
}
