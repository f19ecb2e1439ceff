/** The state of the gateway at a glance. */

import type { FastifyInstance } from 'fastify';
import type { SecretFileFault } from '../../config/secret.js';
import { VERSION } from '../../lib/package-root.js';
import { uptimeMs } from '../../lib/time.js';
import type { Outlook } from '../../platform/credential/outlook.js';
import type { Reporting } from '../../server/compose-reports.js';
import type { Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { BrakeLever } from '../../teams/write-guard/brake.js';
import { addLoads, type Health } from '../../telemetry/health.js';
import type { LogHealth } from '../../telemetry/log-sink.js';
import type { Log } from '../../telemetry/logger.js';
import { type Verdict, verdictOf } from '../../telemetry/verdict.js';
import type { Readiness } from '../data/health.js';
import type { AnswerOf } from '../operations/operation.js';
import { getStatus } from '../operations/overview.js';
import { serve } from './serve.js';

/** What there is to be said first, of what the gateway knows anyway. */
export function currentVerdict(
  {
    store,
    outlook,
    log,
    secretFaults,
    brake,
  }: Pick<StatusOptions, 'store' | 'outlook' | 'log' | 'secretFaults' | 'brake'>,
  { ready, worst }: Readiness,
): Verdict {
  const { reason: storeReason } = store.health();
  const { ok, reason: logFailure = 'no reason given' } = log.health();
  return verdictOf({
    ready,
    conditions: worst,
    storeKind: store.kind,
    ...(storeReason === undefined ? {} : { storeReason }),
    token: outlook(),
    ...(ok ? {} : { logFailure }),
    secretFaults: secretFaults().map(({ name, message }) => `${name}: ${message}`),
    writeStops: stopsOf(brake),
  });
}

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
  readonly brake: Pick<BrakeLever, 'stops'>;
  readonly reporting: Pick<Reporting, 'retentionEdges'>;
}

type Status = AnswerOf<typeof getStatus>;

export function registerStatus(
  app: FastifyInstance,
  options: StatusOptions,
  readiness: () => Readiness,
  verdict: () => Verdict,
): void {
  const { store, registry, outlook, limits, health, log, secretFaults, brake, reporting } = options;
  serve(app, getStatus, async (): Promise<Status> => {
    const state = readiness();
    const { reason } = store.health();
    const memory = store.memory?.();
    const processes = health.processes();
    const load = addLoads(processes);
    return {
      verdict: verdict(),
      version: VERSION,
      uptimeSeconds: Math.floor(uptimeMs() / 1000),
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
      platform: { state: state.platform, ...platformOf(load, options) },
      retention: await reporting.retentionEdges(),
      writes: brake.stops(),
      processes,
    };
  });
}

function platformOf(
  { callsRunning, callsQueued }: ReturnType<typeof addLoads>,
  { pause, pace }: Pick<StatusOptions, 'pause' | 'pace'>,
): Omit<Status['platform'], 'state'> {
  return {
    callsRunning,
    callsQueued,
    pauseSeconds: Math.ceil(pause.leftMs() / 1000),
    pace: paceOf(pace.status()),
  };
}

function stopsOf(brake: Pick<BrakeLever, 'stops'>) {
  const { all, teams } = brake.stops();
  return [...(all === null ? [] : [{ team: null, ...all }]), ...teams];
}

/** Null while the platform shows no rate. */
function paceOf(shown: PaceStatus | null): Status['platform']['pace'] {
  if (shown === null) return null;
  const { limit, remaining, resetInMs, waitMs } = shown;
  return {
    limit,
    remaining,
    resetInSeconds: Math.ceil(resetInMs / 1000),
    nextCallInSeconds: Math.ceil(waitMs / 1000),
  };
}

function logOf({ ok, reason, droppedLines }: LogHealth): Status['log'] {
  return { state: ok ? 'ok' : 'failing', ...(reason === undefined ? {} : { reason }), droppedLines };
}

/** A bad change keeps the value before it, so nothing else shows that a file is not what it should be. */
function secretFilesOf(faulty: readonly SecretFileFault[]): Status['secretFiles'] {
  return faulty.length === 0 ? { state: 'ok' } : { state: 'faulty', faulty };
}
