/** What is wrong with the registry in the store, what was last, and who is told of it. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';

/** restored: it was put back from memory · adopted: another one took its place · left: somebody has to act */
export type LossOutcome = 'restored' | 'adopted' | 'left';

export interface RegistryLoss {
  /** ISO time. */
  readonly at: string;
  readonly outcome: LossOutcome;
  /** What happened and what to do, for people; holds no secret. */
  readonly message: string;
}

export interface LossLog {
  /** What is wrong now; null while all is well. */
  readonly open: RegistryLoss | null;
  /** The last one there was, mended or not. */
  readonly last: RegistryLoss | null;
  /** What goes on being wrong is told once. @param facts for the line of the log */
  tell(outcome: LossOutcome, message: string, facts: object): void;
  onLoss(listener: (outcome: LossOutcome) => void): void;
}

export function createLossLog(clock: Clock, logger: Logger): LossLog {
  const listeners: ((outcome: LossOutcome) => void)[] = [];
  let open: RegistryLoss | null = null;
  let last: RegistryLoss | null = null;
  return {
    get open() {
      return open;
    },
    get last() {
      return last;
    },
    tell(outcome, message, facts) {
      if (outcome === 'left' && open?.message === message) return;
      last = { at: new Date(clock.now()).toISOString(), outcome, message };
      open = outcome === 'left' ? last : null;
      logger.error({ ...facts, outcome }, message);
      for (const listener of listeners) listener(outcome);
    },
    onLoss: (listener) => void listeners.push(listener),
  };
}
