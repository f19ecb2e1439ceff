/** The embedded store: files of one folder, and the memory of one process. */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { byId, wholeMs } from '../check-input.js';
import { createLocalBus } from '../listeners.js';
import {
  type Bus,
  type Leases,
  type Presence,
  type Quotas,
  REGISTRY_LIMITS,
  type RegistryLimits,
  type Store,
  StoreUnavailable,
} from '../port.js';
import { checkGive, checkTake, describeGrant, leftIn, type QuotaBucket, takeFrom } from '../quota-bucket.js';
import type { StoreLog } from '../refused.js';
import { copyStore } from './backup.js';
import { openCacheFolder } from './cache-folder.js';
import { changesOver } from './changes.js';
import { isDiskLow, openDataFolder, refuseForeign } from './data-folder.js';
import { daysOver } from './days.js';
import { chargesOver, countersOver, documentsOver } from './durable.js';
import {
  makeState,
  openHistoryFolder,
  openState,
  refuseDamage,
  refuseOtherSchema,
  stateFolder,
} from './durable-folders.js';
import type { Environment } from './environment.js';
import { lockFolder } from './folder-lock.js';
import { createLapsingMap, createLapsingRecords, startSweep } from './lapsing.js';
import { oldPinsOver, removeOldLayout } from './old-layout.js';
import { pinsOver } from './pins.js';
import { registryOver } from './registry.js';
import { createTable } from './table.js';

/** Of a single process; as quotas and presence below. */
export function createMemoryLeases(
  clock: Clock,
  publish: Bus['publish'] = async () => {},
  owners = createLapsingMap<string>(clock),
): Leases {
  /** Extends leases of `owner`; with `free` also takes free ones. */
  function hold(keys: readonly string[], owner: string, leaseMs: number, free: boolean): boolean[] {
    const ms = wholeMs(leaseMs, 1);
    return keys.map((key) => {
      const holder = owners.get(key) ?? (free ? owner : null);
      if (holder === owner) owners.set(key, owner, ms);
      return holder === owner;
    });
  }
  return {
    claim: async (keys, owner, leaseMs) => hold(keys, owner, leaseMs, true),
    renew: async (keys, owner, leaseMs) => hold(keys, owner, leaseMs, false),
    async release(keys, owner, news) {
      for (const key of keys) if (owners.get(key) === owner) owners.delete(key);
      if (news !== undefined && keys.length > 0) await publish(news.channel, news.message);
    },
  };
}

export function createMemoryQuotas(clock: Clock, buckets = createLapsingMap<QuotaBucket>(clock)): Quotas {
  return {
    async take(key, take) {
      checkTake(take);
      const ttlMs = wholeMs(take.ttlMs, 1);
      const { after, granted, changed } = takeFrom(buckets.get(key) ?? null, take);
      if (changed) buckets.set(key, after, ttlMs);
      return describeGrant(after, granted, take);
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      const bucket = buckets.get(key);
      if (bucket === undefined) return leftIn({ used: 0 }, capacity);
      const next = { ...bucket, used: Math.max(0, bucket.used - count) };
      buckets.replace(key, next);
      return leftIn(next, capacity);
    },
  };
}

export function createMemoryPresence(clock: Clock, present = createLapsingMap<string>(clock)): Presence {
  return {
    beat: async (id, info, ttlMs) => present.set(id, info, wholeMs(ttlMs, 1)),
    leave: async (id) => present.delete(id),
    list: async () =>
      present
        .entries()
        .map(([id, info]) => ({ id, info }))
        .sort(byId),
  };
}

export interface EmbeddedStoreOptions extends Partial<RegistryLimits> {
  /** Created if absent. Belongs to one process at a time. */
  readonly dataDir: string;
  readonly cacheMaxBytes: number;
  readonly clock: Clock;
  readonly logger: StoreLog;
  /** Another gateway has taken over the folder; every durable change is refused. */
  readonly onLost?: () => void;
}

const RESTORE = 'Stop the gateway, and restore it: dsp-gateway store restore <backup folder>';

/** @throws StoreRefused if another process uses the folder, or it is damaged */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { clock, logger, cacheMaxBytes: maxBytes, onLost } = options;
  const folder = resolve(options.dataDir);
  await openDataFolder(folder, logger);
  const lock = await lockFolder(folder, { logger, ...(onLost === undefined ? {} : { onLost }) });
  const opened: Pick<Environment, 'close'>[] = [];
  async function refuseLowDisk(): Promise<void> {
    if (await isDiskLow(folder))
      throw new StoreUnavailable(`the disk of ${folder} is almost full: no documents are taken`, 'no-room');
  }
  async function closeAll(): Promise<void> {
    await Promise.all(opened.map((one) => one.close()));
    await lock.release();
  }
  try {
    await prepare(folder, logger);
    const state = await openState(stateFolder(folder), { held: lock.held, logger });
    opened.push(state);
    refuseOtherSchema(stateFolder(folder), state);
    const entries = await openCacheFolder(folder, maxBytes, clock, logger);
    opened.push(entries);
    const history = await openHistoryFolder(folder, clock.now(), logger);
    opened.push(history);
    // Durable, yet not moved by the clock: the wall time now, plus monotonic time.
    const startedAtMs = clock.now() - clock.monotonicMs();
    const table = createTable(state);
    const durable = createLapsingRecords(table, () => startedAtMs + clock.monotonicMs());
    const sweep = startSweep(durable, logger);
    const ofHistory = createTable(history);
    const bus = createLocalBus(logger);
    const leases = createMemoryLeases(clock, bus.publish);
    return {
      kind: 'embedded',
      cache: entries.cache,
      registry: registryOver(table, { ...REGISTRY_LIMITS, ...options }),
      counters: countersOver(table, durable),
      charges: chargesOver(table, durable),
      documents: documentsOver(durable, refuseLowDisk),
      days: daysOver(ofHistory, leases, bus.publish, durable.now),
      changes: changesOver(ofHistory, bus.publish, durable.now),
      pins: pinsOver(ofHistory),
      oldPins: oldPinsOver(ofHistory),
      leases,
      registryLeases: leases,
      quotas: createMemoryQuotas(clock),
      presence: createMemoryPresence(clock),
      bus,
      removeOldLayout: (isStopped) => removeOldLayout(ofHistory, entries.generations(), isStopped),
      health: state.health,
      backup: (target, withHistory, begin) => copyStore(target, state, withHistory ? history : null, begin),
      async close() {
        await sweep.stop();
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Checks all folders before they are opened. Removes those that earlier releases shared between processes. */
async function prepare(folder: string, logger: StoreLog): Promise<void> {
  await refuseForeign(stateFolder(folder), 'all');
  for (const name of ['cache', 'gate', 'volatile']) await refuseForeign(join(folder, name), 'alone');
  const isNew = await makeState(folder, logger);
  if (!isNew) await refuseDamage(stateFolder(folder), RESTORE);
  for (const name of ['gate', 'volatile']) await rm(join(folder, name), { recursive: true, force: true });
}
