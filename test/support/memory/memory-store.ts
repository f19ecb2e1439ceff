/** A server that all replicas share, within this process: it can be emptied, and fail over without the last changes. */
import type { Clock } from '../../../src/lib/clock.js';
import { nextTurn } from '../../../src/lib/time.js';
import { changesOver } from '../../../src/store/embedded/changes.js';
import { daysOver } from '../../../src/store/embedded/days.js';
import { chargesOver, countersOver, documentsOver } from '../../../src/store/embedded/durable.js';
import {
  createMemoryLeases,
  createMemoryPresence,
  createMemoryQuotas,
} from '../../../src/store/embedded/embedded-store.js';
import { createLapsingMap, createLapsingRecords } from '../../../src/store/embedded/lapsing.js';
import { oldPinsOver, removeOldLayout } from '../../../src/store/embedded/old-layout.js';
import { pinsOver } from '../../../src/store/embedded/pins.js';
import { createListeners } from '../../../src/store/listeners.js';
import { REGISTRY_LIMITS, type RegistryLimits, type Store } from '../../../src/store/port.js';
import type { StoreLog } from '../../../src/store/refused.js';
import { createMemoryCache, type MemoryEntry } from './memory-cache.js';
import { createMemoryRegistry, type ServerStart } from './memory-registry.js';
import { MemoryTable } from './memory-table.js';
import { SavedMap } from './saved-map.js';

export interface MemoryServer {
  /** A replica's way to it. */
  handle(): Store;
  /** @returns fails over to a server that is as this one is now */
  save(): () => void;
  /** Starts again with nothing. */
  empty(): void;
  /** Starts again without its registry: everything else is there. */
  loseRegistry(): void;
  /** Leases that are held now: the name of each, and its owner. */
  leases(): readonly (readonly [name: string, owner: string])[];
}

export interface MemoryServerOptions extends Partial<RegistryLimits> {
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/** What the keys of the registry begin with: records, changes, deletions, audit, head. */
const REGISTRY_LETTERS = 'rcdaR';

/** @returns a server that keeps everything in memory */
export function createMemoryServer({ clock, logger, ...limits }: MemoryServerOptions): MemoryServer {
  const [state, days] = [new MemoryTable(), new MemoryTable()];
  const kept: { save(): () => void }[] = [state, days];
  const map = <V>(): SavedMap<V> => {
    const made = new SavedMap<V>();
    kept.push(made);
    return made;
  };
  const server: ServerStart = { id: 'server/0' };
  const records = createLapsingRecords(state, clock.monotonicMs);
  const owners = createLapsingMap<string>(clock, map());
  const bus = createListeners({ logger });
  const publish = async (channel: string, message: string) => nextTurn(() => bus.deliver(channel, message));
  const leases = createMemoryLeases(clock, publish, owners);
  const parts = {
    kind: 'redis',
    cache: createMemoryCache(clock, map<MemoryEntry>()),
    days: daysOver(days, leases, publish, clock.now),
    changes: changesOver(days, publish, clock.now),
    pins: pinsOver(days),
    oldPins: oldPinsOver(days),
    leases,
    registryLeases: leases,
    counters: countersOver(state, records),
    charges: chargesOver(state, records),
    documents: documentsOver(records, async () => {}),
    quotas: createMemoryQuotas(clock, createLapsingMap(clock, map())),
    presence: createMemoryPresence(clock, createLapsingMap(clock, map())),
    bus: { publish, subscribe: bus.add },
    removeOldLayout: (isStopped) => removeOldLayout(days, [days], isStopped),
    health: () => ({ ok: true }),
    close: async () => {},
  } satisfies Omit<Store, 'registry'>;
  let starts = 0;

  function become(change: () => void): void {
    change();
    starts += 1;
    server.id = `server/${starts}`;
  }
  function save(): () => void {
    const saved = kept.map((part) => part.save());
    return () =>
      become(() => {
        for (const putBack of saved) putBack();
      });
  }
  const toNothing = save();
  return {
    handle: () => ({
      ...parts,
      registry: createMemoryRegistry(state, server, { ...REGISTRY_LIMITS, ...limits }),
    }),
    save,
    empty: toNothing,
    loseRegistry: () => become(() => state.drop(REGISTRY_LETTERS)),
    leases: () => owners.entries(),
  };
}
