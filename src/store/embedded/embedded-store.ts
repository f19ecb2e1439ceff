import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import Type from 'typebox';
import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import { type Bus, type Store, type StoreHealth, StoreUnavailable } from '../port.js';
import { limitsOf, type RegistryLimits } from '../registry-limits.js';
import { type CacheFolder, openCacheFolder } from './cache-folder.js';
import { openDataFolder } from './data-folder.js';
import { type Environment, openEnvironment } from './environment.js';
import { isDiskLow } from './file-system.js';
import { type FolderLock, lockFolder, watchLock } from './folder-lock.js';
import { refuseForeign } from './foreign.js';
import { createLapsingRecords, type LapsingRecords } from './lapsing.js';
import { createLmdbLeases, createLmdbPresence, createLmdbQuotas } from './lmdb-brief.js';
import { createLmdbBus } from './lmdb-bus.js';
import { createLmdbCounters } from './lmdb-counters.js';
import { createLmdbDocuments } from './lmdb-documents.js';
import { createLmdbRegistry } from './lmdb-registry.js';
import { createLocalBus } from './local-bus.js';
import { makeState, openState, refuseDamage, refuseOtherSchema, stateFolder } from './state-folder.js';
import { fromBytes, toBytes } from './stored-json.js';
import { startSweep } from './sweep.js';

/** `only`: there is no other process. `first`: it starts before the `further` ones and outlives them. */
export type ProcessRole = 'only' | 'first' | 'further';

export interface EmbeddedStoreOptions extends Partial<RegistryLimits> {
  /** Made when it is not there. Holds all that is durable, and belongs to the processes of one gateway at a time. */
  readonly dataDir: string;
  readonly cacheMaxBytes: number;
  /** Its monotonic time has to be that of the machine, so that all processes mean the same by it. */
  readonly clock: Clock;
  readonly logger: StoreLog;
  /** `only` unless given. */
  readonly role?: ProcessRole;
  /** Another gateway has taken over the folder; from then on every durable change is refused. */
  readonly onLost?: () => void;
}

export interface EmbeddedStore extends Store {
  readonly kind: 'embedded';
  /** To be called when one of the further processes has ended. */
  clearDeadReaders(): void;
}

const VOLATILE_MAP_BYTES = 1024 ** 3;
/** Shorter than that of what is durable: who asks for permits and leases goes on without them. */
const VOLATILE_TIMEOUT_MS = 2_000;
const RESTORE = 'Stop the gateway, and restore it: dsp-gateway store restore <backup folder>';

interface Environments {
  readonly state: Environment;
  readonly volatile: Environment;
}

/**
 * The store of a gateway that runs on one machine: environments of lmdb in one folder, shared by its processes.
 *
 * @throws StoreRefused when another gateway uses the folder, or what lies in it is damaged.
 */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { clock, logger, role = 'only', onLost } = options;
  const folder = resolve(options.dataDir);
  if (role !== 'further') await openDataFolder(folder, logger);
  const lock =
    role === 'further'
      ? await watchLock(folder)
      : await lockFolder(folder, { logger, ...(onLost === undefined ? {} : { onLost }) });
  try {
    if (role !== 'further') await prepare(folder, logger);
    const opened = await openBoth(folder, lock, logger);
    const entries = await openEntries(folder, opened, options);
    const realTime = await sharedRealTime(opened.volatile, clock);
    const durable = createLapsingRecords(opened.state, realTime);
    const brief = createLapsingRecords(opened.volatile, clock.monotonicMs);
    const sweep = role === 'further' ? null : startSweep([durable, brief], logger);
    const { bus, closeBus } = createBus(opened.volatile, logger, role);
    return {
      kind: 'embedded',
      cache: entries.cache,
      ...durableParts(opened.state, durable, folder, limitsOf(options)),
      leases: createLmdbLeases(brief),
      quotas: createLmdbQuotas(brief),
      presence: createLmdbPresence(brief),
      bus,
      health: () => worst(opened),
      clearDeadReaders() {
        opened.state.clearDeadReaders();
        opened.volatile.clearDeadReaders();
        entries.clearDeadReaders();
      },
      async close() {
        closeBus();
        await sweep?.stop();
        await Promise.all([opened.state.close(), opened.volatile.close(), entries.close()]);
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** What the first process does before anybody opens anything. */
async function prepare(folder: string, logger: StoreLog): Promise<void> {
  await refuseForeign(stateFolder(folder), 'all');
  for (const name of ['cache', 'volatile']) await refuseForeign(join(folder, name), 'alone');
  const isNew = await makeState(folder, logger);
  if (!isNew) await refuseDamage(stateFolder(folder), RESTORE);
  await rm(join(folder, 'volatile'), { recursive: true, force: true });
}

async function openBoth(folder: string, lock: FolderLock, logger: StoreLog): Promise<Environments> {
  const state = await openState(stateFolder(folder), { held: lock.held, logger });
  try {
    refuseOtherSchema(stateFolder(folder), state);
    const options = { folder: join(folder, 'volatile'), mapBytes: VOLATILE_MAP_BYTES, durable: false };
    const timeoutMs = VOLATILE_TIMEOUT_MS;
    return { state, volatile: await openEnvironment({ ...options, timeoutMs, logger }) };
  } catch (error) {
    await state.close();
    throw error;
  }
}

async function openEntries(
  dataDir: string,
  { state, volatile }: Environments,
  { role = 'only', cacheMaxBytes, clock, logger }: EmbeddedStoreOptions,
): Promise<CacheFolder> {
  const isFirst = role !== 'further';
  try {
    return await openCacheFolder({ dataDir, isFirst, maxBytes: cacheMaxBytes, clock, logger });
  } catch (error) {
    await Promise.all([state.close(), volatile.close()]);
    throw error;
  }
}

function durableParts(state: Environment, lapsing: LapsingRecords, folder: string, limits: RegistryLimits) {
  async function makeRoom(): Promise<void> {
    if (await isDiskLow(folder))
      throw new StoreUnavailable(`the disk of ${folder} is almost full: no documents are taken`, 'no-room');
  }
  return {
    registry: createLmdbRegistry(state, limits),
    counters: createLmdbCounters(state, lapsing),
    documents: createLmdbDocuments(lapsing, makeRoom),
  };
}

function createBus(
  volatile: Environment,
  logger: StoreLog,
  role: ProcessRole,
): { bus: Bus; closeBus: () => void } {
  if (role === 'only') return { bus: createLocalBus(logger), closeBus: () => {} };
  const bus = createLmdbBus(volatile, logger);
  return { bus, closeBus: bus.close };
}

function worst({ state, volatile }: Environments): StoreHealth {
  const durable = state.health();
  return durable.ok ? volatile.health() : durable;
}

const WALL = Buffer.from('W');

/**
 * Milliseconds since the Unix epoch that nobody can move, for what outlives the processes: the wall time of the moment
 * at which the first of them opened the store, and from there on time that never jumps. The same in all of them.
 */
async function sharedRealTime(volatile: Environment, clock: Clock): Promise<() => number> {
  const offsetMs = clock.now() - clock.monotonicMs();
  await volatile.write({ key: WALL, stamp: 0 }, [{ key: WALL, value: toBytes(offsetMs) }]);
  const found = volatile.read((view) => view.get(WALL));
  const sharedMs = found === null ? offsetMs : fromBytes(Type.Number(), found.value);
  return () => sharedMs + clock.monotonicMs();
}
