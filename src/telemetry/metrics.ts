/** Prometheus metrics. Names and labels are documented in docs/metrics.md. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { registerGauges } from './gauges.js';
import type { Measured } from './measured.js';
import type { CallReport } from './trace.js';

// Requests and durations are counted as plain numbers, which is faster than prom-client's label lookup.

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
  /** Observations per bucket of {@link SECONDS} and above; not cumulated. */
  readonly bins: number[];
  sumS: number;
}

function createRequestTally(registry: Registry) {
  /** By team. Few per team: a scan is faster than a string key per request. */
  const requests = new Map<string, Requests[]>();
  const durations: Durations[] = [];
  const hits = registerCounts(registry, 'tier', {
    name: 'dsp_gateway_report_hits_total',
    help: 'Fresh answers from the cache, by tier.',
    first: ['l1', 'store'],
  });
  const saved = registerCounts(registry, 'team', {
    name: 'dsp_gateway_platform_calls_saved_total',
    help: 'Platform calls avoided by the gateway.',
    first: [],
  });
  register(registry, {
    name: 'dsp_gateway_requests_total',
    help: 'Requests by plane, status, outcome and team.',
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
    help: 'Time from the first byte of a request to the last of its response.',
    type: 'histogram',
    labelNames: ['plane', 'outcome'],
    values: () => durations.flatMap(valuesOf),
  });
  return {
    add(plane: string, status: number, outcome: string, of: string | null, durationMs: number) {
      const team = of ?? '';
      const all = requests.get(team);
      if (all === undefined) requests.set(team, [{ plane, status, outcome, count: 1 }]);
      else countIn(all, plane, status, outcome);
      observe(durations, plane, outcome, durationMs / 1000);
    },

    hit: (tier: string) => grow(hits, tier, 1),

    saved(team: string, calls: number) {
      if (calls > 0) grow(saved, team, calls);
    },
  };
}

/** A counter with one label. @returns counts by value; those of `first` start at 0 */
function registerCounts(
  registry: Registry,
  label: string,
  { name, help, first }: { readonly name: string; readonly help: string; readonly first: readonly string[] },
): Map<string, { count: number }> {
  const counts = new Map(first.map((value) => [value, { count: 0 }]));
  register(registry, {
    ...{ name, help, type: 'counter', labelNames: [label] },
    values: () => [...counts].map(([value, { count }]) => ({ labels: { [label]: value }, value: count })),
  });
  return counts;
}

function grow(counts: Map<string, { count: number }>, value: string, by: number): void {
  const known = counts.get(value);
  if (known === undefined) counts.set(value, { count: by });
  else known.count += by;
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

/** In the form of prom-client: cumulated buckets, sum, count. */
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

/** Implements only the members of a metric that the registry uses. */
function register(registry: Registry, { name, help, type, labelNames, values }: Shown): void {
  const metric = {
    ...{ name, help, type, labelNames, aggregator: 'sum' },
    get: async () => ({ name, help, type, values: values(), aggregator: 'sum' }),
    reset() {},
  };
  registry.registerMetric(metric as unknown as Metric);
}

type CounterRow = readonly [labels: readonly string[], help: string, first?: readonly string[]];

/**
 * Counters of events: labels, help, and values of the label that start at 0. `increase()` ignores the first value of a series,
 * so an alert would miss the first event.
 */
const COUNTERS = {
  dsp_gateway_platform_calls_total: [
    ['outcome', 'team'],
    'Platform call attempts, by outcome and charged team.',
  ],
  dsp_gateway_problems_total: [['plane', 'code'], 'Problem responses, by plane and code.'],
  dsp_gateway_store_faults_total: [
    ['kind'],
    'Failed cache reads and writes, and damaged entries, by kind.',
    ['unavailable', 'damaged', 'full'],
  ],
  dsp_gateway_divisibility_events_total: [
    ['event'],
    'Kinds whose divisibility by day is being proven, was proven, refuted or left unknown, and restated final days.',
  ],
  dsp_gateway_history_days_total: [
    ['event'],
    'Fetched days, by their effect on history.',
    ['appended', 'confirmed', 'late', 'missed', 'erased', 'voided'],
  ],
  dsp_gateway_report_columns_changed_total: [
    ['change'],
    'Report columns added, removed or changed in type.',
    ['added', 'removed', 'retyped'],
  ],
  dsp_gateway_finality_events_total: [
    ['event'],
    'Learned finality: days that changed after their end, windows that grew or shrank, and evidence dropped for lack of space.',
  ],
  dsp_gateway_explorations_total: [[], 'Ranges fetched only to learn from them.'],
  dsp_gateway_truth_days_total: [
    ['verdict'],
    'Days fetched again, by result of the comparison.',
    ['same', 'differs_since', 'restated', 'wrong', 'failed'],
  ],
  dsp_gateway_selections_total: [
    ['event'],
    'Reports of selected campaigns derived from reports of all, by event.',
  ],
  dsp_gateway_budget_thresholds_total: [
    ['percent'],
    'Teams that have used 80 or 95 percent of their platform calls of a UTC day.',
    ['80', '95'],
  ],
  dsp_gateway_audits_total: [[], 'Joined answers compared with a whole answer of the platform.'],
  dsp_gateway_registry_losses_total: [
    ['outcome'],
    'Times the registry was lost or replaced in the store: restored from memory, adopted, or left to operators.',
    ['restored', 'adopted', 'left'],
  ],
} satisfies Readonly<Record<string, CounterRow>>;

type Counters = Readonly<Record<keyof typeof COUNTERS, Counter>>;

function registerCounters(registry: Registry): Counters {
  const made = Object.entries<CounterRow>(COUNTERS).map(([name, [labelNames, help, first = []]]) => {
    const counter = new Counter({ name, help, labelNames, registers: [registry] });
    for (const value of first) counter.inc({ [labelNames[0] as string]: value }, 0);
    return [name, counter];
  });
  return Object.fromEntries(made);
}

/**
 * One per process, for any number of gateways: observers of garbage collection and event loop cannot be stopped and would
 * leak each gateway.
 */
let processMetrics: readonly Metric[] | undefined;

function collectProcessMetrics(): readonly Metric[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'dsp_gateway_' });
  const metrics = registry.getMetricsAsArray().map(({ name }) => registry.getSingleMetric(name));
  return metrics.filter((metric) => metric !== undefined);
}

