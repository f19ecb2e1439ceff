/** Requests and their durations, counted as plain numbers and shown to Prometheus when it asks. */
import type { Metric, Registry } from 'prom-client';

/** Upper bounds of the histogram, seconds. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

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
export function createRequestTally(registry: Registry) {
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
