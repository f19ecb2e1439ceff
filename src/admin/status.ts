/** The state of the gateway at a glance. */
import type { FastifyInstance } from 'fastify';
import type { SecretFileFault } from '../config/secret.js';
import type { Outlook } from '../credential/outlook.js';
import type { Registry } from '../registry/replica.js';
import type { Readiness } from '../routes/health.js';
import type { Store } from '../store/port.js';
import { addLoads, type Health } from '../telemetry/health.js';
import type { LogHealth } from '../telemetry/log-sink.js';
import type { Log } from '../telemetry/logger.js';
import { VERSION } from '../version.js';

/** The rate that the platform shows. */
interface PaceStatus {
  readonly limit: number;
  readonly remaining: number;
  readonly resetInMs: number;
  readonly waitMs: number;
}

export interface StatusOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly outlook: () => Outlook;
  readonly limits: { readonly replicas: { readonly count: number } };
  readonly pause: { leftMs(): number };
  readonly pace: { status(): PaceStatus | null };
  readonly log: Pick<Log, 'health'>;
  readonly secretFaults: () => readonly SecretFileFault[];
  readonly health: Health;
}

export function registerStatus(
  app: FastifyInstance,
  { store, registry, outlook, limits, health, pause, pace, log, secretFaults }: StatusOptions,
  readiness: () => Readiness,
): void {
  app.get('/admin/v1/status', { schema: { tags: ['status'], summary: 'Health at a glance' } }, async () => {
    const state = readiness();
    const { reason } = store.health();
    const memory = store.memory?.();
    const processes = health.processes();
    const load = addLoads(processes);
    return {
      version: VERSION,
      uptimeSeconds: Math.floor(process.uptime()),
      ready: state.ready,
      worst: state.worst,
      replicas: limits.replicas.count,
      store: {
        kind: store.kind,
        state: state.store,
        ...(reason === undefined ? {} : { reason }),
        ...(memory === undefined ? {} : { memory }),
        registryVersion: registry.version,
        registryEpoch: registry.epoch,
        loss: registry.loss,
        lastLoss: registry.lastLoss,
      },
      credential: outlook(),
      log: logOf(log.health()),
      secretFiles: secretFilesOf(secretFaults()),
      // Of all processes together; `processes` has them one by one.
      cache: { l1Bytes: load.l1Bytes, l1Entries: load.l1Entries },
      platform: {
        state: state.platform,
        callsRunning: load.callsRunning,
        callsQueued: load.callsQueued,
        pauseSeconds: Math.ceil(pause.leftMs() / 1000),
        pace: paceOf(pace.status()),
      },
      processes,
    };
  });
}

/** Null while the platform shows no rate. */
function paceOf(shown: PaceStatus | null) {
  if (shown === null) return null;
  const { limit, remaining, resetInMs, waitMs } = shown;
  return {
    limit,
    remaining,
    resetInSeconds: Math.ceil(resetInMs / 1000),
    nextCallInSeconds: Math.ceil(waitMs / 1000),
  };
}

function logOf({ ok, reason, droppedLines }: LogHealth): object {
  return { state: ok ? 'ok' : 'failing', ...(reason === undefined ? {} : { reason }), droppedLines };
}

/** A bad change keeps the value before it, so nothing else shows that a file is not what it should be. */
function secretFilesOf(faulty: readonly SecretFileFault[]): object {
  return faulty.length === 0 ? { state: 'ok' } : { state: 'faulty', faulty };
}
