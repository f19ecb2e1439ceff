import { type FileHandle, open } from 'node:fs/promises';
import type { OpenFile } from '../../../src/store/embedded/journal.js';

type Operation = 'open' | 'write' | 'sync' | 'truncate';

/** Real files, on a disk that can be made to fail. */
export interface FaultyDisk {
  readonly open: OpenFile;
  /** The operations done so far, in order; failed ones with a `!`. */
  readonly done: string[];
  /** After `spared` more, `times` such operations fail, before they have done anything but half of a write. */
  fail(operation: Operation, code: string, times?: number, spared?: number): void;
  /** Holds the next operations of this kind back until they are let go on. */
  hold(operation: Operation): () => void;
}

export function createFaultyDisk(): FaultyDisk {
  const failures = new Map<Operation, { code: string; times: number; spared: number }>();
  const gates = new Map<Operation, Promise<void>>();
  const done: string[] = [];

  async function pass(operation: Operation, half?: () => Promise<unknown>): Promise<void> {
    await gates.get(operation);
    const failure = failures.get(operation);
    if (failure === undefined || failure.spared > 0 || failure.times === 0) {
      if (failure !== undefined) failure.spared -= 1;
      done.push(operation);
      return;
    }
    failure.times -= 1;
    done.push(`${operation}!`);
    await half?.();
    throw Object.assign(new Error(`${failure.code}: the disk fails, ${operation}`), { code: failure.code });
  }

  function wrap(file: FileHandle): FileHandle {
    return new Proxy(file, {
      get(target, name: keyof FileHandle) {
        const member = target[name];
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          const run = member as (...args: unknown[]) => Promise<unknown>;
          if (name === 'write') {
            const [bytes, start, length, position] = args as [Buffer, number, number, number];
            await pass('write', () => target.write(bytes, start, length >> 1, position));
          }
          if (name === 'sync' || name === 'truncate') await pass(name);
          return await run.apply(target, args);
        };
      },
    });
  }

  return {
    done,
    async open(path, flags, mode) {
      await pass('open');
      return wrap(await open(path, flags, mode));
    },
    fail: (operation, code, times = 1, spared = 0) => void failures.set(operation, { code, times, spared }),
    hold(operation) {
      let letGo = () => {};
      const gate = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      gates.set(operation, gate);
      return () => {
        gates.delete(operation);
        letGo();
      };
    },
  };
}
