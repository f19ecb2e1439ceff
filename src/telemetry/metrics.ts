/** Prometheus metrics. Names and labels are documented in docs/metrics.md. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { type Gauges, registerGauges } from './gauges.js';
import { createRequestTally, SECONDS } from './request-tally.js';
import type { CallReport } from './trace.js';

export interface Metrics {
  readonly registry: Registry;
  request(plane: string, status: number, outcome: string, team: string | null, durationMs: number): void;
  /** A report was answered from the cache, fresh. */
  hit(tier: string): void;
  /** What a team's answer would have cost beyond what it did. */
  saved(team: string, calls: number): void;
  /** A problem was answered. */
  problem(plane: string, code: string): void;
  platformCall(call: CallReport): void;
  storeFault(kind: string): void;
  divisibility(event: string): void;
  crossCheck(): void;
  selection(event: string): void;
  history(event: string, days: number): void;
  historyBytes(bytes: number): void;
  schemaChange(change: string, columns: number): void;
  finality(event: string, count: number): void;
  truth(verdict: string, days: number): void;
  exploration(): void;
  registryLoss(outcome: string): void;
}

/**
 * What a counter shows from the beginning, as 0: a series that begins with 1 has not grown, as Prometheus sees it, and the
 * first of what somebody should be told of would go unnoticed.
 */
const TOLD_FROM_ZERO = {
  /** Faults of the store. */
  kind: ['unavailable', 'damaged', 'full'],
  /** Days in the history. */
  event: ['appended', 'confirmed', 'late', 'missed', 'erased', 'voided'],
  /** Columns of reports. */
  change: ['added', 'removed', 'retyped'],
  /** Truth. */
  verdict: ['same', 'differs_since', 'restated', 'wrong', 'failed'],
  /** Losses of the registry. */
  outcome: ['restored', 'adopted', 'left'],
} as const;

/**
 * Of the process, however many gateways are made in it: their observers of garbage collection and of the event loop cannot
 * be ended, and would hold each gateway for ever.
 */
let processMetrics: readonly Metric[] | undefined;

function collectProcessMetrics(): readonly Metric[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'dsp_gateway_' });
  const metrics = registry.getMetricsAsArray().map(({ name }) => registry.getSingleMetric(name));
  return metrics.filter((metric) => metric !== undefined);
}

export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry();
  processMetrics ??= collectProcessMetrics();
  for (const metric of processMetrics) registry.registerMetric(metric);
  const requests = createRequestTally(registry);
  const calls = callMetrics(registry);
  const counters = eventCounters(registry);
  for (const kind of TOLD_FROM_ZERO.kind) counters.storeFaults.inc({ kind }, 0);
  for (const event of TOLD_FROM_ZERO.event) counters.history.inc({ event }, 0);
  for (const change of TOLD_FROM_ZERO.change) counters.schemaChanges.inc({ change }, 0);
  for (const verdict of TOLD_FROM_ZERO.verdict) counters.truth.inc({ verdict }, 0);
  for (const outcome of TOLD_FROM_ZERO.outcome) counters.registryLosses.inc({ outcome }, 0);
  registerGauges(registry, gauges);
  return {
    registry,
    request: (plane, status, outcome, team, durationMs) =>
      requests.add(plane, status, outcome, team ?? '', durationMs),
    hit: requests.hit,
    saved: requests.saved,
    problem: (plane, code) => counters.problems.inc({ plane, code }),
    platformCall({ outcome, team, durationMs }) {
      calls.count.inc({ outcome, team });
      calls.seconds.observe({ outcome }, durationMs / 1000);
    },
    storeFault: (kind) => counters.storeFaults.inc({ kind }),
    divisibility: (event) => counters.divisibility.inc({ event }),
    crossCheck: () => counters.audits.inc(),
    selection: (event: string) => counters.selections.inc({ event }),
    history: (event, days) => counters.history.inc({ event }, days),
    schemaChange: (change, columns) => counters.schemaChanges.inc({ change }, columns),
    historyBytes: (bytes) => counters.historyBytes.set(bytes),
    finality: (event, count) => counters.finality.inc({ event }, count),
    exploration: () => counters.explorations.inc(),
    truth: (verdict, days) => counters.truth.inc({ verdict }, days),
    registryLoss: (outcome) => counters.registryLosses.inc({ outcome }),
  };
}

function callMetrics(registry: Registry) {
  const registers = [registry];
  return {
    count: new Counter({
      name: 'dsp_gateway_platform_calls_total',
      help: 'Tries of platform calls, by outcome and by the team they are charged to.',
      labelNames: ['outcome', 'team'],
      registers,
    }),
    seconds: new Histogram({
      name: 'dsp_gateway_platform_call_duration_seconds',
      help: 'Time of one try of a platform call.',
      labelNames: ['outcome'],
      buckets: [...SECONDS],
      registers,
    }),
  };
}

function eventCounters(registry: Registry) {
  const registers = [registry];
  return {
    problems: new Counter({
      name: 'dsp_gateway_problems_total',
      help: 'Problems answered, by plane and code.',
      labelNames: ['plane', 'code'],
      registers,
    }),
    storeFaults: new Counter({
      name: 'dsp_gateway_store_faults_total',
      help: 'Cache look-ups and writes that failed, and entries that were damaged.',
      labelNames: ['kind'],
      registers,
    }),
    divisibility: new Counter({
      name: 'dsp_gateway_divisibility_events_total',
      help: 'Kinds of reports on probation, proven or refuted to be divisible by day, and final days the platform restated.',
      labelNames: ['event'],
      registers,
    }),
    history: new Counter({
      name: 'dsp_gateway_history_days_total',
      help: 'Days of reports that fetches brought, by what became of them in the history.',
      labelNames: ['event'],
      registers,
    }),
    schemaChanges: new Counter({
      name: 'dsp_gateway_report_columns_changed_total',
      help: 'Columns of reports that came, went, or became texts or numbers, between two fetches of a day.',
      labelNames: ['change'],
      registers,
    }),
    historyBytes: new Gauge({
      name: 'dsp_gateway_history_bytes',
      help: 'What the history takes in the store, as of the last look by this process; 0 where it has not looked.',
      aggregator: 'max',
      registers,
    }),
    finality: new Counter({
      name: 'dsp_gateway_finality_events_total',
      help: 'What was learned of when days change no more: days that changed after they were over, windows that became longer or shorter, and what could not be learned for lack of room.',
      labelNames: ['event'],
      registers,
    }),
    explorations: new Counter({
      name: 'dsp_gateway_explorations_total',
      help: 'Ranges of days that were asked for to learn from them, and that nobody had asked for.',
      registers,
    }),
    truth: new Counter({
      name: 'dsp_gateway_truth_days_total',
      help: 'Days that were asked for again, by what came of it.',
      labelNames: ['verdict'],
      registers,
    }),
    selections: new Counter({
      name: 'dsp_gateway_selections_total',
      help: 'Reports of some campaigns beside those of all of them, by event.',
      labelNames: ['event'],
      registers,
    }),
    audits: new Counter({
      name: 'dsp_gateway_audits_total',
      help: 'Answers joined from days that were held against a whole answer of the platform.',
      registers,
    }),
    registryLosses: new Counter({
      name: 'dsp_gateway_registry_losses_total',
      help: 'Times the store had lost the registry, or held another: put back from memory, taken over, or left to people.',
      labelNames: ['outcome'],
      registers,
    }),
  };
}
