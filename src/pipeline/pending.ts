/** What those who wait for a fetch lock hold on to. */
import { startTimer, stopTimer } from '../time.js';

/** A promise that is settled from outside. */
export interface Pending<T> {
  readonly promise: Promise<T | null>;
  resolve(brought: T | null): void;
  reject(error: unknown): void;
}

export function createPending<T>(): Pending<T> {
  let resolve: Pending<T>['resolve'] = () => {};
  let reject: Pending<T>['reject'] = () => {};
  const promise = new Promise<T | null>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  // Nobody may be waiting; whoever made the call is told of its failure anyway.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** Those who wait for keys that other replicas have under way. */
export interface Wakers {
  /** These keys were released: whoever waits for one of them looks. */
  wake(keys: readonly string[]): void;
  /** Resolves, with nothing in hand, when one of the keys was released elsewhere, or when it is time to look. */
  woken(keys: readonly string[], pollMs: number): Promise<null>;
}

export function createWakers(): Wakers {
  const wakers = new Map<string, Set<() => void>>();
  return {
    wake(keys) {
      for (const key of keys) for (const wake of wakers.get(key) ?? []) wake();
    },
    woken(keys, pollMs) {
      return new Promise((resolve) => {
        const wake = () => {
          stopTimer(timer);
          for (const key of keys) {
            const set = wakers.get(key);
            set?.delete(wake);
            if (set?.size === 0) wakers.delete(key);
          }
          resolve(null);
        };
        const timer = startTimer(wake, pollMs);
        for (const key of keys) {
          const set = wakers.get(key) ?? new Set();
          set.add(wake);
          wakers.set(key, set);
        }
      });
    },
  };
}
