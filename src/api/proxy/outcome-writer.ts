/** Writes down what became of a write with an idempotency key, and goes on trying while the store does not take it. */
import type { Logger } from 'pino';
import { sleep } from '../../lib/time.js';
import { type Documents, StoreUnavailable } from '../../store/port.js';
import { type IdempotencyOutcome, type IdempotencyRecord, writeRecord } from './idempotency-record.js';

export interface OutcomeWriter {
  /**
   * Never throws: whatever goes wrong here, the caller is owed the platform's answer.
   * @param record as it was made, open
   * @param outcome null when nothing was done: then the key is free again
   */
  settle(document: string, record: IdempotencyRecord, outcome: IdempotencyOutcome | null): Promise<void>;
  /** The same, behind the caller's back, after a while. */
  settleLater(document: string, record: IdempotencyRecord, outcome: IdempotencyOutcome | null): void;
  /** Waits for outcomes that are still to be written down. */
  settled(): Promise<void>;
}

export interface OutcomeWriterOptions {
  readonly documents: Documents;
  readonly logger: Logger;
  /** How long the store keeps a document, milliseconds. */
  readonly noteTtlMs: number;
}

/** Waits before an outcome that the store did not take is written again. */
const AGAIN_MS = [1000, 2000, 5000, 10_000];

const NO_ROOM: IdempotencyOutcome = {
  state: 'unknown',
  why: 'it was answered, and the store had no room left to keep the answer',
};

export function createOutcomeWriter({ documents, logger, noteTtlMs }: OutcomeWriterOptions): OutcomeWriter {
  const settling = new Set<Promise<void>>();

  /** @returns whether the store took it */
  async function write(
    document: string,
    record: IdempotencyRecord,
    outcome: IdempotencyOutcome | null,
  ): Promise<boolean> {
    try {
      const after = outcome === null ? null : writeRecord({ ...record, outcome });
      await documents.replace(document, writeRecord(record), after, noteTtlMs);
      return true;
    } catch (error) {
      // That it was answered is small, and keeps it from being sent again.
      if (isNoRoom(error) && outcome?.state === 'answered') return await write(document, record, NO_ROOM);
      logger.warn({ err: error }, 'the outcome of a write with an idempotency key could not be kept yet');
      return false;
    }
  }

  async function writeAgain(...outcome: Parameters<typeof write>): Promise<void> {
    for (const waitMs of AGAIN_MS) {
      await sleep(waitMs);
      if (await write(...outcome)) return;
    }
    logger.error(
      'the outcome of a write with an idempotency key could not be kept; repeats of it are refused',
    );
  }

  function settleLater(...outcome: Parameters<typeof write>): void {
    const tracked = writeAgain(...outcome).finally(() => settling.delete(tracked));
    settling.add(tracked);
  }

  return {
    settleLater,
    async settle(...outcome) {
      if (!(await write(...outcome))) settleLater(...outcome);
    },
    async settled() {
      while (settling.size > 0) await Promise.all(settling);
    },
  };
}

export function isNoRoom(error: unknown): error is StoreUnavailable {
  return error instanceof StoreUnavailable && error.why === 'no-room';
}
