/** The metrics that are read when somebody scrapes them: how things stand now. */
import { Counter, Gauge, type Registry } from 'prom-client';

/** Read when the metrics are scraped. */
export interface Gauges {
  /** Of the active token; null without one, or where nobody has to act. */
  readonly token: () => {
    readonly expiresAt: string | null;
    readonly expiryKnown: boolean | null;
    readonly warningDays: number | null;
  };
  readonly storeOk: () => boolean;
  readonly storeFull: () => boolean;
  readonly l1: () => { readonly bytes: number; readonly entries: number };
  readonly budget: () => { readonly running: number; readonly queued: number };
  /** Platform calls that this process may make at once. */
  readonly slots: () => number;
  /** The window that the platform shows; null while it shows none. */
  readonly rate: () => { readonly limit: number; readonly remaining: number } | null;
  readonly pauseMs: () => number;
  readonly paceMs: () => number;
  readonly circuitOpen: () => boolean;
  readonly replicas: () => number;
  readonly registryLost: () => boolean;
  readonly secretFaults: () => number;
  /** Stops of writes in force: that of all teams, and those of single ones. */
  readonly stopsOfWrites: () => number;
  /** Guarded writes of unknown outcome; null: not known. */
  readonly unknownWrites: () => number | null;
  readonly log: () => { readonly ok: boolean; readonly droppedLines: number };
}

interface GaugeRow {
  readonly name: string;
  readonly help: string;
  /** How the values of several workers become one. */
  readonly of: 'sum' | 'min' | 'max';
  /** Null: there is nothing to show. */
  readonly read: (gauges: Gauges) => number | null;
}

const TOKEN_GAUGES: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_token_expiry_timestamp_seconds',
    help: 'When the active platform token expires.',
    of: 'min',
    read: ({ token }) => {
      const { expiresAt } = token();
      return expiresAt === null ? null : Date.parse(expiresAt) / 1000;
    },
  },
  {
    name: 'dsp_gateway_token_expiry_known',
    help: 'Whether that expiry is known, or assumed to be a year after the token was first seen.',
    of: 'min',
    read: ({ token }) => {
      const { expiryKnown } = token();
      return expiryKnown === null ? null : Number(expiryKnown);
    },
  },
  {
    name: 'dsp_gateway_token_expiry_warning_days',
    help: 'The lowest of 30, 14, 7, 3, 1 and 0 days before the expiry that was reached, when somebody has to act.',
    of: 'min',
    read: ({ token }) => token().warningDays,
  },
];

const STORE_GAUGES: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_store_up',
    help: 'Whether the store answers.',
    of: 'min',
    read: ({ storeOk }) => Number(storeOk()),
  },
  {
    name: 'dsp_gateway_registry_lost',
    help: 'Whether the store has lost the registry, and somebody has to act.',
    of: 'max',
    read: ({ registryLost }) => Number(registryLost()),
  },
  {
    name: 'dsp_gateway_store_out_of_memory',
    help: 'Whether the store refuses changes because its memory is used up.',
    of: 'max',
    read: ({ storeFull }) => Number(storeFull()),
  },
  {
    name: 'dsp_gateway_l1_bytes',
    help: 'Finished bodies in this process, bytes.',
    of: 'sum',
    read: ({ l1 }) => l1().bytes,
  },
  {
    name: 'dsp_gateway_l1_entries',
    help: 'Finished bodies in this process.',
    of: 'sum',
    read: ({ l1 }) => l1().entries,
  },
];

const PLATFORM_GAUGES: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_platform_calls_running',
    help: 'Platform calls under way.',
    of: 'sum',
    read: ({ budget }) => budget().running,
  },
  {
    name: 'dsp_gateway_platform_calls_queued',
    help: 'Platform calls that wait for a slot.',
    of: 'sum',
    read: ({ budget }) => budget().queued,
  },
  {
    name: 'dsp_gateway_platform_slots',
    help: 'Platform calls that may be under way at once.',
    of: 'sum',
    read: ({ slots }) => slots(),
  },
  {
    name: 'dsp_gateway_platform_rate_limit_calls',
    help: 'Calls of a whole window of the rate that the platform shows.',
    of: 'max',
    read: ({ rate }) => rate()?.limit ?? null,
  },
  {
    name: 'dsp_gateway_platform_rate_remaining_calls',
    help: 'Calls that are left of that window, as the platform showed them last.',
    of: 'min',
    read: ({ rate }) => rate()?.remaining ?? null,
  },
  {
    name: 'dsp_gateway_platform_pause_seconds',
    help: 'Time left of the pause the platform asked for.',
    of: 'max',
    read: ({ pauseMs }) => pauseMs() / 1000,
  },
  {
    name: 'dsp_gateway_platform_pace_seconds',
    help: 'Time until the next call may start, by the rate the platform shows.',
    of: 'max',
    read: ({ paceMs }) => paceMs() / 1000,
  },
  {
    name: 'dsp_gateway_platform_circuit_open',
    help: 'Whether calls are suspended because the platform keeps failing.',
    of: 'max',
    read: ({ circuitOpen }) => Number(circuitOpen()),
  },
];

const WRITE_GAUGES: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_writes_stopped',
    help: 'Stops of writes in force: that of all teams, and those of single teams.',
    of: 'max',
    read: ({ stopsOfWrites }) => stopsOfWrites(),
  },
  {
    name: 'dsp_gateway_writes_unknown',
    help: 'Guarded writes of unknown outcome that wait to be settled, of all replicas.',
    of: 'max',
    read: ({ unknownWrites }) => unknownWrites(),
  },
];

const PROCESS_GAUGES: readonly GaugeRow[] = [
  {
    name: 'dsp_gateway_replicas',
    help: 'Processes that serve requests, as this one sees them.',
    of: 'max',
    read: ({ replicas }) => replicas(),
  },
  {
    name: 'dsp_gateway_secret_files_faulty',
    help: 'Files of secrets whose present content is not in use, for it cannot be read or is not allowed.',
    of: 'max',
    read: ({ secretFaults }) => secretFaults(),
  },
  {
    name: 'dsp_gateway_log_up',
    help: 'Whether lines of the log can be written.',
    of: 'min',
    read: ({ log }) => Number(log().ok),
  },
];

const ROWS = [...TOKEN_GAUGES, ...STORE_GAUGES, ...PLATFORM_GAUGES, ...WRITE_GAUGES, ...PROCESS_GAUGES];

/** Registers them all, and the count of lost log lines, which the log keeps itself. */
export function registerGauges(registry: Registry, gauges: Gauges): void {
  const registers = [registry];
  for (const { name, help, of, read } of ROWS) {
    new Gauge({
      name,
      help,
      registers,
      aggregator: of,
      collect() {
        const value = read(gauges);
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
      this.inc(gauges.log().droppedLines);
    },
  });
}
