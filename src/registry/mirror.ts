/**
 * The registry in memory: every replica's copy of teams, keys, the vault and purges, kept in step with the store.
 *
 * A message on the bus brings a change at once; a poll finds it when the message is lost. A commit is applied to
 * the own copy before it resolves, so that a replica always sees what it wrote itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import {
  ANOTHER_REGISTRY,
  type RegistryCommit,
  type RegistryCommitted,
  RegistryConflict,
  type RegistryRecord,
  type RegistrySnapshot,
  type Store,
} from '../store/port.js';
import { createRegistryCopy, type RegistryCopy } from './copy.js';
import { noteUnconfirmed } from './durability.js';
import { loadAndMend } from './load.js';
import { createNotifier } from './notifier.js';
import { recreate } from './recreate.js';
import { createRescue, type Rescue } from './rescue.js';
import {
  createSuccession,
  type LossOutcome,
  PLAIN_RULES,
  type RegistryLoss,
  RegistryLost,
  type SuccessionRules,
} from './succession.js';
import { createTurns } from './turns.js';

const CHANNEL = 'registry';
const STEP_MS = 100;

export interface Registry {
  /** Which registry this is: another one when it was restored from elsewhere. */
  readonly epoch: string;
  /** The version the copy is at. */
  readonly version: number;
  /** What is wrong with the registry in the store; null while it is the one known here. */
  readonly loss: RegistryLoss | null;
  /** The last time the store had lost it, mended or not. */
  readonly lastLoss: RegistryLoss | null;
  get(id: string): RegistryRecord | undefined;
  /** Records whose id starts with `prefix`, in no particular order. */
  list(prefix: string): [id: string, record: RegistryRecord][];
  /** Calls back after changes to ids with this prefix, own commits included. */
  onChange(prefix: string, listener: () => void): void;
  /** Calls back when another registry has taken the place of the one known, after {@link onChange}. */
  onAnother(listener: () => void): void;
  onLoss(listener: (outcome: LossOutcome) => void): void;
  /** @throws RegistryConflict, StoreUnavailable */
  commit(change: RegistryCommit): Promise<void>;
  /**
   * In place of `commit` while there is a {@link loss}: makes the registry known here, with this change, in the place
   * of whatever the store holds. @throws RegistryConflict, StoreUnavailable
   */
  recreate(change: RegistryCommit): Promise<void>;
  /** Fetches what is new now, instead of at the next poll. */
  refresh(): Promise<void>;
  /** Milliseconds since the copy was last known to be in step. */
  staleForMs(): number;
  stop(): void;
}

export interface RegistryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Longest time between two looks at the store. */
  readonly pollMs?: number;
  readonly rules?: SuccessionRules;
  /** How long replicas that live are given to put a registry back, before an empty one is made where there is none. */
  readonly graceMs?: number;
}

