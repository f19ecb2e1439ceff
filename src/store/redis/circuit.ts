import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import { randomShare } from '../../chance.js';
import type { Clock } from '../../clock.js';
import { startTimer, stopTimer, type Timer } from '../../time.js';
import { retryDelayMs } from './retry.js';

/** So many calls in a row, none answered in time, … */
const FAILURES = 5;

export interface CircuitOptions {
  readonly clock: Clock;
  /** … for at least so long, open the circuit. A hiccup that fails many calls at once is shorter than this. */
  readonly patienceMs: number;
  /** A cheap call to the server; resolves when it answers. */
  readonly probe: () => Promise<void>;
  readonly onChange: (open: boolean) => void;
}

/**
 * Says whether calls to a server are worth their wait. Open, it lets none through and probes behind, with growing,
 * spread pauses, until the server answers.
 */
export interface Circuit {
  readonly open: boolean;
  /** The server answered in time, be it with an error. */
  heard(): void;
  /** A call ended without an answer. One that comes later helps nobody, so it does not count as one. */
  unanswered(): void;
  /** Ends the probing. */
  stop(): void;
}

/** Consecutive failures alone would let one slow second of many calls at once open the circuit. */
class PatientBreaker extends ConsecutiveBreaker {
  #failingSinceMs = 0;

  constructor(
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {
    super(FAILURES);
  }

  override failure(): boolean {
    if (this.state === 0) this.#failingSinceMs = this.clock.monotonicMs();
    return super.failure() && this.clock.monotonicMs() - this.#failingSinceMs >= this.patienceMs;
  }
}

/** The library waits by the machine's clock, which may be set back. So it is told not to wait: the timer here does. */
const NO_WAIT_MS = Number.NEGATIVE_INFINITY;

/** The state changes in a later microtask than the call that changes it: so the library works. */
export function createCircuit({ clock, patienceMs, probe, onChange }: CircuitOptions): Circuit {
  const policy = circuitBreaker(handleAll, {
    breaker: new PatientBreaker(clock, patienceMs),
    halfOpenAfter: NO_WAIT_MS,
  });
  const isOpen = () => policy.state !== CircuitState.Closed;
  let stopped = false;
  /** Probes since the circuit opened. */
  let attempt = 0;
  let timer: Timer | undefined;
  let endProbe: (() => void) | undefined;

  // Said after each failed probe, too.
  policy.onBreak(() => {
    if (attempt === 0) onChange(true);
    if (stopped) return;
    attempt += 1;
    timer = startTimer(() => learn(probeOrHeard), retryDelayMs(attempt, randomShare()));
    timer.unref();
  });
  policy.onReset(() => {
    attempt = 0;
    stopTimer(timer);
    onChange(false);
  });

  /** Whoever is heard while a probe is under way answers for it. */
  function probeOrHeard(): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      endProbe = resolve;
    });
    return Promise.race([probe(), heard]);
  }

  function learn(call: () => Promise<void>): void {
    // What went wrong is known to who reports it; of a probe, the next one is the reaction.
    policy.execute(call).catch(() => {});
  }

  return {
    get open() {
      return isOpen();
    },
    heard() {
      if (policy.state === CircuitState.HalfOpen) endProbe?.();
      else learn(() => Promise.resolve());
    },
    unanswered() {
      if (!isOpen() && !stopped) learn(() => Promise.reject(new Error('unanswered')));
    },
    stop() {
      stopped = true;
      stopTimer(timer);
    },
  };
}
