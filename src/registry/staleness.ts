/** How long the replica has been out of step with the store, and how long it had been when a loss was found. */
import type { Clock } from '../clock.js';
import type { RegistryStore } from '../store/port.js';

export interface Staleness {
  /** Milliseconds since the replica was last known to be in step. */
  nowMs(): number;
  /** @param startedAtMs when the look began that has brought the replica in step, by the monotonic clock */
  inStep(startedAtMs: number): void;
  lookFailed(): void;
  /** Milliseconds it had been out of step when the loss was found; the same until the loss is settled. */
  atLossMs(): number;
  lossSettled(): void;
}

export function createStaleness(store: RegistryStore, clock: Clock): Staleness {
  let syncedAtMs = clock.monotonicMs();
  /** When the first look failed since the last one that did not. */
  let failedAtMs: number | null = null;
  let lostAfterMs: number | null = null;

  /**
   * Where another server answers than before, the loss came with the time in which none did; where it is the same one,
   * it may have come at any time since the last look.
   */
  function beforeLossMs(): number {
    const nowMs = clock.monotonicMs();
    return (store.movedOn() ? (failedAtMs ?? nowMs) : nowMs) - syncedAtMs;
  }

  return {
    nowMs: () => clock.monotonicMs() - syncedAtMs,
    inStep(startedAtMs) {
      syncedAtMs = startedAtMs;
      failedAtMs = null;
    },
    lookFailed() {
      failedAtMs ??= clock.monotonicMs();
    },
    atLossMs() {
      lostAfterMs ??= beforeLossMs();
      return lostAfterMs;
    },
    lossSettled() {
      lostAfterMs = null;
    },
  };
}
