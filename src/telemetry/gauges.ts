/** The metrics that are read when somebody scrapes them: how things stand now. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { CONDITIONS, type GaugeRow, type Measured } from './conditions.js';

/** Those that tell of no condition. */
const FURTHER: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_token_expiry_known',
    help: 'Whether that expiry is known, or assumed to be a year after the token was first seen.',
    of: 'min',
    read: ({ outlook }) => {
      const { expiryKnown } = outlook();
      return expiryKnown === null ? null : Number(expiryKnown);
    },
  },
  {
    name: 'dsp_gateway_l1_bytes',
    help: 'Finished bodies in this process, bytes.',
    of: 'sum',
    read: ({ l1 }) => l1.bytes,
  },
  {
    name: 'dsp_gateway_l1_entries',
    help: 'Finished bodies in this process.',
    of: 'sum',
    read: ({ l1 }) => l1.entries,
  },
  {
    name: 'dsp_gateway_platform_calls_running',
    help: 'Platform calls under way.',
    of: 'sum',
    read: ({ budget }) => budget.running,
  },
  {
    name: 'dsp_gateway_platform_calls_queued',
    help: 'Platform calls that wait for a slot.',
    of: 'sum',
    read: ({ budget }) => budget.queued,
  },
  {
    name: 'dsp_gateway_platform_slots',
    help: 'Platform calls that may be under way at once.',
    of: 'sum',
    read: ({ maxConcurrent }) => maxConcurrent(),
  },
  {
    name: 'dsp_gateway_platform_rate_limit_calls',
    help: 'Calls of a whole window of the rate that the platform shows.',
    of: 'max',
    read: ({ pace }) => pace.status()?.limit ?? null,
  },
  {
    name: 'dsp_gateway_platform_rate_remaining_calls',
    help: 'Calls that are left of that window, as the platform showed them last.',
    of: 'min',
    read: ({ pace }) => pace.status()?.remaining ?? null,
  },
  {
    name: 'dsp_gateway_platform_pace_seconds',
    help: 'Time until the next call may start, by the rate the platform shows.',
    of: 'max',
    read: ({ pace }) => pace.waitMs() / 1000,
  },
  {
    name: 'dsp_gateway_writes_unknown',
    help: 'Guarded writes of unknown outcome that wait to be settled, of all replicas.',
    of: 'max',
    read: ({ unknownWrites }) => unknownWrites.count(),
  },
  {
    name: 'dsp_gateway_replicas',
    help: 'Processes that serve requests, as this one sees them.',
    of: 'max',
    read: ({ replicas }) => replicas.count,
  },
];

const ROWS = [...CONDITIONS.flatMap(({ gauge }) => gauge ?? []), ...FURTHER];

/** Registers them all, and the count of lost log lines, which the log keeps itself. */
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
    help: 'Lines of the log that could not be written and are lost.',
    registers,
    collect() {
      this.reset();
      this.inc(gateway.log.health().droppedLines);
    },
  });
}
