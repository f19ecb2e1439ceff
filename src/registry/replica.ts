/**
 * The registry in memory: every replica's copy of teams, keys, the vault and purges, kept in step with the store.
 *
 * A message on the bus brings a change at once; a poll finds it when the message is lost. A commit is applied to
 * the own copy before it resolves, so that a replica always sees what it wrote itself.
 */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { RegistryRecord, RegistrySnapshot, Store } from '../store/port.js';
import { sleep, startTicks, stopTicks } from '../time.js';
import { CHANNEL, createRegistryCommits, type RegistryCommits } from './commits.js';
import { createRegistryCopy } from './copy.js';
import type { LossOutcome, RegistryLoss } from './loss-log.js';
import { createRescue, type Rescue } from './rescue.js';
import { createStaleness } from './staleness.js';
import { createSuccession, PLAIN_RULES, type SuccessionRules } from './succession.js';
import { createRegistrySync, type RegistrySync } from './sync.js';

const STEP_MS = 100;

export interface Registry extends RegistryCommits {
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
  const staleness = createStaleness(store.registry, clock);
  let sync: RegistrySync | null = null;
  const poll = () => void sync?.poll();
  const rescue = createRescue({ clock, logger, store: store.registry, bus: store.bus, onAsked: poll });
  const succession = createSuccession({ store: store.registry, rescue, rules, clock, logger });
  const notifier = createNotifier(logger);
  const onAnother: (() => void)[] = [];
  const copy = createRegistryCopy(await firstLoad(options, rescue, graceMs));
  sync = createRegistrySync({
    copy,
    store: store.registry,
    succession,
    staleness,
    onChanged: notifier.notify,
    onAnother: () => {
      for (const listener of onAnother) listener();
    },
    clock,
    logger,
  });
  const commits = createRegistryCommits({ copy, store, sync, onChanged: notifier.notify, logger });
  const { refresh, stop } = sync;
  const timer = startTicks(poll, pollMs);
  timer.unref();
  const unsubscribe = store.bus.subscribe(CHANNEL, poll);
  return {
    get epoch() {
      return copy.epoch;
    },
    get version() {
      return copy.version;
    },
    get loss() {
      return succession.open;
    },
    get lastLoss() {
      return succession.last;
    },
    get: (id) => copy.records.get(id),
    list: (prefix) => [...copy.records].filter(([id]) => id.startsWith(prefix)),
    onChange: notifier.add,
    onAnother: (listener) => void onAnother.push(listener),
    onLoss: succession.onLoss,
    ...commits,
    refresh,
    staleForMs: staleness.nowMs,
    stop() {
      stop();
      stopTicks(timer);
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

/** Who wants to hear of changes to which records. */
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
