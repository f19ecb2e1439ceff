/** The state of the gateway at a glance. */

import type { FastifyInstance } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import { CONDITIONS, type Readiness } from '../api/data/health.js';
import type { Reporting } from '../compose-reports.js';
import type { SecretFileFault } from '../config/secret.js';
import { Outlook } from '../credential/outlook.js';
import { VERSION } from '../lib/package-root.js';
import type { Frozen } from '../lib/record.js';
import { uptimeMs } from '../lib/time.js';
import { json, shownAs } from '../openapi/operation.js';
import type { Store } from '../store/port.js';
import type { Registry } from '../store/registry/replica.js';
import { addLoads, type Health } from '../telemetry/health.js';
import type { LogHealth } from '../telemetry/log-sink.js';
import type { Log } from '../telemetry/logger.js';
import { Verdict, verdictOf } from '../telemetry/verdict.js';
import type { BrakeLever } from '../write-guard/brake.js';
import { Stops } from './writes.js';

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

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const count = Type.Integer({ minimum: 0 });
const LOAD = { l1Bytes: count, l1Entries: count, callsRunning: count, callsQueued: count };

const Loss = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    outcome: Type.Enum(['restored', 'adopted', 'left'], {
      description:
        'restored: put back from memory; adopted: another one took its place; left: somebody has to act.',
    }),
    message: Type.String({ description: 'What happened, and what to do.' }),
  },
  { title: 'RegistryLoss' },
);

const StoreStatus = Type.Object({
  kind: Type.Enum(['embedded', 'redis']),
  state: CONDITIONS.store,
  reason: Type.Optional(Type.String()),
  memory: Type.Optional(
    Type.Object({
      usedBytes: nullable(count),
      maxBytes: nullable(count),
      cacheMaxBytes: nullable(count),
      full: Type.Boolean({ description: 'It refuses changes for lack of memory.' }),
    }),
  ),
  registryVersion: count,
  registryEpoch: nullable(Type.String()),
  loss: nullable(Loss),
  lastLoss: nullable(Loss),
});

const PlatformStatus = Type.Object({
  state: CONDITIONS.platform,
  callsRunning: count,
  callsQueued: count,
  pauseSeconds: count,
  pace: nullable(
    Type.Object(
      { limit: count, remaining: count, resetInSeconds: Type.Integer(), nextCallInSeconds: Type.Integer() },
      { description: 'Null while the platform shows no rate.' },
    ),
  ),
});

const RetentionStatus = Type.Object({
  endpoint: Type.String(),
  days: Type.Integer({ description: 'Age in days; what is older the platform no longer has.' }),
  source: Type.Enum(['learned', 'declared'], { description: 'declared: by platform.retentionDays.' }),
  since: nullable(
    Type.String({ format: 'date-time', description: 'When it was first seen; null: declared.' }),
  ),
});

const Status = Type.Object(
  {
    verdict: Verdict,
    version: Type.String(),
    uptimeSeconds: count,
    ready: Type.Boolean(),
    worst: Type.Object(CONDITIONS, { description: 'Each as the worst of all processes has it.' }),
    replicas: count,
    store: StoreStatus,
    credential: Outlook,
    log: Type.Object({
      state: Type.Enum(['ok', 'failing']),
      reason: Type.Optional(Type.String()),
      droppedLines: count,
    }),
    secretFiles: Type.Object({
      state: Type.Enum(['ok', 'faulty']),
      faulty: Type.Optional(Type.Array(Type.Object({ name: Type.String(), message: Type.String() }))),
    }),
    cache: Type.Object({ l1Bytes: count, l1Entries: count }),
    platform: PlatformStatus,
    retention: Type.Array(RetentionStatus, {
      description: 'Endpoints of which the platform has forgotten old days; those are given from history.',
    }),
    writes: Stops,
    processes: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          host: Type.String(),
          pid: Type.Integer(),
          version: Type.String(),
          ...CONDITIONS,
          ...LOAD,
          tokenId: nullable(Type.String({ description: 'Of the platform token that it asks with.' })),
          tokenSince: nullable(Type.String({ format: 'date-time' })),
        },
        { title: 'Process' },
      ),
    ),
  },
  { title: 'Status' },
);
type Status = Frozen<Static<typeof Status>>;

export function registerStatus(
  app: FastifyInstance,
  options: StatusOptions,
  readiness: () => Readiness,
  verdict: () => Verdict,
): void {
  const { store, registry, outlook, limits, health, log, secretFaults, brake, reporting } = options;
  const shown = shownAs('status', 'Health at a glance', { id: 'getStatus', answers: { 200: json(Status) } });
  app.get('/admin/v1/status', shown, async (): Promise<Status> => {
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
