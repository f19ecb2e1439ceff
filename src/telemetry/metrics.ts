/** Prometheus metrics. Names and labels are documented in docs/metrics.md. */
import { collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { register, registerCounters, type Value } from './counters.js';
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
  return (plane: string, status: number, outcome: string, of: string | null, durationMs: number): void => {
    const team = of ?? '';
    const all = requests.get(team);
    if (all === undefined) requests.set(team, [{ plane, status, outcome, count: 1 }]);
    else countIn(all, plane, status, outcome);
    observe(durations, plane, outcome, durationMs / 1000);
  };
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
  const request = createRequestTally(registry);
  const count = registerCounters(registry);
  const callSeconds = new Histogram({
    name: 'dsp_gateway_platform_call_duration_seconds',
    help: 'Duration of a platform call attempt.',
    labelNames: ['outcome'],
    buckets: [...SECONDS],
    registers: [registry],
  });
  const historyBytes = new Gauge({
    name: 'dsp_gateway_history_bytes',
    help: 'Size of earlier states of days in the store, as last measured by this process; 0: not measured.',
    aggregator: 'max',
    registers: [registry],
  });
  registerGauges(registry, gateway);
  return {
    registry,
    request,
    count,
    platformCall({ outcome, team, durationMs }: CallReport) {
      count('platform_calls', { outcome, team });
      callSeconds.observe({ outcome }, durationMs / 1000);
    },
    historyBytes: (bytes: number) => historyBytes.set(bytes),
  };
}
