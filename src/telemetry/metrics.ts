/** Prometheus metrics. Names and labels are documented in docs/metrics.md. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import type { Measured } from './conditions.js';
import { registerGauges } from './gauges.js';
import type { CallReport } from './trace.js';

// Requests and their durations, counted as plain numbers and shown to Prometheus when it asks.

/** Upper bounds of the histogram, seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

interface Requests {
  readonly plane: string;
  readonly status: number;
  readonly outcome: string;
  count: number;
}

interface Durations {
  readonly plane: string;
  readonly outcome: string;
  count: number;
  /** Observations up to each of {@link SECONDS}, and beyond the last; not cumulated. */
  readonly bins: number[];
  sumS: number;
}

/** @param registry where the two metrics are registered */
function createRequestTally(registry: Registry) {
  /** Few for each team: looked through, which is faster than making a name for each request. */
  const requests = new Map<string, Requests[]>();
  const durations: Durations[] = [];
  const hits = registerCounts(registry, 'tier', {
    name: 'dsp_gateway_report_hits_total',
    help: 'Reports answered from the cache, fresh, by where they were found.',
    first: ['l1', 'store'],
  });
  const saved = registerCounts(registry, 'team', {
    name: 'dsp_gateway_platform_calls_saved_total',
    help: 'Platform calls that reports would have cost without the gateway, beyond those that were made for them.',
    first: [],
  });
  register(registry, {
    name: 'dsp_gateway_requests_total',
    help: 'Requests answered, by plane, status, outcome and team.',
    type: 'counter',
    labelNames: ['plane', 'status', 'outcome', 'team'],
    values: () =>
      [...requests].flatMap(([team, all]) =>
        all.map(({ plane, status, outcome, count }) => ({
          labels: { plane, status: String(status), outcome, team },
          value: count,
        })),
      ),
  });
  register(registry, {
    name: 'dsp_gateway_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    type: 'histogram',
    labelNames: ['plane', 'outcome'],
    values: () => durations.flatMap(valuesOf),
  });
  return {
    add(plane: string, status: number, outcome: string, team: string, durationMs: number) {
      const all = requests.get(team);
      if (all === undefined) requests.set(team, [{ plane, status, outcome, count: 1 }]);
      else countIn(all, plane, status, outcome);
      observe(durations, plane, outcome, durationMs / 1000);
    },
    /** A fresh answer from the cache, by where it lay. */
    hit: (tier: string) => grow(hits, tier, 1),
    /** Platform calls that a team's answers would have cost beyond those that were made. */
    saved(team: string, calls: number) {
      if (calls > 0) grow(saved, team, calls);
    },
  };
}

/** A counter of one label. @returns its counts by that label's value; those of `first` are shown from the beginning */
function registerCounts(
  registry: Registry,
  label: string,
  { name, help, first }: { readonly name: string; readonly help: string; readonly first: readonly string[] },
): Map<string, number> {
  const counts = new Map(first.map((value) => [value, 0]));
  register(registry, {
    ...{ name, help, type: 'counter', labelNames: [label] },
    values: () => [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count })),
  });
  return counts;
}

function grow(counts: Map<string, number>, value: string, by: number): void {
  counts.set(value, (counts.get(value) ?? 0) + by);
}

function countIn(all: Requests[], plane: string, status: number, outcome: string): void {
  for (const one of all) {
    if (one.outcome !== outcome || one.status !== status || one.plane !== plane) continue;
    one.count += 1;
    return;
  }
  all.push({ plane, status, outcome, count: 1 });
}

function durationsOf(all: Durations[], plane: string, outcome: string): Durations {
  for (const one of all) if (one.outcome === outcome && one.plane === plane) return one;
  const one = { plane, outcome, count: 0, bins: Array(SECONDS.length + 1).fill(0), sumS: 0 };
  all.push(one);
  return one;
}

function observe(all: Durations[], plane: string, outcome: string, seconds: number): void {
  const one = durationsOf(all, plane, outcome);
  let bin = 0;
  while (bin < SECONDS.length && seconds > (SECONDS[bin] as number)) bin += 1;
  (one.bins[bin] as number) += 1;
  one.count += 1;
  one.sumS += seconds;
}

interface Value {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/** As prom-client gives a histogram: cumulated buckets, then sum and count. */
function valuesOf({ plane, outcome, bins, sumS, count }: Durations): Value[] {
  const labels = { plane, outcome };
  const name = 'dsp_gateway_request_duration_seconds';
  let below = 0;
  const buckets = bins.map((observed, at) => {
    below += observed;
    return { labels: { le: SECONDS[at] ?? '+Inf', ...labels }, value: below, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { labels, value: sumS, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
}

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  readonly labelNames: readonly string[];
  readonly values: () => Value[];
}

/** The registry asks a metric for no more than this; its own classes resolve labels at each observation, which costs. */
function register(registry: Registry, { name, help, type, labelNames, values }: Shown): void {
  const metric = {
    ...{ name, help, type, labelNames, aggregator: 'sum' },
    get: async () => ({ name, help, type, values: values(), aggregator: 'sum' }),
    reset() {},
  };
  registry.registerMetric(metric as unknown as Metric);
}

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

export function createMetrics(gateway: Measured): Metrics {
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
  registerGauges(registry, gateway);
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
