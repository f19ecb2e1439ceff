/**
 * The registry in memory: every replica's copy of teams, keys, the vault and purges, kept in step with the store.
 *
 * A message on the bus brings a change at once; a poll finds it when the message is lost. A commit is applied to
 * the own copy before it resolves, so that a replica always sees what it wrote itself.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { sleep, startTicks, stopTicks } from '../../lib/time.js';
import {
  ANOTHER_REGISTRY,
  type RegistryCommit,
  type RegistryCommitted,
  RegistryConflict,
  type RegistryRecord,
  type RegistrySnapshot,
  type RegistryStore,
  type Store,
} from '../port.js';
import { createRegistryCopy, type RegistryCopy } from './copy.js';
import { noteUnconfirmed } from './durability.js';
import { createSuccession, type Succession, type SuccessionRules } from './succession.js';
import { createRegistrySync, type RegistrySync } from './sync.js';

/** Says on the bus that the registry has changed; the message is its version. */
const CHANNEL = 'registry';
const STEP_MS = 100;

export interface RegistryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Longest time between two looks at the store. */
  readonly pollMs?: number;
  readonly rules: SuccessionRules;
  /** How long replicas that live are given to put a registry back, before an empty one is made where there is none. */
  readonly graceMs?: number;
}

export type Registry = Awaited<ReturnType<typeof openRegistry>>;

/** Loads the registry and keeps it in step until stopped. @throws StoreUnavailable when the first load fails */
export async function openRegistry(options: RegistryOptions) {
  const { store, clock, logger, pollMs = 500, rules, graceMs = 0 } = options;
  let sync: RegistrySync | null = null;
  const poll = () => void sync?.poll();
  const { registry, bus } = store;
  const succession = createSuccession(registry, bus, rules, clock, logger, poll);
  const notifier = createNotifier(logger);
  const copy = createRegistryCopy(await firstLoad(registry, succession, clock, graceMs));
  const onAnother: (() => void)[] = [];
  const tellOfAnother = () => {
    for (const listener of onAnother) listener();
  };
  sync = createRegistrySync(copy, registry, succession, notifier.notify, tellOfAnother, clock, logger);
  const { refresh, staleForMs, stop } = sync;
  const timer = startTicks(poll, pollMs).unref();
  const unsubscribe = bus.subscribe(CHANNEL, poll);
  return {
    /** Which registry this is: another one when it was restored from elsewhere. */
    get epoch() {
      return copy.epoch;
    },
    /** The version the copy is at. */
    get version() {
      return copy.version;
    },
    /** What is wrong with the registry in the store; null while it is the one known here. */
    get loss() {
      return succession.open;
    },
    /** The last time the store had lost it, mended or not. */
    get lastLoss() {
      return succession.last;
    },
    get: (id: string): RegistryRecord | undefined => copy.records.get(id),
    /** Records whose id starts with `prefix`, in no particular order. */
    list: (prefix: string): [id: string, record: RegistryRecord][] =>
      [...copy.records].filter(([id]) => id.startsWith(prefix)),
    /** Calls back after changes to ids with this prefix, own commits included. */
    onChange: notifier.add,
    /** Calls back when another registry has taken the place of the one known, after `onChange`. */
    onAnother: (listener: () => void) => void onAnother.push(listener),
    onLoss: succession.onLoss,
    ...createCommits(copy, store, sync, notifier.notify, logger),
    /** Fetches what is new now, instead of at the next poll. */
    refresh,
    /** Milliseconds since the copy was last known to be in step. */
    staleForMs,
    stop(): void {
      stop();
      stopTicks(timer);
      unsubscribe();
      succession.stop();
    },
  };
}

