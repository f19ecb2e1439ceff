import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import Type from 'typebox';
import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import { type Store, StoreUnavailable } from '../port.js';
import { limitsOf, type RegistryLimits } from '../registry-limits.js';
import { copyStore } from './backup.js';
import { createLmdbBus, createLocalBus } from './bus.js';
import { openCacheFolder } from './cache-folder.js';
import { openDataFolder, refuseForeign } from './data-folder.js';
import { type Environment, openEnvironment } from './environment.js';
import { isDiskLow } from './file-system.js';
import { lockFolder, watchLock } from './folder-lock.js';
import { type Gate, NO_GATE, openGate, prepareGate } from './gate.js';
import { openHistoryFolder } from './history-folder.js';
import { createLapsingRecords, type LapsingRecords, startSweep } from './lapsing.js';
import { createLmdbLeases, createLmdbPresence, createLmdbQuotas } from './lmdb-brief.js';
import { createLmdbCharges } from './lmdb-charges.js';
import { createLmdbCounters } from './lmdb-counters.js';
import { createLmdbDocuments } from './lmdb-documents.js';
import { createLmdbHistory, HISTORY_TABLES, PIN_TABLES } from './lmdb-history.js';
import { createLmdbRegistry } from './lmdb-registry.js';
import { createMemoryEnvironment, type VolatileEnvironment } from './memory-environment.js';
import { makeState, openState, refuseDamage, refuseOtherSchema, stateFolder } from './state-folder.js';
import { fromBytes, toBytes } from './stored-json.js';

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
  /** To be called when one of them has crashed: what it read may be damaged, and of the cache nothing is lost. */
  discardCache(): void;
}

const VOLATILE = {
  mapBytes: 1024 ** 3,
  durable: false,
  /** Shorter than that of what is durable: who asks for permits and leases goes on without them. */
  timeoutMs: 2_000,
};
const RESTORE = 'Stop the gateway, and restore it: dsp-gateway store restore <backup folder>';

/**
 * The store of a gateway that runs on one machine: environments of lmdb in one folder, shared by its processes.
 *
 * @throws StoreRefused when another gateway uses the folder, or what lies in it is damaged.
 */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { clock, logger, cacheMaxBytes: maxBytes, role = 'only', onLost } = options;
  const folder = resolve(options.dataDir);
  const isFirst = role !== 'further';
  if (isFirst) await openDataFolder(folder, logger);
  const lock = isFirst
    ? await lockFolder(folder, { logger, ...(onLost === undefined ? {} : { onLost }) })
    : await watchLock(folder);
  const opened: Pick<Environment, 'close' | 'clearDeadReaders'>[] = [];
  let gate: Gate = NO_GATE;
  async function closeAll(): Promise<void> {
    await Promise.all(opened.map((one) => one.close()));
    await gate.close();
    await lock.release();
  }
  try {
    if (isFirst) await prepare(folder, logger);
    gate = openGate(folder);
    const state = await openState(stateFolder(folder), { gate, held: lock.held, logger });
    opened.push(state);
    refuseOtherSchema(stateFolder(folder), state);
    const volatile =
      role === 'only'
        ? createMemoryEnvironment()
        : await openEnvironment({ ...VOLATILE, folder: join(folder, 'volatile'), gate, logger });
    opened.push(volatile);
    const entries = await openCacheFolder({ dataDir: folder, isFirst, maxBytes, clock, gate, logger });
    opened.push(entries);
    const history = await openHistoryFolder({ dataDir: folder, isFirst, nowMs: clock.now(), gate, logger });
    opened.push(history);
    const durable = createLapsingRecords(state, await sharedRealTime(volatile, clock));
    const brief = createLapsingRecords(volatile, clock.monotonicMs);
    const sweep = isFirst ? startSweep([durable, brief], logger) : null;
    const bus = role === 'only' ? createLocalBus(logger) : createLmdbBus(volatile, logger);
    const leases = createLmdbLeases(brief, bus);
    return {
      kind: 'embedded',
      cache: entries.cache,
      ...stateParts(state, durable, folder, limitsOf(options)),
      history: createLmdbHistory(history, HISTORY_TABLES),
      pins: createLmdbHistory(history, PIN_TABLES),
      leases,
      registryLeases: leases,
      quotas: createLmdbQuotas(brief),
      presence: createLmdbPresence(brief),
      bus,
      health() {
        const health = state.health();
        return health.ok ? volatile.health() : health;
      },
      clearDeadReaders() {
        for (const one of opened) one.clearDeadReaders();
      },
      discardCache() {
        entries.discard().catch((error: unknown) => {
          logger.warn({ err: error, folder }, 'the cache on the disk could not be begun anew; trying again');
        });
      },
      backup: (target, withHistory, begin) =>
        copyStore(target, { state, history: withHistory ? history : null }, begin),
      async close() {
        bus.close();
        await sweep?.stop();
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function stateParts(state: Environment, durable: LapsingRecords, folder: string, limits: RegistryLimits) {
  return {
    registry: createLmdbRegistry(state, limits),
    counters: createLmdbCounters(state, durable),
    charges: createLmdbCharges(state, durable),
    documents: createLmdbDocuments(durable, () => refuseLowDisk(folder)),
  };
}

/** What the first process does before anybody opens anything. */
async function prepare(folder: string, logger: StoreLog): Promise<void> {
  await refuseForeign(stateFolder(folder), 'all');
  for (const name of ['cache', 'volatile']) await refuseForeign(join(folder, name), 'alone');
  const isNew = await makeState(folder, logger);
  if (!isNew) await refuseDamage(stateFolder(folder), RESTORE);
  await prepareGate(folder);
  await rm(join(folder, 'volatile'), { recursive: true, force: true });
}

/** @throws StoreUnavailable */
async function refuseLowDisk(folder: string): Promise<void> {
  if (await isDiskLow(folder))
    throw new StoreUnavailable(`the disk of ${folder} is almost full: no documents are taken`, 'no-room');
}

const WALL = Buffer.from('W');

/**
 * Milliseconds since the Unix epoch that nobody can move, for what outlives the processes: the wall time of the moment
 * at which the first of them opened the store, and from there on time that never jumps. The same in all of them.
 */
async function sharedRealTime(volatile: VolatileEnvironment, clock: Clock): Promise<() => number> {
  const offsetMs = clock.now() - clock.monotonicMs();
  await volatile.write({ key: WALL, stamp: 0 }, [{ key: WALL, value: toBytes(offsetMs) }]);
  const found = volatile.read((view) => view.get(WALL));
  const sharedMs = found === null ? offsetMs : fromBytes(Type.Number(), found.value);
  return () => sharedMs + clock.monotonicMs();
}
