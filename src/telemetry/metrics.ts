/** Prometheus metrics. Names and labels are documented in docs/metrics.md. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallReport } from '../platform/slot.js';

export interface Metrics {
  readonly registry: Registry;
  request(plane: string, status: number, outcome: string, team: string | null, durationMs: number): void;
  platformCall(call: CallReport): void;
  storeFault(kind: string): void;
  divisibility(event: string): void;
  audit(): void;
  registryLoss(outcome: string): void;
}

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
  readonly pauseMs: () => number;
  readonly paceMs: () => number;
  readonly circuitOpen: () => boolean;
  readonly replicas: () => number;
  readonly registryLost: () => boolean;
  readonly secretFaults: () => number;
  readonly log: () => { readonly ok: boolean; readonly droppedLines: number };
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'dsp_gateway_' });

  const requests = new Counter({
    name: 'dsp_gateway_requests_total',
    help: 'Requests answered, by plane, status, outcome and team.',
    labelNames: ['plane', 'status', 'outcome', 'team'],
    registers,
  });
  const durations = new Histogram({
    name: 'dsp_gateway_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['plane', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  const calls = new Counter({
    name: 'dsp_gateway_platform_calls_total',
    help: 'Tries of platform calls, by outcome and by the team they are charged to.',
    labelNames: ['outcome', 'team'],
    registers,
  });
  const callDurations = new Histogram({
    name: 'dsp_gateway_platform_call_duration_seconds',
    help: 'Time of one try of a platform call.',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  });
  const storeFaults = new Counter({
    name: 'dsp_gateway_store_faults_total',
    help: 'Cache look-ups and writes that failed, and entries that were damaged.',
    labelNames: ['kind'],
    registers,
  });
  const divisibility = new Counter({
    name: 'dsp_gateway_divisibility_events_total',
    help: 'Kinds of reports on probation, proven or refuted to be divisible by day, and final days the platform restated.',
    labelNames: ['event'],
    registers,
  });
  const audits = new Counter({
    name: 'dsp_gateway_audits_total',
    help: 'Answers joined from days that were held against a whole answer of the platform.',
    registers,
  });
  const registryLosses = new Counter({
    name: 'dsp_gateway_registry_losses_total',
    help: 'Times the store had lost the registry, or held another: put back from memory, taken over, or left to people.',
    labelNames: ['outcome'],
    registers,
  });
  /** @param of how the values of several workers become one */
  const gauge = (name: string, help: string, of: 'sum' | 'min' | 'max', read: () => number | null) =>
    new Gauge({
      name,
      help,
      registers,
      aggregator: of,
      collect() {
        const value = read();
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  gauge(
    'dsp_gateway_token_expiry_timestamp_seconds',
    'When the active platform token expires.',
    'min',
    () => {
      const { expiresAt } = gauges.token();
      return expiresAt === null ? null : Date.parse(expiresAt) / 1000;
    },
  );
  gauge(
    'dsp_gateway_token_expiry_known',
    'Whether that expiry is known, or assumed to be a year after the token was first seen.',
    'min',
    () => {
      const { expiryKnown: known } = gauges.token();
      return known === null ? null : Number(known);
    },
  );
  gauge(
    'dsp_gateway_token_expiry_warning_days',
    'The lowest of 30, 14, 7, 3, 1 and 0 days before the expiry that was reached, when somebody has to act.',
    'min',
    () => gauges.token().warningDays,
  );
  gauge('dsp_gateway_store_up', 'Whether the store answers.', 'min', () => (gauges.storeOk() ? 1 : 0));
  gauge(
    'dsp_gateway_registry_lost',
    'Whether the store has lost the registry, and somebody has to act.',
    'max',
    () => Number(gauges.registryLost()),
  );
  gauge(
    'dsp_gateway_store_out_of_memory',
    'Whether the store refuses changes because its memory is used up.',
    'max',
    () => Number(gauges.storeFull()),
  );
  gauge('dsp_gateway_l1_bytes', 'Finished bodies in this process, bytes.', 'sum', () => gauges.l1().bytes);
  gauge('dsp_gateway_l1_entries', 'Finished bodies in this process.', 'sum', () => gauges.l1().entries);
  const { budget } = gauges;
  gauge('dsp_gateway_platform_calls_running', 'Platform calls under way.', 'sum', () => budget().running);
  gauge(
    'dsp_gateway_platform_calls_queued',
    'Platform calls that wait for their turn.',
    'sum',
    () => budget().queued,
  );
  gauge(
    'dsp_gateway_platform_pause_seconds',
    'Time left of the pause the platform asked for.',
    'max',
    () => gauges.pauseMs() / 1000,
  );
  gauge(
    'dsp_gateway_platform_pace_seconds',
    'Time until the next call may start, by the rate the platform shows.',
    'max',
    () => gauges.paceMs() / 1000,
  );
  gauge(
    'dsp_gateway_platform_circuit_open',
    'Whether calls are suspended because the platform keeps failing.',
    'max',
    () => Number(gauges.circuitOpen()),
  );
  gauge('dsp_gateway_replicas', 'Processes that serve requests, as this one sees them.', 'max', () =>
    gauges.replicas(),
  );
  gauge(
    'dsp_gateway_secret_files_faulty',
    'Files of secrets whose present content is not in use, for it cannot be read or is not allowed.',
    'max',
    () => gauges.secretFaults(),
  );
  gauge('dsp_gateway_log_up', 'Whether lines of the log can be written.', 'min', () =>
    Number(gauges.log().ok),
  );
  new Counter({
    name: 'dsp_gateway_log_dropped_lines_total',
    help: 'Lines of the log that could not be written and are lost.',
    registers,
    collect() {
      this.reset();
      this.inc(gauges.log().droppedLines);
    },
  });

  return {
    registry,
    request(plane, status, outcome, team, durationMs) {
      requests.inc({ plane, status: String(status), outcome, team: team ?? '' });
      durations.observe({ plane, outcome }, durationMs / 1000);
    },
    platformCall({ outcome, team, durationMs }) {
      calls.inc({ outcome, team });
      callDurations.observe({ outcome }, durationMs / 1000);
    },
    storeFault: (kind) => storeFaults.inc({ kind }),
    divisibility: (event) => divisibility.inc({ event }),
    audit: () => audits.inc(),
    registryLoss: (outcome) => registryLosses.inc({ outcome }),
  };
}
