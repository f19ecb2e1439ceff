/** What the gauges of the metrics read, and from which part. */
import type { Outlook } from '../platform/credential/outlook.js';
import type { Traffic } from '../platform/traffic.js';
import type { Store } from '../store/port.js';
import type { Registry } from '../store/registry/replica.js';
import type { Replicas } from '../teams/limits/replicas.js';
import type { BrakeLever } from '../teams/write-guard/brake.js';
import type { UnknownCount } from '../teams/write-guard/create-write-guard.js';
import type { Gauges } from '../telemetry/gauges.js';
import type { Log } from '../telemetry/logger.js';

export interface Measured {
  readonly store: Pick<Store, 'health' | 'memory'>;
  readonly registry: Pick<Registry, 'loss'>;
  readonly outlook: () => Outlook;
  readonly l1: { readonly bytes: number; readonly entries: number };
  readonly traffic: Pick<Traffic, 'budget' | 'pause' | 'pace' | 'circuit' | 'maxConcurrent'>;
  readonly replicas: Pick<Replicas, 'count'>;
  readonly secretFaults: () => readonly unknown[];
  readonly brake: Pick<BrakeLever, 'stops'>;
  readonly unknownWrites: Pick<UnknownCount, 'count'>;
  readonly log: Pick<Log, 'health'>;
}

export function gaugesOf({
  store,
  registry,
  outlook,
  l1,
  traffic,
  replicas,
  secretFaults,
  brake,
  unknownWrites,
  log,
}: Measured): Gauges {
  const { budget, pause, pace, circuit, maxConcurrent } = traffic;
  return {
    token: outlook,
    storeOk: () => store.health().ok,
    storeFull: () => store.memory?.().full === true,
    l1: () => l1,
    budget: () => budget,
    slots: maxConcurrent,
    rate: pace.status,
    pauseMs: () => pause.leftMs(),
    paceMs: () => pace.waitMs(),
    circuitOpen: () => circuit.isOpen,
    replicas: () => replicas.count,
    registryLost: () => registry.loss !== null,
    secretFaults: () => secretFaults().length,
    stopsOfWrites: () => {
      const { all, teams } = brake.stops();
      return teams.length + (all === null ? 0 : 1);
    },
    unknownWrites: unknownWrites.count,
    log: log.health,
  };
}
