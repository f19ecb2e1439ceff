/** A server that all replicas share, within this process: it can be emptied, and fail over without the last changes. */
import type { Clock } from '../../../src/lib/clock.js';
import { nextTurn } from '../../../src/lib/time.js';
import { createLapsingMap, type LapsingMap, type Slot } from '../../../src/store/embedded/lapsing.js';
import {
  createMemoryLeases,
  createMemoryPresence,
  createMemoryQuotas,
} from '../../../src/store/embedded/memory-brief.js';
import { createListeners } from '../../../src/store/listeners.js';
import type { Store } from '../../../src/store/port.js';
import type { StoreLog } from '../../../src/store/refused.js';
import { limitsOf, type RegistryLimits } from '../../../src/store/registry-limits.js';
import { createMemoryCache, type MemoryEntry } from './memory-cache.js';
import { createMemoryCharges, createMemoryCounters, createMemoryDocuments } from './memory-durable.js';
import { createMemoryHistory, type MemoryDay } from './memory-history.js';
import { createMemoryRegistry, NO_REGISTRY, type RegistryState } from './memory-registry.js';
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

/** @returns a server that keeps everything in memory */
export function createMemoryServer({ clock, logger, ...limits }: MemoryServerOptions): MemoryServer {
  const kept: { save(): () => void }[] = [];
  const keep = <T extends { save(): () => void }>(part: T): T => {
    kept.push(part);
    return part;
  };
  const map = <V>() => keep(new SavedMap<V>());
  const lapsing = <V>(): LapsingMap<V> => createLapsingMap(clock, keep(new SavedMap<Slot<V>>()));
  const registry: RegistryState = { server: 'server/0', ...NO_REGISTRY };
  const owners = lapsing<string>();
  const bus = createListeners({ logger });
  const publish = async (channel: string, message: string) => nextTurn(() => bus.deliver(channel, message));
  const leases = createMemoryLeases(clock, publish, owners);
  const parts = {
    kind: 'redis',
    cache: createMemoryCache(clock, map<MemoryEntry>(), map<Buffer>()),
    history: createMemoryHistory(map<MemoryDay>()),
    pins: createMemoryHistory(map<MemoryDay>()),
    leases,
    registryLeases: leases,
    counters: createMemoryCounters(lapsing(), lapsing()),
    charges: createMemoryCharges({ open: map(), purses: lapsing(), ended: lapsing() }),
    documents: createMemoryDocuments(lapsing()),
    quotas: createMemoryQuotas(clock, lapsing()),
    presence: createMemoryPresence(clock, lapsing()),
    bus: { publish, subscribe: bus.add },
    health: () => ({ ok: true }),
    close: async () => {},
  } satisfies Omit<Store, 'registry'>;
  let starts = 0;

  function become(putBack: () => void): void {
    putBack();
    starts += 1;
    registry.server = `server/${starts}`;
  }
  function save(): () => void {
    const { ...saved } = registry;
    const parts = kept.map((part) => part.save());
    return () =>
      become(() => {
        Object.assign(registry, saved);
        for (const putBack of parts) putBack();
      });
  }
  const toNothing = save();
  return {
    handle: () => ({ ...parts, registry: createMemoryRegistry(registry, limitsOf(limits)) }),
    save,
    empty: toNothing,
    loseRegistry: () => become(() => void Object.assign(registry, NO_REGISTRY)),
    leases: () => owners.entries(),
  };
}
