/** What is known of a Redis server from the calls to it: does it answer, and does it answer in time? */
import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import type { StoreHealth } from '../port.js';
import { createCircuit } from './circuit.js';

/** A server that was heard too late is called slow for so long: probes are made more often. */
const SLOW_FOR_MS = 10_000;
const TOO_LATE =
  'Redis answers, but too late; calls are refused until it answers in time. Bring it closer, or raise redis.timeoutMs';

export interface ReachabilityOptions {
  /** What the connection is for, in log lines. */
  readonly role: string;
  /** Longest time a call takes. */
  readonly timeoutMs: number;
  /** A cheap call to the server; resolves when it answers in time. */
  readonly probe: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

export interface Reachability {
  /** What was last wrong with the connection. */
  readonly fault: string;
  /** The server answered in time, be it with an error. */
  heard(): void;
  /** It answered when nobody waited any more. */
  late(): void;
  /** It did not answer a call in time. */
  unanswered(fault: string): void;
  /** The connection failed, which says nothing about a call. */
  failed(fault: string): void;
  /** Whether calls are worth their wait. */
  health(): StoreHealth;
  stop(): void;
}

export function createReachability(options: ReachabilityOptions): Reachability {
  const { role, timeoutMs, probe, clock, logger } = options;
  let fault = 'the connection was closed';
  let lateAtMs = Number.NEGATIVE_INFINITY;
  const isSlow = () => clock.monotonicMs() - lateAtMs < SLOW_FOR_MS;

  const circuit = createCircuit({
    clock,
    patienceMs: 2 * timeoutMs,
    probe,
    onChange: (open) => {
      if (!open) logger.info({ role }, 'Redis answers again');
      else if (isSlow()) logger.warn({ role, fault }, TOO_LATE);
      else logger.warn({ role, fault }, 'Redis does not answer; calls are refused until it does');
    },
  });

  return {
    get fault() {
      return fault;
    },
    heard: circuit.heard,
    late() {
      lateAtMs = clock.monotonicMs();
    },
    unanswered(what) {
      fault = what;
      circuit.unanswered();
    },
    failed(what) {
      fault = what;
    },
    health() {
      if (!circuit.open) return { ok: true };
      return isSlow()
        ? { ok: false, slow: true, reason: `Redis answers too late: ${fault}` }
        : { ok: false, reason: `Redis does not answer: ${fault}` };
    },
    stop: circuit.stop,
  };
}
