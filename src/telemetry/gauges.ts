/** Gauges, read when scraped. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { CONDITIONS } from './conditions.js';
import type { GaugeRow, Measured } from './measured.js';

/** Gauges that belong to no condition. */
const FURTHER: Readonly<Record<string, readonly [GaugeRow['of'], GaugeRow['help'], GaugeRow['read']]>> = {
  dsp_gateway_token_expiry_known: [
    'min',
    '1: the expiry is known; 0: assumed, one year after first seen.',
    ({ outlook }) => {
      const { expiryKnown } = outlook();
      return expiryKnown === null ? null : Number(expiryKnown);
    },
  ],
  dsp_gateway_l1_bytes: ['sum', 'Rendered responses in memory, bytes.', ({ l1 }) => l1.bytes],
  dsp_gateway_l1_entries: ['sum', 'Rendered responses in memory.', ({ l1 }) => l1.entries],
  dsp_gateway_platform_calls_running: ['sum', 'Running platform calls.', ({ budget }) => budget.running],
  dsp_gateway_platform_calls_queued: [
    'sum',
    'Platform calls waiting for a slot.',
    ({ budget }) => budget.queued,
  ],
  dsp_gateway_platform_slots: [
    'sum',
    'Maximum concurrent platform calls.',
    ({ maxConcurrent }) => maxConcurrent(),
  ],
  dsp_gateway_platform_rate_limit_calls: [
    'max',
    'Rate limit reported by the platform, calls per window.',
    ({ pace }) => pace.status()?.limit ?? null,
  ],
  dsp_gateway_platform_rate_remaining_calls: [
    'min',
    'Calls left in that window, as last reported.',
    ({ pace }) => pace.status()?.remaining ?? null,
  ],
  dsp_gateway_platform_pace_seconds: [
    'max',
    'Time until the next call may start by that rate.',
    ({ pace }) => pace.waitMs() / 1000,
  ],
  dsp_gateway_history_full: [
    'max',
    'Whether earlier states of days are removed from history because the store is almost full.',
    ({ store }) => Number((store.days?.room()?.excessBytes ?? 0) > 0),
  ],
  dsp_gateway_writes_unknown: [
    'max',
    'Unsettled guarded writes of unknown outcome, over all replicas.',
    ({ unknownWrites }) => unknownWrites.count(),
  ],
  dsp_gateway_changes_readers: [
    'sum',
    'Readers of the feed of changes that wait.',
    ({ waitingReaders }) => waitingReaders(),
  ],
  dsp_gateway_replicas: ['max', 'Serving processes, as seen by this one.', ({ replicas }) => replicas.count],
};

const ROWS = [
  ...CONDITIONS.flatMap(({ gauge }) => gauge ?? []),
  ...Object.entries(FURTHER).map(([name, [of, help, read]]) => ({ name, help, of, read })),
];

/** Registers the gauges, and the counter of lost log lines, which the log counts. */
export function registerGauges(registry: Registry, gateway: Measured): void {
  const registers = [registry];
  for (const { name, help, of, read } of ROWS) {
    new Gauge({
      name,
      help,
      registers,
      aggregator: of,
      collect() {
        const value = read(gateway);
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  }
  new Counter({
    name: 'dsp_gateway_log_dropped_lines_total',
    help: 'Lost log lines.',
    registers,
    collect() {
      this.reset();
      this.inc(gateway.log.health().droppedLines);
    },
  });
}