export function createMetrics(gateway: Measured) {
  const registry = new Registry();
  processMetrics ??= collectProcessMetrics();
  for (const metric of processMetrics) registry.registerMetric(metric);
  const requests = createRequestTally(registry);
  const callSeconds = new Histogram({
    name: 'dsp_gateway_platform_call_duration_seconds',
    help: 'Duration of a platform call attempt.',
    labelNames: ['outcome'],
    buckets: [...SECONDS],
    registers: [registry],
  });
  const counters = registerCounters(registry);
  const historyBytes = new Gauge({
    name: 'dsp_gateway_history_bytes',
    help: 'Size of earlier states of days in the store, as last measured by this process; 0: not measured.',
    aggregator: 'max',
    registers: [registry],
  });
  registerGauges(registry, gateway);
  return {
    registry,
    request: requests.add,
    /** A fresh answer from the cache. */
    hit: requests.hit,
    /** Platform calls avoided for a team. */
    saved: requests.saved,
    problem: (plane: string, code: string) => counters.dsp_gateway_problems_total.inc({ plane, code }),
    platformCall({ outcome, team, durationMs }: CallReport) {
      counters.dsp_gateway_platform_calls_total.inc({ outcome, team });
      callSeconds.observe({ outcome }, durationMs / 1000);
    },
    storeFault: (kind: string) => counters.dsp_gateway_store_faults_total.inc({ kind }),
    divisibility: (event: string) => counters.dsp_gateway_divisibility_events_total.inc({ event }),
    crossCheck: () => counters.dsp_gateway_audits_total.inc(),
    selection: (event: string) => counters.dsp_gateway_selections_total.inc({ event }),
    history: (event: string, days: number) => counters.dsp_gateway_history_days_total.inc({ event }, days),
    schemaChange: (change: string, columns: number) =>
      counters.dsp_gateway_report_columns_changed_total.inc({ change }, columns),
    historyBytes: (bytes: number) => historyBytes.set(bytes),
    finality: (event: string, count: number) =>
      counters.dsp_gateway_finality_events_total.inc({ event }, count),
    exploration: () => counters.dsp_gateway_explorations_total.inc(),
    truth: (verdict: string, days: number) => counters.dsp_gateway_truth_days_total.inc({ verdict }, days),
    budgetThreshold: (percent: number) => counters.dsp_gateway_budget_thresholds_total.inc({ percent }),
    registryLoss: (outcome: string) => counters.dsp_gateway_registry_losses_total.inc({ outcome }),
  };
}
