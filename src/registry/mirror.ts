/**
 * The registry in memory: every replica's copy of teams, keys, the vault and purges, kept in step with the store.
 *
 * A message on the bus brings a change at once; a poll finds it when the message is lost. A commit is applied to
 * the own copy before it resolves, so that a replica always sees what it wrote itself.
 */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { RegistryCommit, RegistryRecord, Store } from '../store/port.js';

const CHANNEL = 'registry';

export interface Registry {
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
  const first = await store.registry.load();
  let epoch = first.epoch;
  let version = first.version;
  let records = new Map(first.records);
  let syncedAtMs = clock.monotonicMs();
  let running: Promise<void> | null = null;
  let again = false;
  const listeners: { prefix: string; listener: () => void }[] = [];

  function notify(ids: Iterable<string>): void {
    const changed = [...ids];
    for (const { prefix, listener } of listeners) {
      if (changed.some((id) => id.startsWith(prefix))) listener();
    }
  }

  async function reload(): Promise<void> {
    const next = await store.registry.load();
    const touched = new Set([...records.keys(), ...next.records.keys()]);
    epoch = next.epoch;
    version = next.version;
    records = new Map(next.records);
    notify(touched);
  }

  async function catchUp(): Promise<void> {
    const delta = await store.registry.changes(epoch, version);
    if (delta === null) await reload();
    else {
      const changed = apply(delta.changed, delta.version);
      version = Math.max(version, delta.version);
      notify(changed);
    }
    syncedAtMs = clock.monotonicMs();
  }

  /** Older news than what the copy holds (a poll that overlapped an own commit) must not undo it. */
  function apply(changes: ReadonlyMap<string, RegistryRecord | null>, at: number): string[] {
    const changed: string[] = [];
    for (const [id, record] of changes) {
      const known = records.get(id)?.revision ?? 0;
      if (known >= (record?.revision ?? at)) continue;
      if (record === null) records.delete(id);
      else records.set(id, record);
      changed.push(id);
    }
    return changed;
  }

  /** One look at a time; a wish that comes during one is honoured by one more after it. */
  function refresh(): Promise<void> {
    if (running !== null) {
      again = true;
      return running;
    }
    running = (async () => {
      do {
        again = false;
        await catchUp();
      } while (again);
    })().finally(() => {
      running = null;
    });
    return running;
  }

  let failing = false;
  async function poll(): Promise<void> {
    try {
      await refresh();
      if (failing) logger.info('the registry is in step with the store again');
      failing = false;
    } catch (error) {
      if (!failing)
        logger.warn({ err: error }, 'the registry cannot be refreshed; going on with what is known');
      failing = true;
    }
  }

  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  const unsubscribe = store.bus.subscribe(CHANNEL, () => void poll());

  return {
    get version() {
      return version;
    },
    get: (id) => records.get(id),
    list: (prefix) => [...records].filter(([id]) => id.startsWith(prefix)),
    onChange: (prefix, listener) => {
      listeners.push({ prefix, listener });
    },
    async commit(change) {
      const done = await store.registry.commit(change);
      const written = new Map(
        [...change.writes].map(([id, value]): [string, RegistryRecord | null] => [
          id,
          value === null ? null : { value, revision: done.version },
        ]),
      );
      // The version is not moved: commits of others below it may not have been seen yet.
      notify(apply(written, done.version));
      await store.bus.publish(CHANNEL, String(done.version)).catch((error: unknown) => {
        logger.warn({ err: error }, 'a registry change could not be announced; replicas find it by polling');
      });
    },
    refresh,
    staleForMs: () => clock.monotonicMs() - syncedAtMs,
    stop() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}