/** What there is; where there is nothing, and no replica that lives puts it back, an empty registry is made. */
async function firstLoad(
  store: RegistryStore,
  succession: Succession,
  clock: Clock,
  graceMs: number,
): Promise<RegistrySnapshot> {
  const endsAtMs = clock.monotonicMs() + graceMs;
  for (let asked = false; ; asked = true) {
    const snapshot = await store.load('leave');
    if (snapshot.epoch !== '') return snapshot;
    if (clock.monotonicMs() >= endsAtMs) return store.load();
    if (!asked) await succession.ask();
    await sleep(STEP_MS);
  }
}

/** Listeners to changes of records. */
function createNotifier(logger: Logger) {
  const listeners: { prefix: string; listener: () => void }[] = [];
  return {
    add: (prefix: string, listener: () => void) => void listeners.push({ prefix, listener }),
    notify(changed: ReadonlySet<string>): void {
      for (const { prefix, listener } of listeners) {
        if (![...changed].some((id) => id.startsWith(prefix))) continue;
        try {
          listener();
        } catch (error) {
          // The other listeners are called all the same, for none is called twice.
          logger.error({ err: error, prefix }, 'a change of the registry could not be taken over');
        }
      }
    },
  };
}

/** Changes by this replica: written to the store, laid over the own copy, announced to the others. */
function createCommits(
  copy: RegistryCopy,
  { registry, bus }: Pick<Store, 'registry' | 'bus'>,
  sync: RegistrySync,
  onChanged: (ids: ReadonlySet<string>) => void,
  logger: Logger,
) {
  /** Into the registry known here and no other: one that was emptied would begin anew with it. */
  async function write(change: RegistryCommit): Promise<RegistryCommitted> {
    const { epoch } = copy;
    try {
      return await registry.commit({ ...change, epoch });
    } catch (error) {
      if (!(error instanceof RegistryConflict) || error.id !== ANOTHER_REGISTRY) throw error;
      await sync.refresh();
      if (copy.epoch !== epoch) throw error;
      return registry.commit({ ...change, epoch });
    }
  }

  async function announce(version: number): Promise<void> {
    await bus.publish(CHANNEL, String(version)).catch((error: unknown) => {
      logger.warn({ err: error }, 'a registry change could not be announced; replicas find it by polling');
    });
  }

  return {
    /** @throws RegistryConflict, StoreUnavailable */
    async commit(change: RegistryCommit): Promise<void> {
      const done = await write(change);
      if (done.unconfirmed !== undefined) noteUnconfirmed(done.unconfirmed);
      const changed = copy.takeOwn(change.writes, done.version);
      if (changed === null) await sync.poll();
      else onChanged(changed);
      await announce(done.version);
    },
    /**
     * In place of `commit` while there is a loss: makes the registry known here, with this change, in the place of
     * whatever the store holds. @throws RegistryConflict, StoreUnavailable
     */
    async recreate(change: RegistryCommit): Promise<void> {
      await recreate(registry, copy, change);
      await sync.refresh();
      await announce(copy.version);
    },
  };
}

/**
 * Puts what is known, with a change, in the place of whatever the store holds: made where there is nothing, else
 * written over it. All or nothing.
 * @throws RegistryConflict when the store's was changed meanwhile
 */
async function recreate(
  store: RegistryStore,
  { epoch, newest, records }: Pick<RegistryCopy, 'epoch' | 'newest' | 'records'>,
  { writes, audit = [] }: RegistryCommit,
): Promise<void> {
  const version = newest + 1;
  const wanted = new Map<string, RegistryRecord>(records);
  for (const [id, value] of writes) {
    if (value === null) wanted.delete(id);
    else wanted.set(id, { value, revision: version });
  }
  if (await store.create({ epoch, version, records: wanted, audit })) return;
  const found = await store.load('leave');
  if (found.epoch === '') throw new RegistryConflict('meta');
  await store.commit({
    epoch: found.epoch,
    writes: new Map<string, string | null>([
      ...[...found.records.keys()].map((id) => [id, null] as const),
      ...[...wanted].map(([id, { value }]) => [id, value] as const),
    ]),
    expect: new Map([...found.records].map(([id, { revision }]) => [id, revision])),
    audit,
  });
}
