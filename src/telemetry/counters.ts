/** Counters of events in /metrics, as plain numbers: prom-client's look-up of labels is slower. docs/metrics.md has them all. */
import type { Metric, Registry } from 'prom-client';

/** A label with many values. */
const ANY = null;

/**
 * `dsp_gateway_<name>_total`: labels with their values, and help. Listed values start at 0: `increase()` ignores the first value
 * of a series, so an alert would miss the first event.
 */
const COUNTERS = {
  report_hits: [{ tier: ['l1', 'store'] }, 'Fresh answers from the cache, by tier.'],
  platform_calls_saved: [{ team: ANY }, 'Platform calls avoided by the gateway.'],
  platform_calls: [{ outcome: ANY, team: ANY }, 'Platform call attempts, by outcome and charged team.'],
  problems: [{ plane: ANY, code: ANY }, 'Problem responses, by plane and code.'],
  store_faults: [
    { kind: ['unavailable', 'damaged', 'full'] },
    'Failed cache reads and writes, and damaged entries, by kind.',
  ],
  divisibility_events: [
    { event: ['proving', 'proven', 'refuted', 'unknown', 'restated', 'whole'] },
    'Kinds of reports for which it is being proven, was proven, disproved or left open that single days add up, and restated final days.',
  ],
  history_days: [
    { event: ['appended', 'confirmed', 'late', 'missed', 'erased', 'voided'] },
    'Fetched days, by their effect on history.',
  ],
  report_columns_changed: [
    { change: ['added', 'removed', 'retyped'] },
    'Report columns added, removed or changed in type.',
  ],
  finality_events: [
    { event: ['changed', 'widened', 'narrowed', 'lost'] },
    'What is learned of when days stop changing: days that changed after their end, windows that grew or shrank, and evidence dropped for lack of space.',
  ],
  truth_days: [
    { verdict: ['same', 'differs_since', 'restated', 'wrong', 'failed'] },
    'Days fetched again, by result of the comparison.',
  ],
  selections: [
    { event: ['agreed', 'refuted', 'answered'] },
    'Reports of selected campaigns derived from reports of all, by event.',
  ],
  budget_thresholds: [
    { percent: ['80', '95'] },
    'Teams that have used 80 or 95 percent of their platform calls of a UTC day.',
  ],
  changes_sent: [{}, 'Messages of the feed of changes sent to readers.'],
  watch_reads: [
    { outcome: ['read', 'failed', 'postponed'] },
    'Reads of the days of watches, by outcome; postponed: the platform may not be called now.',
  ],
  admin_bearer_calls: [{}, 'Calls of the admin API with an admin token in a header.'],
  audits: [{}, 'Joined answers compared with a whole answer of the platform.'],
  registry_losses: [
    { outcome: ['restored', 'adopted', 'left'] },
    'Times the registry was lost or replaced in the store: restored from memory, adopted, or left to operators.',
  ],
} as const satisfies Readonly<Record<string, CounterRow>>;

type CounterRow = readonly [labels: Readonly<Record<string, readonly string[] | null>>, help: string];
type CounterName = keyof typeof COUNTERS;
type LabelsOf<Name extends CounterName> = (typeof COUNTERS)[Name][0];
type Labels<Name extends CounterName> = {
  readonly [Label in keyof LabelsOf<Name>]: LabelsOf<Name>[Label] extends readonly (infer Value extends
    string)[]
    ? Value
    : string;
};

/** Adds to a counter; nothing if `by` is below 1. */
export type Count = <Name extends CounterName>(name: Name, labels: Labels<Name>, by?: number) => void;

/** The value of a label of a counter. */
export type LabelOf<Name extends CounterName, Label extends keyof Labels<Name>> = Labels<Name>[Label];

/** A sample, as prom-client reads it. */
export interface Value {
  readonly labels: Readonly<Record<string, string | number>>;
  value: number;
  readonly metricName?: string;
}

/** Implements only the members of a metric that the registry uses. */
export function register(
  registry: Registry,
  metric: {
    readonly name: string;
    readonly help: string;
    readonly type: 'counter' | 'histogram';
    readonly labelNames: readonly string[];
    readonly values: () => Value[];
  },
): void {
  const { values, ...about } = metric;
  const made = {
    ...about,
    aggregator: 'sum',
    get: async () => ({ ...about, aggregator: 'sum', values: values() }),
    reset() {},
  };
  registry.registerMetric(made as unknown as Metric);
}

export function registerCounters(registry: Registry): Count {
  const counters = new Map<string, ReturnType<typeof registerCounter>>();
  for (const [name, row] of Object.entries<CounterRow>(COUNTERS))
    counters.set(name, registerCounter(registry, name, row));
  return (name, labels, by = 1) => {
    if (by >= 1) counters.get(name)?.(labels, by);
  };
}

function registerCounter(registry: Registry, name: string, [labels, help]: CounterRow) {
  const labelNames = Object.keys(labels);
  const [first = '', ...others] = labelNames;
  const samples = new Map<string, Value>();
  const sampleOf = (of: Readonly<Record<string, string>>): Value => {
    let key = of[first] ?? '';
    for (const label of others) key += `\n${of[label]}`;
    const sample = samples.get(key) ?? { labels: of, value: 0 };
    samples.set(key, sample);
    return sample;
  };
  if (first === '') sampleOf({});
  else for (const value of labels[first] ?? []) sampleOf({ [first]: value });
  register(registry, {
    name: `dsp_gateway_${name}_total`,
    help,
    type: 'counter',
    labelNames,
    values: () => [...samples.values()],
  });
  return (of: Readonly<Record<string, string>>, by: number): void => {
    sampleOf(of).value += by;
  };
}