/** Loads the registry and keeps it in step until stopped. @throws StoreUnavailable when the first load fails */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const { store, clock, logger, pollMs = 500, rules = PLAIN_RULES, graceMs = 0 } = options;
  const rescue = createRescue({
    ...options,
    store: store.registry,
    bus: store.bus,
    onAsked: () => void poll(),
  });
  const succession = createSuccession({ store: store.registry, rescue, rules, clock, logger });
  let syncedAtMs = clock.monotonicMs();
  let copy: RegistryCopy | null = null;
  const notifier = createNotifier(logger);
  const anothers: (() => void)[] = [];
  /** A load that failed is made up for by another: only a load can tell what the store has lost. */
  let mustLoad = false;
  /** When the first look failed since the last one that did not. */
  let failedAtMs: number | null = null;
  /** How long the copy had been out of step when the registry was found to be lost. */
  let lostAfterMs: number | null = null;
  let failing = false;
  let stopped = false;

  async function load(copy: RegistryCopy): Promise<RegistrySnapshot> {
    mustLoad = true;
    // As it is now: own commits that come to be known meanwhile are not in what is loaded, and not lost.
    const { epoch, version, newest, records } = copy;
    const known = { epoch, version, newest, records: new Map(records) };
    const found = await loadAndMend(known, { store: store.registry, clock, logger });
    if (found.epoch !== epoch) lostAfterMs ??= outOfStepBeforeMs();
    const snapshot = await succession.settle(known, found, lostAfterMs ?? 0);
    lostAfterMs = null;
    mustLoad = false;
    return snapshot;
  }

  /**
   * Where another server answers than before, the loss came with the time in which none did; where it is the same one,
   * it may have come at any time since the last look.
   */
  function outOfStepBeforeMs(): number {
    const nowMs = clock.monotonicMs();
    return (store.registry.movedOn() ? (failedAtMs ?? nowMs) : nowMs) - syncedAtMs;
  }

  async function look(): Promise<void> {
    if (copy === null) return;
    const startedAtMs = clock.monotonicMs();
    copy.beginLook();
    const { newest, epoch } = copy;
    const delta = mustLoad || copy.mustLoad ? null : await store.registry.changes(epoch, copy.version);
    // A store that is behind what was known before it was asked has lost something.
    const isWhole = delta !== null && delta.version >= newest;
    const changed = isWhole ? copy.takeDelta(delta) : copy.takeSnapshot(await load(copy));
    syncedAtMs = startedAtMs;
    failedAtMs = null;
    notifier.notify(changed);
    if (copy.epoch !== epoch) for (const listener of anothers) listener();
    if (copy.mustLoad) await look();
  }

  const refresh = createTurns(async () => {
    try {
      await look();
    } catch (error) {
      failedAtMs ??= clock.monotonicMs();
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

  const first = createRegistryCopy(await firstLoad(options, rescue, graceMs));
  copy = first;
  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  const unsubscribe = store.bus.subscribe(CHANNEL, () => void poll());

  /** Into the registry known here and no other: one that was emptied would begin anew with it. */
  async function write(change: RegistryCommit): Promise<RegistryCommitted> {
    const { epoch } = first;
    try {
      return await store.registry.commit({ ...change, epoch });
    } catch (error) {
      if (!(error instanceof RegistryConflict) || error.id !== ANOTHER_REGISTRY) throw error;
      await refresh();
      if (first.epoch !== epoch) throw error;
      return store.registry.commit({ ...change, epoch });
    }
  }

  async function announce(version: number): Promise<void> {
    await store.bus.publish(CHANNEL, String(version)).catch((error: unknown) => {
      logger.warn({ err: error }, 'a registry change could not be announced; replicas find it by polling');
    });
  }

  return {
    get epoch() {
      return first.epoch;
    },
    get version() {
      return first.version;
    },
    get loss() {
      return succession.open;
    },
    get lastLoss() {
      return succession.last;
    },
    get: (id) => first.records.get(id),
    list: (prefix) => [...first.records].filter(([id]) => id.startsWith(prefix)),
    onChange: notifier.add,
    onAnother: (listener) => void anothers.push(listener),
    onLoss: succession.onLoss,
    async commit(change) {
      const done = await write(change);
      if (done.unconfirmed !== undefined) noteUnconfirmed(done.unconfirmed);
      const changed = first.takeOwn(change.writes, done.version);
      if (changed === null) await poll();
      else notifier.notify(changed);
      await announce(done.version);
    },
    async recreate(change) {
      await recreate(store.registry, first, change);
      await refresh();
      await announce(first.version);
    },
    refresh,
    staleForMs: () => clock.monotonicMs() - syncedAtMs,
    stop() {
      stopped = true;
      clearInterval(timer);
      unsubscribe();
      rescue.stop();
    },
  };
}

/** What there is; where there is nothing, and no replica that lives puts it back, an empty registry is made. */
async function firstLoad(
  { store, clock }: RegistryOptions,
  rescue: Rescue,
  graceMs: number,
): Promise<RegistrySnapshot> {
  const endsAtMs = clock.monotonicMs() + graceMs;
  for (let asked = false; ; asked = true) {
    const snapshot = await store.registry.load('leave');
    if (snapshot.epoch !== '') return snapshot;
    if (clock.monotonicMs() >= endsAtMs) return store.registry.load();
    if (!asked) await rescue.ask();
    await sleep(STEP_MS);
  }
}
