/**
 * Virtual time, and the order of everything: what is due is done one piece at a time, and of what is due at the same
 * moment the seed decides which is next. Between two pieces all promises that are settled are followed to their end.
 */
import { createHash, type Hash } from 'node:crypto';
import type { SleepOptions, Timer, TimeSource } from '../../src/time.js';
import type { Chance } from './chance-of-seed.js';

interface Task extends Timer {
  readonly atMs: number;
  readonly owner: string;
  readonly work: () => void;
  readonly everyMs: number | null;
  stopped: boolean;
}

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
  /** Nothing of this owner is done any more, as of a process that is killed. */
  kill(owner: string): void;
  /** What of an owner is still to be done. */
  waiting(owner: string): number;
  /** Lets time pass until then, or until the work is done. @throws what the work throws */
  run<T>(work: Promise<T>): Promise<T>;
  /** Of the trace so far. */
  note(text: string): void;
  hash(): string;
}

/** More pieces of work at one moment are a circle. */
const MOST_AT_ONCE = 200_000;
const afterPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function createScheduler(chance: Chance, startMs: number): Scheduler {
  const trace: Hash = createHash('sha256');
  let future: Task[] = [];
  const due: Task[] = [];
  let [nowMs, steps, owner, atOnce] = [0, 0, 'world', 0];
  let held: Promise<unknown> | null = null;

  /** By time, and what was put in first comes first. */
  function put(task: Task): void {
    let [low, high] = [0, future.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((future[middle] as Task).atMs <= task.atMs) low = middle + 1;
      else high = middle;
    }
    future.splice(low, 0, task);
  }
  function add(ms: number, of: string, work: () => void, everyMs: number | null = null): Task {
    const task: Task = {
      ...{ atMs: nowMs + Math.max(0, ms), owner: of, work, everyMs, stopped: false },
      ref: () => task,
      unref: () => task,
    };
    put(task);
    return task;
  }
  function stop(timer: Timer): void {
    (timer as Task).stopped = true;
  }

  function next(): Task | null {
    for (;;) {
      while (future.length > 0 && (future[0] as Task).atMs <= nowMs) due.push(future.shift() as Task);
      if (due.length > 0) {
        const [task] = due.splice(chance.below(due.length), 1) as [Task];
        if (!task.stopped) return task;
        continue;
      }
      const [first] = future;
      if (first === undefined) return null;
      if (!first.stopped) [nowMs, atOnce] = [first.atMs, 0];
      else future.shift();
    }
  }

  async function step(): Promise<boolean> {
    const task = next();
    if (task === null) return false;
    steps += 1;
    atOnce += 1;
    if (atOnce > MOST_AT_ONCE)
      throw new Error(`work goes round in circles at ${nowMs} ms, for ${task.owner}`);
    trace.update(`${nowMs} ${task.owner}\n`);
    owner = task.owner;
    if (task.everyMs === null) task.stopped = true;
    else put(Object.assign(task, { atMs: nowMs + task.everyMs }));
    task.work();
    await afterPromises();
    while (held !== null) {
      await held;
      await afterPromises();
    }
    owner = 'world';
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
    wallMs: () => startMs + nowMs,
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
    begin: (of, work) =>
      new Promise((resolve, reject) => void add(0, of, () => void work().then(resolve, reject))),
    hold(of, work) {
      owner = of;
      const done = work().finally(() => {
        held = null;
      });
      held = done.catch(() => {});
      return done;
    },
    kill(of) {
      for (const task of [...due, ...future]) if (task.owner === of) task.stopped = true;
      future = future.filter(({ stopped }) => !stopped);
    },
    waiting: (of) => [...due, ...future].filter((task) => task.owner === of && !task.stopped).length,
    async run(work) {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      await afterPromises();
      while (!isOver) {
        if (!(await step())) throw new Error('something waits for what is not simulated');
      }
      return await work;
    },
    note: (text) => void trace.update(`${text}\n`),
    hash: () => trace.copy().digest('hex'),
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
