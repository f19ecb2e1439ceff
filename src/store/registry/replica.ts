/**
 * The registry in memory: every replica's copy of teams, keys, the vault and purges. Changes are announced on the bus, and
 * found by polling if the message is lost. A replica always sees its own commits.
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
  StoreUnavailable,
} from '../port.js';
import { noteUnconfirmed } from './durability.js';
import { createRegistryCopy, type RegistryCopy } from './lost.js';
import { createSuccession, RegistryLost, type SuccessionRules } from './succession.js';

/**
 * Keeps a copy in step with the store: reads changes, or loads everything if they are unknown.
 * @param onChanged called with the ids of records that may have changed
 * @param onAnother called afterwards if another registry replaced the known one
 */
function createRegistrySync(
  copy: RegistryCopy,
  store: RegistryStore,
  succession: ReturnType<typeof createSuccession>,
  onChanged: (ids: ReadonlySet<string>) => void,
  onAnother: () => void,
  clock: Clock,
  logger: Logger,
) {
  /** When the latest successful look began, by the monotonic clock. */
  let syncedAtMs = clock.monotonicMs();
  /** When looks began to fail; null while they succeed. */
  let failedAtMs: number | null = null;
  /** How long the replica had been out of step when an unsettled loss was found. */
  let lostAfterMs: number | null = null;
  /** A load failed: only another load shows what the store has lost. */
  let mustLoad = false;
  let failing = false;
  let stopped = false;

  /** If another server answers now, the loss happened while none answered; else at any time since the last look. */
  function beforeLossMs(): number {
    const nowMs = clock.monotonicMs();
    return (store.movedOn() ? (failedAtMs ?? nowMs) : nowMs) - syncedAtMs;
  }

  /** Loads everything, after lost changes were restored, or another registry was adopted. */
  async function load(): Promise<RegistrySnapshot> {
    mustLoad = true;
    // A copy: own commits made meanwhile are not in the load, and not lost.
    const { epoch, version, newest, isComplete, records } = copy;
    const known = { epoch, version, newest, isComplete, records: new Map(records) };
    const snapshot = await succession.load(known, () => (lostAfterMs ??= beforeLossMs()));
    lostAfterMs = null;
    mustLoad = false;
    return snapshot;
  }

  async function look(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    copy.beginLook();
    const { newest, epoch } = copy;
    const delta = mustLoad || copy.mustLoad ? null : await store.changes(epoch, copy.version);
    // A store behind a known version has lost changes.
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
    /** Looks now, after a running look. @throws StoreUnavailable, RegistryLost */
    refresh,
    /** Like `refresh`, but logs a failure, once until a look succeeds. */
    async poll(): Promise<void> {
      try {
        await refresh();
        if (failing) logger.info('the registry is in step with the store again');
        failing = false;
      } catch (error) {
        // A loss was logged when it was found.
        if (!failing && !stopped && !(error instanceof RegistryLost))
          logger.warn({ err: error }, 'cannot refresh the registry; continuing with the last known state');
        failing = true;
      }
    },
    /** Milliseconds since the copy was last known to be in step. */
    staleForMs: () => clock.monotonicMs() - syncedAtMs,
    stop(): void {
      stopped = true;
    },
  };
}

/** Runs `work` once at a time. All calls during a run share the next run. */
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

/** Requests a look of all replicas; the message is the version of a commit, or ''. */
const CHANNEL = 'registry';
const NOT_ANNOUNCED = 'failed to announce a registry change; replicas find it by polling';
const STEP_MS = 100;
const WAITING = 'the store became unreachable during the start; waiting for it';

export interface RegistryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interval of looks at the store. */
  readonly pollMs?: number;
  readonly rules: SuccessionRules;
  /** How long other replicas have to restore a registry before an empty one is created. */
  readonly graceMs?: number;
}

export type Registry = Awaited<ReturnType<typeof openRegistry>>;

