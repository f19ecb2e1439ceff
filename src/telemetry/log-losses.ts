/** Counts the log lines that were lost, and says why lines are not written at present. */

export interface LogLosses {
  /** Since the start. */
  readonly lines: number;
  /** Why lines are not written, e.g. `ENOSPC`; null while they are. */
  readonly reason: string | null;
  /** @param lines how many are lost. @param reason what the system said; absent where there was no room for them */
  add(lines: number, reason?: string): void;
  /** Lines are written again: those lost since it was last called are told. */
  recovered(): void;
}

export function createLogLosses(onRecovered: (lines: number) => void): LogLosses {
  let lines = 0;
  let told = 0;
  let reason: string | null = null;
  return {
    get lines() {
      return lines;
    },
    get reason() {
      return reason;
    },
    add(count, why) {
      lines += count;
      if (why !== undefined) reason = why;
    },
    recovered() {
      reason = null;
      if (lines === told) return;
      const lost = lines - told;
      told = lines;
      onRecovered(lost);
    },
  };
}
