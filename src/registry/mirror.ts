/**
 * The registry in memory: every replica's copy of teams, keys, the vault and purges, kept in step with the store.
 *
 * A message on the bus brings a change at once; a poll finds it when the message is lost. A commit is applied to
 * the own copy before it resolves, so that a replica always sees what it wrote itself.
 */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { RegistryCommit, RegistryRecord, RegistrySnapshot, Store } from '../store/port.js';
import { createRegistryCopy } from './copy.js';
import { loadAndMend } from './load.js';

const CHANNEL = 'registry';

export interface Registry {
  /** Which registry this is: another one when it was lost and made anew, or restored from elsewhere. */
  readonly epoch: string;
  /** The version the copy is at. */
  readonly version: number;
  get(id: string): RegistryRecord | undefined;
  /** Records whose id starts with `prefix`, in no particular order. */
  list(prefix: string): [id: string, record: RegistryRecord][];
  /** Calls back after changes to ids with this prefix, own commits included. */
  onChange(prefix: string, listener: () => void): void;
  /** @throws RegistryConflict, StoreUnavailable */
  commit(change: RegistryCommit): Promise<void>;
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
}

/** Loads the registry and keeps it in step until stopped. @throws StoreUnavailable when the first load fails */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const { store, clock, logger, pollMs = 500 } = options;
  let syncedAtMs = clock.monotonicMs();
  const copy = createRegistryCopy(await store.registry.load());
  const notifier = createNotifier(logger);
  /** A load that failed is made up for by another: only a load can tell what the store has lost. */
  let mustLoad = false;
  let failing = false;
  let stopped = false;

  async function load(): Promise<RegistrySnapshot> {
    mustLoad = true;
    // As it is now: own commits that come to be known meanwhile are not in what is loaded, and not lost.
    const { epoch, version, newest, records } = copy;
    const known = { epoch, version, newest, records: new Map(records) };
    const snapshot = await loadAndMend(known, { store: store.registry, clock, logger });
    mustLoad = false;
    return snapshot;
  }

  async function look(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    copy.beginLook();
    const { newest } = copy;
    const delta = mustLoad || copy.mustLoad ? null : await store.registry.changes(copy.epoch, copy.version);
    // A store that is behind what was known before it was asked has lost something.
    const isWhole = delta !== null && delta.version >= newest;
    const changed = isWhole ? copy.takeDelta(delta) : copy.takeSnapshot(await load());
    syncedAtMs = startedAtMs;
    notifier.notify(changed);
    if (copy.mustLoad) await look();
  }

  const refresh = createTurns(look);

  async function poll(): Promise<void> {
    try {
      await refresh();
      if (failing) logger.info('the registry is in step with the store again');
      failing = false;
    } catch (error) {
      if (!failing && !stopped)
        logger.warn({ err: error }, 'the registry cannot be refreshed; going on with what is known');
      failing = true;
    }
  }

  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  const unsubscribe = store.bus.subscribe(CHANNEL, () => void poll());

  return {
    get epoch() {
      return copy.epoch;
    },
    get version() {
      return copy.version;
    },
    get: (id) => copy.records.get(id),
    list: (prefix) => [...copy.records].filter(([id]) => id.startsWith(prefix)),
    onChange: notifier.add,
    async commit(change) {
      const done = await store.registry.commit(change);
      const changed = copy.takeOwn(change.writes, done.version);
      if (changed === null) await poll();
      else notifier.notify(changed);
      await store.bus.publish(CHANNEL, String(done.version)).catch((error: unknown) => {
        logger.warn({ err: error }, 'a registry change could not be announced; replicas find it by polling');
      });
    },
    refresh,
    staleForMs: () => clock.monotonicMs() - syncedAtMs,
    stop() {
      stopped = true;
      clearInterval(timer);
      unsubscribe();
    },
  };
}

/** One turn of `work` at a time; a wish that comes during one is honoured by one more after it. */
function createTurns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let again = false;
  return () => {
    if (running !== null) {
      again = true;
      return running;
    }
    running = (async () => {
      try {
        do {
          again = false;
          await work();
        } while (again);
      } finally {
        running = null;
      }
    })();
    return running;
  };
}

interface Notifier {
  add(prefix: string, listener: () => void): void;
  notify(changed: ReadonlySet<string>): void;
}

function createNotifier(logger: Logger): Notifier {
  const listeners: { prefix: string; listener: () => void }[] = [];
  return {
    add: (prefix, listener) => {
      listeners.push({ prefix, listener });
    },
    notify(changed) {
      for (const { prefix, listener } of listeners) {
        if (![...changed].some((id) => id.startsWith(prefix))) continue;
        try {
          listener();
        } catch (error) {
          // The others must hear of it all the same, for nobody is told twice.
          logger.error({ err: error, prefix }, 'a change of the registry could not be taken over');
        }
      }
    },
  };
}
