/**
 * Virtual time, and the order of everything: what is due is done one piece at a time, and of what is due at the same
 * moment the seed decides which is next. Between two pieces all promises that are settled are followed to their end.
 */
import type { SleepOptions, Timer, TimeSource } from '../../src/lib/time.js';
import type { Chance } from './chance-of-seed.js';
import { createQueue, Task, takeAt } from './queue.js';

export interface Scheduler extends TimeSource {
  readonly nowMs: number;
  readonly steps: number;
  /** Whose piece of work is done just now: what it begins is its owner's, too. */
  readonly owner: string;
  /** Does work in so many milliseconds, for an owner. */
  after(ms: number, owner: string, work: () => void): Timer;
  /** Begins work of an owner; what comes of it. */
  begin<T>(owner: string, work: () => Promise<T>): Promise<T>;
  /** Begins work of an owner that waits for the machine, as for its files: until it is over, time stands still. */
  hold<T>(owner: string, work: () => Promise<T>): Promise<T>;
  /** Nothing of this owner is done any more, as of a process that is killed; whoever asked it is told {@link Killed}. */
  kill(owner: string): void;
  /** Sets all clocks of the wall forward, as after a long sleep; what counts from a start does not notice. */
  leap(ms: number): void;
  /** Milliseconds since the Unix epoch, by a clock that is right. */
  trueMs(): number;
  /** @returns when it was so late, in milliseconds as `nowMs` counts them, by a clock that is right */
  momentOf(wallMs: number): number;
  /** What of an owner is still to be done. */
  waiting(owner: string): number;
  /** Lets time pass until then, or until the work is done. @throws what the work throws */
  run<T>(work: Promise<T>): Promise<T>;
  /** Adds a line to the trace. */
  note(text: string): void;
  /** A line for each step, answer and platform call so far. */
  readonly trace: readonly string[];
}

/** Who was asked is gone. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/** More pieces of work at one moment are a circle. */
const MOST_AT_ONCE = 200_000;
/** Longer no seed takes, by its own time. */
const LONGEST_MS = 600_000;
const afterPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** @param skewOf how much too late a clock of an owner is, in milliseconds */
export function createScheduler(
  chance: Chance,
  startMs: number,
  skewOf: (owner: string) => number = () => 0,
): Scheduler {
  const trace: string[] = [];
  const future = createQueue();
  const due: Task[] = [];
  let [nowMs, steps, owner, atOnce] = [0, 0, 'world', 0];
  let held: Promise<unknown> | null = null;
  const leaps: { readonly atMs: number; readonly ms: number }[] = [];
  const trueMs = () => startMs + nowMs + leaps.reduce((sum, { ms }) => sum + ms, 0);
  const killed = new Set<string>();
  /** Of those who asked an owner, and wait. */
  const asking = new Map<string, Set<(error: Killed) => void>>();

  function add(ms: number, of: string, work: () => void, everyMs: number | null = null): Task {
    const task = new Task(nowMs + Math.max(0, ms), 0, of, work, everyMs);
    if (killed.has(of)) task.stopped = true;
    else future.put(task);
    return task;
  }
  function begin<T>(of: string, work: () => Promise<T>): Promise<T> {
    const askers = asking.get(of) ?? new Set();
    asking.set(of, askers);
    return new Promise<T>((resolve, reject) => {
      if (killed.has(of)) return reject(new Killed());
      askers.add(reject);
      add(
        0,
        of,
        () =>
          void work()
            .then(resolve, reject)
            .finally(() => askers.delete(reject)),
      );
    });
  }
  function stop(timer: Timer): void {
    (timer as Task).stopped = true;
  }

  function next(): Task | null {
    for (;;) {
      for (let first = future.first(); first !== undefined && first.atMs <= nowMs; first = future.first())
        due.push(future.take());
      if (due.length > 0) {
        const task = takeAt(due, chance.below(due.length));
        if (!task.stopped) return task;
        continue;
      }
      const first = future.first();
      if (first === undefined) return null;
      if (!first.stopped) [nowMs, atOnce] = [first.atMs, 0];
      else future.take();
    }
  }

  /** @returns whether there was anything to do */
  function step(): boolean {
    const task = next();
    if (task === null) return false;
    steps += 1;
    atOnce += 1;
    if (atOnce > MOST_AT_ONCE)
      throw new Error(`work goes round in circles at ${nowMs} ms, for ${task.owner}`);
    trace.push(`${nowMs} ${task.owner}`);
    owner = task.owner;
    if (task.everyMs === null) task.stopped = true;
    else {
      task.atMs = nowMs + task.everyMs;
      future.put(task);
    }
    task.work();
    return true;
  }

  return {
    get nowMs() {
      return nowMs;
    },
    get steps() {
      return steps;
    },
    get owner() {
      return owner;
    },
    uptimeMs: () => nowMs,
    // Whole milliseconds, as the machine has them.
    wallMs: () => Math.floor(trueMs() + skewOf(owner)),
    startTimer: (work, ms) => add(ms, owner, work),
    stopTimer: stop,
    startTicks: (work, everyMs) => add(everyMs, owner, work, everyMs),
    stopTicks: stop,
    nextTurn: (work) => void add(0, owner, work),
    turn: () => new Promise((resolve) => void add(0, owner, resolve)),
    sleep: (ms, options = {}) => sleepFor(ms, options, (work) => add(ms, owner, work), stop),
    timeoutSignal(ms) {
      const controller = new AbortController();
      add(ms, owner, () => controller.abort(new DOMException('The time is up.', 'TimeoutError')));
      return controller.signal;
    },
    after: add,
    begin,
    hold(of, work) {
      owner = of;
      const done = work().finally(() => {
        held = null;
      });
      held = done.catch(() => {});
      return done;
    },
    trueMs,
    momentOf(wallMs) {
      let left = wallMs - startMs;
      for (const { atMs, ms } of leaps) if (left > atMs) left = Math.max(atMs, left - ms);
      return left;
    },
    leap: (ms) => void leaps.push({ atMs: nowMs, ms }),
    kill(of) {
      killed.add(of);
      for (const reject of asking.get(of) ?? []) reject(new Killed());
      for (const task of [...due, ...future.all]) if (task.owner === of) task.stopped = true;
    },
    waiting: (of) => [...due, ...future.all].filter((task) => task.owner === of && !task.stopped).length,
    async run(work) {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      await afterPromises();
      while (!isOver) {
        if (!step()) throw new Error('something waits for what is not simulated');
        if (nowMs > LONGEST_MS) throw new Error('something is waited for that never comes');
        await afterPromises();
        while (held !== null) {
          await held;
          await afterPromises();
        }
        owner = 'world';
      }
      return await work;
    },
    note: (text) => void trace.push(text),
    trace,
  };
}

function sleepFor(
  ms: number,
  { signal }: SleepOptions,
  add: (work: () => void) => Timer,
  stop: (timer: Timer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () =>
      reject(Object.assign(new Error(`a sleep of ${ms} ms was ended`), { name: 'AbortError' }));
    if (signal?.aborted === true) return fail();
    const abort = () => {
      stop(timer);
      fail();
    };
    const timer = add(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