/** Loads the registry, waiting for a store that is away, and keeps it in step until stopped. */
export async function openRegistry(options: RegistryOptions) {
  const { store, clock, logger, pollMs = 500, rules, graceMs = 0 } = options;
  const { registry, bus } = store;
  const announce = async (version = '') => {
    await bus.publish(CHANNEL, version).catch((error: unknown) => {
      logger.warn({ err: error }, NOT_ANNOUNCED);
    });
  };
  const succession = createSuccession(registry, announce, rules, clock, logger);
  const notifier = createNotifier(logger);
  const copy = createRegistryCopy(await firstLoad(registry, announce, graceMs, { clock, logger }));
  const onAnother: (() => void)[] = [];
  const replaced = () => {
    for (const listener of onAnother) listener();
  };
  const sync = createRegistrySync(copy, registry, succession, notifier.notify, replaced, clock, logger);
  const { refresh, staleForMs, stop } = sync;
  const poll = () => void sync.poll();
  const timer = startTicks(poll, pollMs).unref();
  const unsubscribe = bus.subscribe(CHANNEL, poll);
  return {
    /** Changes if the registry was restored from elsewhere. */
    get epoch() {
      return copy.epoch;
    },
    get version() {
      return copy.version;
    },
    /** The loss of the registry that an operator must settle, or null. */
    get loss() {
      return succession.open;
    },
    /** The latest loss, settled or not. */
    get lastLoss() {
      return succession.last;
    },
    get: (id: string): RegistryRecord | undefined => copy.records.get(id),
    /** Records whose id starts with `prefix`, unordered. */
    list: (prefix: string): [id: string, record: RegistryRecord][] =>
      [...copy.records].filter(([id]) => id.startsWith(prefix)),
    /** Calls back after changes to ids with this prefix, own commits included. */
    onChange: notifier.add,
    /** Calls back after `onChange` if another registry replaced the known one. */
    onAnother: (listener: () => void) => void onAnother.push(listener),
    onLoss: succession.onLoss,
    ...createCommits(copy, registry, sync, succession.settled, notifier.notify, announce),
    refresh,
    staleForMs,
    stop(): void {
      stop();
      stopTicks(timer);
      unsubscribe();
    },
  };
}

/** Loads the registry. If there is none, and no other replica restores it in time, creates an empty one. */
async function firstLoad(
  store: RegistryStore,
  announce: () => Promise<void>,
  graceMs: number,
  { clock, logger }: Pick<RegistryOptions, 'clock' | 'logger'>,
): Promise<RegistrySnapshot> {
  const load = (ifEmpty?: 'leave') =>
    whenReachable(
      () => store.load(ifEmpty),
      (error) => logger.error({ err: error }, WAITING),
    );
  const endsAtMs = clock.monotonicMs() + graceMs;
  for (let announced = false; ; announced = true) {
    const snapshot = await load('leave');
    if (snapshot.epoch !== '') return snapshot;
    if (clock.monotonicMs() >= endsAtMs) return load();
    if (!announced) await announce();
    await sleep(STEP_MS);
  }
}

/** Repeats a call until the store can be reached. @param onAway told once */
async function whenReachable<T>(
  call: () => Promise<T>,
  onAway: (error: StoreUnavailable) => void,
): Promise<T> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (!isTold) onAway(error);
      await sleep(STEP_MS);
    }
  }
}

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
          logger.error({ err: error, prefix }, 'failed to apply a change of the registry');
        }
      }
    },
  };
}

/** Commits of this replica: written to the store, applied to the own copy, announced to the others. */
function createCommits(
  copy: RegistryCopy,
  registry: RegistryStore,
  sync: ReturnType<typeof createRegistrySync>,
  settled: () => Promise<void>,
  onChanged: (ids: ReadonlySet<string>) => void,
  announce: (version: string) => Promise<void>,
) {
  /** Only into the registry known here: a commit must not create a new one. */
  async function write(change: RegistryCommit): Promise<RegistryCommitted> {
    await settled();
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

  return {
    /** @throws RegistryConflict, StoreUnavailable */
    async commit(change: RegistryCommit): Promise<void> {
      const done = await write(change);
      if (done.unconfirmed !== undefined) noteUnconfirmed(done.unconfirmed);
      const changed = copy.takeOwn(change.writes, done.version);
      if (changed === null) await sync.poll();
      else onChanged(changed);
      await announce(String(done.version));
    },
    /**
     * Replaces `commit` during a loss: replaces the content of the store by the registry known here, with this change.
     * @throws RegistryConflict if the store's registry was changed meanwhile; StoreUnavailable
     */
    async recreate(change: RegistryCommit): Promise<void> {
      await recreate(registry, copy, change);
      await sync.refresh();
      await announce(String(copy.version));
    },
  };
}

async function recreate(
  store: RegistryStore,
  { epoch, newest, records }: RegistryCopy,
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
  const overwritten = new Map<string, string | null>([...found.records.keys()].map((id) => [id, null]));
  for (const [id, { value }] of wanted) overwritten.set(id, value);
  const expect = new Map([...found.records].map(([id, { revision }]) => [id, revision]));
  await store.commit({ epoch: found.epoch, writes: overwritten, expect, audit });
}
