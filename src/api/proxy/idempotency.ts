/**
 * A write with an idempotency key is sent to the platform at most once. Its record is stored before the call and outlives the
 * process. While the outcome is unknown, repeats are refused until the record expires.
 */
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import type { MovableClock } from '../../lib/clock.js';
import { sleep } from '../../lib/time.js';
import { writeCacheStatus } from '../../outcome.js';
import { type Documents, StoreUnavailable } from '../../store/port.js';
import type { CallReport } from '../../telemetry/trace.js';
import type { CleanAnswer } from './clean-answer.js';
import {
  type IdempotencyOutcome,
  type IdempotencyRecord,
  idempotencyDocument,
  type KeptAnswer,
  type KeyedRequest,
  readRecord,
  writeRecord,
} from './idempotency-record.js';
import { readUpTo } from './read-up-to.js';
import { outcomeOfFailure } from './write-outcome.js';

/** Delays of the retries to store an outcome. */
const AGAIN_MS = [1000, 2000, 5000, 10_000];

const NO_ROOM: IdempotencyOutcome = {
  state: 'unknown',
  why: 'it was answered, and the store had no room left to keep the answer',
};

/** Records the outcome of a write, and retries while the store fails. */
function createOutcomeWriter({ documents, logger }: Pick<IdempotencyOptions, 'documents' | 'logger'>) {
  const settling = new Set<Promise<void>>();

  /**
   * @param record the open record
   * @param outcome null if nothing was executed: then the key is free again
   * @returns whether it was stored
   */
  async function write(
    document: string,
    record: IdempotencyRecord,
    outcome: IdempotencyOutcome | null,
  ): Promise<boolean> {
    try {
      const after = outcome === null ? null : writeRecord({ ...record, outcome });
      await documents.replace(document, writeRecord(record), after, LIFETIME_MS);
      return true;
    } catch (error) {
      // Without the answer the record is small, and still prevents a second call.
      if (isNoRoom(error) && outcome?.state === 'answered') return await write(document, record, NO_ROOM);
      logger.warn(
        { err: error },
        'could not yet record the outcome of a write with an idempotency key; retrying',
      );
      return false;
    }
  }

  /** In the background. */
  function settleLater(...outcome: Parameters<typeof write>): void {
    const writing = (async () => {
      for (const waitMs of AGAIN_MS) {
        await sleep(waitMs);
        if (await write(...outcome)) return;
      }
      logger.error(
        'could not record the outcome of a write with an idempotency key; repeats of it are refused',
      );
    })().finally(() => settling.delete(writing));
    settling.add(writing);
  }

  return {
    settleLater,
    /** Never throws: the caller must get the platform's answer. */
    async settle(...outcome: Parameters<typeof write>): Promise<void> {
      if (!(await write(...outcome))) settleLater(...outcome);
    },
    /** Waits for background retries. */
    async settled(): Promise<void> {
      while (settling.size > 0) await Promise.all(settling);
    },
  };
}

function isNoRoom(error: unknown): error is StoreUnavailable {
  return error instanceof StoreUnavailable && error.why === 'no-room';
}

// The first answer to an idempotency key: recording and replaying it.

/** A third more when stored, as base64. */
const KEPT_MAX_BYTES = 1_048_576;

const TOO_LARGE: IdempotencyOutcome = {
  state: 'unknown',
  why: `it was answered, and the answer was larger than the ${KEPT_MAX_BYTES} bytes that are kept`,
};

interface TakenAnswer {
  /** To be sent to the caller. */
  readonly answer: CleanAnswer;
  readonly outcome: IdempotencyOutcome;
}

/**
 * Reads an answer that is small enough to be recorded; a larger one is streamed.
 * @throws the stream's error if it ends early
 */
export async function takeAnswer(answer: CleanAnswer, maxBytes = KEPT_MAX_BYTES): Promise<TakenAnswer> {
  const letGo = () => answer.body.destroy();
  const { whole, rest } = await readUpTo(answer.body, maxBytes, { letGo });
  if (whole === null) return { answer: { ...answer, body: rest }, outcome: TOO_LARGE };
  return {
    answer: { ...answer, body: bodyOf(whole) },
    outcome: { state: 'answered', answer: kept(answer, whole) },
  };
}

function bodyOf(whole: Buffer): Readable {
  return Readable.from(whole.length === 0 ? [] : [whole]);
}

const REPLAYED = writeCacheStatus({
  outcome: 'replay',
  ttlS: 0,
  tier: null,
  stored: false,
  degraded: false,
  days: null,
});

function kept({ statusCode, headers }: CleanAnswer, body: Buffer): KeptAnswer {
  // The length of the replayed body.
  const { 'content-length': _, ...others } = headers;
  const texts = Object.entries(others).map(([name, value]): [string, string] => [name, String(value)]);
  return { status: statusCode, headers: Object.fromEntries(texts), body };
}

function replayAnswer({ status, headers, body }: KeptAnswer): CleanAnswer {
  const length = status === 204 || status === 304 ? {} : { 'content-length': String(body.length) };
  return {
    statusCode: status,
    headers: { ...headers, ...length, 'idempotency-replayed': 'true', 'cache-status': REPLAYED },
    body: bodyOf(body),
  };
}

