/** Keeps a replica's copy in step with the store: looks for what is new, and loads everything where that cannot tell. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import type { RegistrySnapshot, RegistryStore } from '../port.js';
import type { RegistryCopy } from './copy.js';
import { RegistryLost, type Succession } from './succession.js';

export type RegistrySync = ReturnType<typeof createRegistrySync>;

/**
 * @param onChanged called with the ids of records that may have changed
 * @param onAnother called afterwards when another registry has taken the place of the one known
 */
export function createRegistrySync(
  copy: RegistryCopy,
  store: RegistryStore,
  succession: Succession,
  onChanged: (ids: ReadonlySet<string>) => void,
  onAnother: () => void,
  clock: Clock,
  logger: Logger,
) {
  /** When the look began that has brought the copy in step, by the monotonic clock. */
  let syncedAtMs = clock.monotonicMs();
  /** When the first look failed since the last one that did not. */
  let failedAtMs: number | null = null;
  /** How long the replica had been out of step when a loss was found; the same until the loss is settled. */
  let lostAfterMs: number | null = null;
  /** A load that failed is made up for by another: only a load can tell what the store has lost. */
  let mustLoad = false;
  let failing = false;
  let stopped = false;

  /**
   * Where another server answers than before, the loss came with the time in which none did; where it is the same one,
   * it may have come at any time since the last look.
   */
  function beforeLossMs(): number {
    const nowMs = clock.monotonicMs();
    return (store.movedOn() ? (failedAtMs ?? nowMs) : nowMs) - syncedAtMs;
  }

  /** Everything the store holds, after what it has lost was put back, or another registry was taken over. */
  async function load(): Promise<RegistrySnapshot> {
    mustLoad = true;
    // As it is now: own commits that come to be known meanwhile are not in what is loaded, and not lost.
    const { epoch, version, newest, records } = copy;
    const known = { epoch, version, newest, records: new Map(records) };
    const snapshot = await succession.load(known, () => (lostAfterMs ??= beforeLossMs()));
    lostAfterMs = null;
    mustLoad = false;
    return snapshot;
  }

  /** Looks at the store once, or as often as it takes to know everything. */
  async function look(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    copy.beginLook();
    const { newest, epoch } = copy;
    const delta = mustLoad || copy.mustLoad ? null : await store.changes(epoch, copy.version);
    // A store that is behind what was known before it was asked has lost something.
    const isWhole = delta !== null && delta.version >= newest;
    const changed = isWhole ? copy.takeDelta(delta) : copy.takeSnapshot(await load());
    syncedAtMs = startedAtMs;
    failedAtMs = null;
    onChanged(changed);
    if (copy.epoch !== epoch) onAnother();
    if (copy.mustLoad) await look();
  }

  const refresh = createTurns(() =>
    look().catch((error: unknown) => {
      failedAtMs ??= clock.monotonicMs();
      throw error;
    }),
  );

  return {
    /** Fetches what is new now: after a look that is under way by another one. @throws StoreUnavailable, RegistryLost */
    refresh,
    /** The same, but a failure is logged, once until a look succeeds again. */
    async poll(): Promise<void> {
      try {
        await refresh();
        if (failing) logger.info('the registry is in step with the store again');
        failing = false;
      } catch (error) {
        // A loss was logged when it was found.
        if (!failing && !stopped && !(error instanceof RegistryLost))
          logger.warn({ err: error }, 'the registry cannot be refreshed; going on with what is known');
        failing = true;
      }
    },
    /** Milliseconds since the copy was last known to be in step. */
    staleForMs: () => clock.monotonicMs() - syncedAtMs,
    /** Failures are not logged any more. */
    stop(): void {
      stopped = true;
    },
  };
}

/**
 * One turn of `work` at a time. A call during one gets the turn after it, together with all calls meanwhile, and waits for
 * that one alone: calls that go on coming keep none waiting.
 */
export function createTurns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  function begin(): Promise<void> {
    next = null;
    running = work().finally(() => {
      running = null;
    });
    return running;
  }
  return () => {
    if (next !== null) return next;
    if (running === null) return begin();
    // Only calls that asked for the turn before reject with its failure.
    next = running.then(begin, begin);
    return next;
  };
}
