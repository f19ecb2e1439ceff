/** FetchLocks of several processes, for tests. */
import { onTestFinished } from 'vitest';
import { createFetchLocks, type FetchLocks } from '../../../src/reports/fetch/fetch-locks.js';
import type { Patience } from '../../../src/reports/question.js';
import type { Store } from '../../../src/store/port.js';
import { createRecordedLog } from '../../support/recorded-log.js';

export const DAYS = ['{s}:d:1', '{s}:d:2', '{s}:d:3', '{s}:d:4'] as const;
export const [ONE, TWO, THREE, FOUR] = DAYS;
export const EPOCH = 0;
/** Of a wait that nothing ends. */
export const never = () => new AbortController().signal;
/** Time enough for any call. */
export const LONG = { signal: never(), leftMs: () => 600_000 };
/** What has become of a promise so far. */
export const state = (promise: Promise<unknown>) => {
  const seen = { is: 'waiting' };
  promise.then(
    (value) => {
      seen.is = `got ${value}`;
    },
    (error: unknown) => {
      seen.is = `failed: ${(error as Error).message}`;
    },
  );
  return seen;
};
/** Lets everything that is due now happen, messages within the process too. */
export const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

export type ProcessLocks = ReturnType<typeof processOn>;

/** What locks need of a store. */
export interface LockStore extends Pick<Store, 'bus'> {
  readonly days: Pick<Store['days'], 'claim' | 'renew' | 'release'>;
}

/** A process: its own locks on a series. Values are texts that tell who brought them. */
export function processOn(store: LockStore, maxWaiting = 100, series = 's') {
  const locks: FetchLocks<string> = createFetchLocks(
    store.days,
    store.bus,
    createRecordedLog().logger,
    maxWaiting,
  );
  onTestFinished(() => locks.stop());
  return {
    ...locks,
    get waiting() {
      return locks.waiting;
    },
    tryTake: (
      keys: readonly string[],
      epoch: number,
      deadline: Parameters<typeof locks.tryTake>[1],
      patience?: Patience,
    ) => locks.tryTake({ series, keys, known: [], epoch }, deadline, patience),
  };
}