interface IdempotencyOptions {
  readonly documents: Documents;
  readonly clock: Pick<MovableClock, 'now' | 'offsetMs'>;
  readonly logger: Logger;
  readonly callMs: number;
}

/** Measured by the store, because clocks of machines may differ. */
const LIFETIME_MS = 24 * 3_600_000;
const SETTLE_MS = 10_000;

export function createIdempotency(options: IdempotencyOptions) {
  const writer = createOutcomeWriter(options);
  return {
    /**
     * @param attempt calls the platform; must call `onTry` for each try
     * @returns the answer of `attempt`, or the recorded one
     * @throws GatewayError `idempotency_mismatch`, `idempotency_in_flight`; `not_ready` without the store; errors of `attempt`
     */
    async once(
      keyed: KeyedRequest,
      attempt: (onTry: (report: CallReport) => void) => Promise<TakenAnswer>,
    ): Promise<{ readonly answer: CleanAnswer; readonly replayed: boolean }> {
      const document = idempotencyDocument(keyed.team, keyed.key);
      const record = openRecord(keyed, options.clock.now());
      const earlier = await begin(document, record, writer, options);
      if (earlier !== null) return { answer: answerAgain(earlier, keyed, options), replayed: true };
      const tries: CallReport[] = [];
      const { answer, outcome } = await attempt((report) => tries.push(report)).catch(
        async (error: unknown) => {
          await writer.settle(document, record, unknownOutcome(error, tries));
          throw error;
        },
      );
      await writer.settle(document, record, outcome);
      return { answer, replayed: false };
    },
    settled: writer.settled,
  };
}

function openRecord({ request, canonical }: KeyedRequest, atMs: number): IdempotencyRecord {
  const asked = canonical === undefined ? { request } : { request, canonical };
  return { owner: randomId(), ...asked, atMs, outcome: { state: 'open' } };
}

/** @returns null if `record` is the first, else the stored text */
async function begin(
  document: string,
  record: IdempotencyRecord,
  writer: ReturnType<typeof createOutcomeWriter>,
  { documents, clock }: IdempotencyOptions,
): Promise<string | null> {
  const text = writeRecord(record);
  try {
    const found = await documents.create(document, text, LIFETIME_MS);
    if (found === null || !hasLapsed(found, clock)) return found;
    if (await documents.replace(document, found, text, LIFETIME_MS)) return null;
    return await documents.create(document, text, LIFETIME_MS);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (isNoRoom(error)) throw noRoom(error);
    // The record may have been created, but this request will not use it.
    writer.settleLater(document, record, null);
    throw new GatewayError('not_ready', {
      detail: 'The store of idempotency keys cannot be reached. The platform was not called.',
      retryAfterS: 5,
      cause: error,
    });
  }
}

/** For a moved test clock, which the store does not know. */
function hasLapsed(text: string, { now, offsetMs }: IdempotencyOptions['clock']): boolean {
  if (offsetMs === 0) return false;
  const record = readRecord(text);
  return record !== null && now() - record.atMs >= LIFETIME_MS;
}

/** @throws GatewayError unless an answer is recorded for the same request */
function answerAgain(
  text: string,
  { request, canonical }: KeyedRequest,
  { logger, clock, callMs }: IdempotencyOptions,
): CleanAnswer {
  const record = readRecord(text);
  if (record === null) {
    logger.error('the record of an idempotency key is unreadable');
    throw outcomeUnknown('its record is unreadable');
  }
  const same = record.canonical === undefined ? record.request === request : record.canonical === canonical;
  if (!same) throw new GatewayError('idempotency_mismatch');
  const { outcome, atMs } = record;
  if (outcome.state === 'answered') return replayAnswer(outcome.answer);
  if (outcome.state === 'unknown') throw outcomeUnknown(outcome.why);
  if (clock.now() - atMs < callMs + SETTLE_MS)
    throw new GatewayError('idempotency_in_flight', { retryAfterS: 1 });
  throw outcomeUnknown('the gateway stopped or lost its store before recording it');
}

function noRoom(cause: StoreUnavailable): GatewayError {
  return new GatewayError('not_ready', {
    detail: 'The store has no room for another idempotency key. The platform was not called.',
    help: 'Repeat after 1 min (keys are kept for 24 hours), or ask your operator to raise redis.idempotencyMaxBytes or free the disk of the embedded store.',
    retryAfterS: 60,
    cause,
  });
}

function unknownOutcome(error: unknown, tries: readonly CallReport[]): IdempotencyOutcome | null {
  const outcome = outcomeOfFailure(error, tries);
  if (!('unknown' in outcome)) return null;
  return { state: 'unknown', why: `${outcome.unknown}, and the platform may have executed it` };
}

function outcomeUnknown(why: string): GatewayError {
  return new GatewayError('idempotency_in_flight', {
    detail: `The outcome of the first request with this idempotency key is unknown: ${why}. It is not sent again.`,
    help: 'Check the platform, and send the request with a new key if it was not executed.',
  });
}
