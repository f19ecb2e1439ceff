/** Gauges, read when scraped. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { CONDITIONS, type GaugeRow, type Measured } from './conditions.js';

/** Gauges that belong to no condition. */
const FURTHER: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_token_expiry_known',
    help: '1: the expiry is known; 0: assumed, one year after first seen.',
    of: 'min',
    read: ({ outlook }) => {
      const { expiryKnown } = outlook();
      return expiryKnown === null ? null : Number(expiryKnown);
    },
  },
  {
    name: 'dsp_gateway_l1_bytes',
    help: 'Rendered responses in memory, bytes.',
    of: 'sum',
    read: ({ l1 }) => l1.bytes,
  },
  {
    name: 'dsp_gateway_l1_entries',
    help: 'Rendered responses in memory.',
    of: 'sum',
    read: ({ l1 }) => l1.entries,
  },
  {
    name: 'dsp_gateway_platform_calls_running',
    help: 'Running platform calls.',
    of: 'sum',
    read: ({ budget }) => budget.running,
  },
  {
    name: 'dsp_gateway_platform_calls_queued',
    help: 'Platform calls waiting for a slot.',
    of: 'sum',
    read: ({ budget }) => budget.queued,
  },
  {
    name: 'dsp_gateway_platform_slots',
    help: 'Maximum concurrent platform calls.',
    of: 'sum',
    read: ({ maxConcurrent }) => maxConcurrent(),
  },
  {
    name: 'dsp_gateway_platform_rate_limit_calls',
    help: 'Rate limit reported by the platform, calls per window.',
    of: 'max',
    read: ({ pace }) => pace.status()?.limit ?? null,
  },
  {
    name: 'dsp_gateway_platform_rate_remaining_calls',
    help: 'Calls left in that window, as last reported.',
    of: 'min',
    read: ({ pace }) => pace.status()?.remaining ?? null,
  },
  {
    name: 'dsp_gateway_platform_pace_seconds',
    help: 'Time until the next call may start by that rate.',
    of: 'max',
    read: ({ pace }) => pace.waitMs() / 1000,
  },
  {
    name: 'dsp_gateway_writes_unknown',
    help: 'Unsettled guarded writes of unknown outcome, over all replicas.',
    of: 'max',
    read: ({ unknownWrites }) => unknownWrites.count(),
  },
  {
    name: 'dsp_gateway_replicas',
    help: 'Serving processes, as seen by this one.',
    of: 'max',
    read: ({ replicas }) => replicas.count,
  },
];

const ROWS = [...CONDITIONS.flatMap(({ gauge }) => gauge ?? []), ...FURTHER];

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
