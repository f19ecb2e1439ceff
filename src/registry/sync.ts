/** Keeps a replica's copy in step with the store: looks for what is new, and loads everything where that cannot tell. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { RegistrySnapshot, RegistryStore } from '../store/port.js';
import type { RegistryCopy } from './copy.js';
import { loadAndMend } from './load.js';
import type { Staleness } from './staleness.js';
import { RegistryLost, type Succession } from './succession.js';
import { createTurns } from './turns.js';

export interface RegistrySync {
  /** Fetches what is new now: after a look that is under way by another one. @throws StoreUnavailable, RegistryLost */
  refresh(): Promise<void>;
  /** The same, but a failure is logged, once until a look succeeds again. */
  poll(): Promise<void>;
  /** Failures are not logged any more. */
  stop(): void;
}

export interface RegistrySyncOptions {
  readonly copy: RegistryCopy;
  readonly store: RegistryStore;
  readonly succession: Succession;
  readonly staleness: Staleness;
  /** Told which records may have changed. */
  readonly onChanged: (ids: ReadonlySet<string>) => void;
  /** Told afterwards when another registry has taken the place of the one known. */
  readonly onAnother: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createRegistrySync(options: RegistrySyncOptions): RegistrySync {
  const { staleness, logger } = options;
  let failing = false;
  let stopped = false;
  const look = createLook(options);

  const refresh = createTurns(async () => {
    try {
      await look();
    } catch (error) {
      staleness.lookFailed();
      throw error;
    }
  });

  async function poll(): Promise<void> {
    try {
      await refresh();
      if (failing) logger.info('the registry is in step with the store again');
      failing = false;
    } catch (error) {
      // What is lost is told by who found it out.
      if (!failing && !stopped && !(error instanceof RegistryLost))
        logger.warn({ err: error }, 'the registry cannot be refreshed; going on with what is known');
      failing = true;
    }
  }

  return {
    refresh,
    poll,
    stop() {
      stopped = true;
    },
  };
}

/** @returns a function that looks at the store once, or as often as it takes to know everything */
function createLook(options: RegistrySyncOptions): () => Promise<void> {
  const { copy, store, staleness, clock } = options;
  /** A load that failed is made up for by another: only a load can tell what the store has lost. */
  let mustLoad = false;

  async function load(): Promise<RegistrySnapshot> {
    mustLoad = true;
    const snapshot = await loadKnown(options);
    mustLoad = false;
    return snapshot;
  }

  return async function look() {
    const startedAtMs = clock.monotonicMs();
    copy.beginLook();
    const { newest, epoch } = copy;
    const delta = mustLoad || copy.mustLoad ? null : await store.changes(epoch, copy.version);
    // A store that is behind what was known before it was asked has lost something.
    const isWhole = delta !== null && delta.version >= newest;
    const changed = isWhole ? copy.takeDelta(delta) : copy.takeSnapshot(await load());
    staleness.inStep(startedAtMs);
    options.onChanged(changed);
    if (copy.epoch !== epoch) options.onAnother();
    if (copy.mustLoad) await look();
  };
}

/** Everything the store holds, after what it has lost was put back, or another registry was taken over. */
async function loadKnown(options: RegistrySyncOptions): Promise<RegistrySnapshot> {
  const { store, succession, staleness, clock } = options;
  // As it is now: own commits that come to be known meanwhile are not in what is loaded, and not lost.
  const { epoch, version, newest, records } = options.copy;
  const known = { epoch, version, newest, records: new Map(records) };
  const found = await loadAndMend(known, { store, clock, tell: succession.tell });
  const snapshot = await succession.settle(known, found, found.epoch === epoch ? 0 : staleness.atLossMs());
  staleness.lossSettled();
  return snapshot;
}
