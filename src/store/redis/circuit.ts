import type { Clock } from '../../clock.js';
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

export function createCircuit({ clock, patienceMs, probe, onChange }: CircuitOptions): Circuit {
  let open = false;
  let stopped = false;
  let failures = 0;
  let failingSinceMs = 0;
  let attempt = 0;
  let timer: NodeJS.Timeout | undefined;

  function heard(): void {
    failures = 0;
    if (!open) return;
    open = false;
    clearTimeout(timer);
    onChange(false);
  }

  function unanswered(): void {
    failures += 1;
    if (failures === 1) failingSinceMs = clock.monotonicMs();
    if (open || stopped || failures < FAILURES) return;
    if (clock.monotonicMs() - failingSinceMs < patienceMs) return;
    open = true;
    attempt = 0;
    onChange(true);
    schedule();
  }

  function schedule(): void {
    attempt += 1;
    timer = setTimeout(() => void tryOnce(), retryDelayMs(attempt, Math.random()));
    timer.unref();
  }

  async function tryOnce(): Promise<void> {
    try {
      await probe();
      heard();
    } catch {
      // What is wrong is known already: the circuit is open. The next probe is the reaction.
      if (open && !stopped) schedule();
    }
  }

  return {
    get open() {
      return open;
    },
    heard,
    unanswered,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
