/** The state of the gateway: `GET /admin/v1/status`. */
import type { FastifyInstance } from 'fastify';
import { BUILD } from '../../lib/package-root.js';
import { uptimeMs } from '../../lib/time.js';
import { inWords } from '../../reports/learn/state.js';
import { showId } from '../../reports/rows/answer-meta.js';
import type { Services } from '../../server/services.js';
import { type Failures, joinFailures } from '../../telemetry/failures.js';
import { addLoads } from '../../telemetry/health.js';
import type { Readiness } from '../data/health.js';
import type { AnswerOf } from '../operations/operation.js';
import { getStatus } from '../operations/overview.js';
import { describeKey, endingKeys } from './ending-keys.js';
import { judge, notesOf } from './judge.js';
import { serve } from './serve.js';

type Status = AnswerOf<typeof getStatus>;

export function registerStatus(
  app: FastifyInstance,
  options: Services,
  { readiness, dataUrl }: { readonly readiness: () => Readiness; readonly dataUrl: () => string | null },
): void {
  const { store, registry, directory, outlook, limits, health, log, measured, brake, reporting, l1, clock } =
    options;
  serve(app, getStatus, async (): Promise<Status> => {
    const state = readiness();
    const { reason } = store.health();
    const memory = store.memory?.();
    const processes = health.processes();
    const load = addLoads(processes);
    const failures = joinFailures(processes.map((one) => one.failures));
    const logged = log.health();
    const faulty = measured.secretFaults();
    return {
      ...(await judge(options, state)),
      notes: [
        ...endingKeys(directory, clock.now()).map((key) => `key ${describeKey(key, clock.now())}`),
        ...(await notesOf(options)),
      ],
      ...BUILD,
      uptimeSeconds: Math.floor(uptimeMs() / 1000),
      dataUrl: dataUrl(),
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
      log: {
        state: logged.ok ? 'ok' : 'failing',
        ...(logged.reason === undefined ? {} : { reason: logged.reason }),
        droppedLines: logged.droppedLines,
      },
      // After a faulty change the previous value stays in use, so nothing else shows the fault.
      secretFiles: faulty.length === 0 ? { state: 'ok' } : { state: 'faulty', faulty },
      reports: {
        recent: load.recentReports,
        recentFailed: load.recentFailedReports,
        ...noneFailedSince(failures, clock.now()),
      },
      // Sum of all processes; `processes` lists each.
      cache: { l1Bytes: load.l1Bytes, l1Entries: load.l1Entries, reports: reportsOf(l1, clock.now()) },
      platform: { state: state.platform, ...platformOf(load, options) },
      retention: await reporting.retentionEdges(),
      undeclaredParameters: await reporting.observedUndeclared(),
      divisibility: kindsOf(reporting.reports),
      writes: brake.stops(),
      processes,
    };
  });
}

const MINUTE_MS = 60_000;

/** The end of the minute in which the last report failed, if that minute is over. */
function noneFailedSince(
  { reportFailedAtMs }: Failures,
  nowMs: number,
): { readonly noneFailedSince?: string } {
  if (!reportFailedAtMs) return {};
  const sinceMs = (Math.floor(reportFailedAtMs / MINUTE_MS) + 1) * MINUTE_MS;
  return sinceMs > nowMs ? {} : { noneFailedSince: new Date(sinceMs).toISOString() };
}

function kindsOf({ learner, now }: Services['reporting']['reports']): Status['divisibility'] {
  const kinds = learner.list().map(([, known]) => ({
    endpoint: known.about?.endpoint ?? null,
    split: known.about?.split ?? null,
    state: known.state,
    inWords: inWords(known, now()),
  }));
  const isLater = ({ state }: (typeof kinds)[number]) => Number(state === 'proven');
  return kinds.sort((a, b) => isLater(a) - isLater(b));
}

/** Reports in the answer: the biggest ones. */
const MAX_REPORTS = 100;

const reportsOf = (l1: Services['l1'], nowMs: number): Status['cache']['reports'] =>
  l1
    .summary(nowMs)
    .slice(0, MAX_REPORTS)
    .map(({ account, untilMs, ...rest }) => ({
      ...rest,
      advertiserId: showId(account),
      freshUntil: Number.isFinite(untilMs) ? new Date(untilMs).toISOString() : null,
    }));

function platformOf(
  { callsRunning, callsQueued, recentCalls, recentFailedCalls }: ReturnType<typeof addLoads>,
  { pause, pace }: Pick<Services, 'pause' | 'pace'>,
): Omit<Status['platform'], 'state'> {
  return {
    callsRunning,
    callsQueued,
    recentCalls,
    recentFailedCalls,
    pauseSeconds: Math.ceil(pause.leftMs() / 1000),
    pace: paceOf(pace.status()),
  };
}

function paceOf(shown: ReturnType<Services['pace']['status']>): Status['platform']['pace'] {
  if (shown === null) return null;
  const { limit, remaining, resetInMs, waitMs } = shown;
  return {
    limit,
    remaining,
    resetInSeconds: Math.ceil(resetInMs / 1000),
    nextCallInSeconds: Math.ceil(waitMs / 1000),
  };
}
