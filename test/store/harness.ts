import type { Store } from '../../src/store/port.js';

/** A store under test, on state of its own. */
export interface StoreHarness {
  readonly store: Store;
  /** A further handle on the same state, as another replica has it; the store itself where there is only one. */
  another(): Promise<Store>;
  /** Lets time pass for what expires, without waiting. */
  elapse(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface HarnessOptions {
  readonly auditMax?: number;
  readonly tombstonesMax?: number;
}

export type OpenHarness = (options?: HarnessOptions) => Promise<StoreHarness>;

/** Runs `use` on a fresh store and closes it whatever happens. */
export async function withStore<T>(
  open: OpenHarness,
  use: (harness: StoreHarness) => Promise<T>,
  options?: HarnessOptions,
): Promise<T> {
  const harness = await open(options);
  try {
    return await use(harness);
  } finally {
    await harness.close();
  }
}
