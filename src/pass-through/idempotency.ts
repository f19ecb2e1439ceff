/**
 * Stage: a write that carries an idempotency key asks the platform at most once. The record is made before the
 * platform is asked, and outlives the process; where the outcome is not known, nobody asks again until it has lapsed.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import { writeCacheStatus } from '../outcome.js';
import type { CallReport } from '../platform/slot.js';
import { type Notes, StoreUnavailable } from '../store/port.js';
import { didNothing } from './certainly-not-executed.js';
import type { CleanAnswer } from './clean-answer.js';
import {
  type Fate,
  type IdempotencyRecord,
  idempotencyNote,
  type KeptAnswer,
  readRecord,
  writeRecord,
} from './idempotency-record.js';
import { KEPT_MAX_BYTES, type TakenAnswer } from './take-answer.js';

export interface KeyedRequest {
  readonly team: string;
  readonly key: string;
  /** Fingerprint of what is asked. */
  readonly request: string;
  /** The same of what it means, however it is spelt. */
  readonly canonical?: string;
}

/** Asks the platform. @param onTry has to be told about every try */
export type Attempt = (onTry: (report: CallReport) => void) => Promise<TakenAnswer>;

export interface Idempotency {
  /**
   * @returns the answer of `attempt`, or the first answer to this key once more
   * @throws GatewayError `idempotency_mismatch`, `idempotency_in_flight`; `not_ready` when the store is away; whatever
   *   `attempt` throws
   */
  once(
    keyed: KeyedRequest,
    attempt: Attempt,
  ): Promise<{ readonly answer: CleanAnswer; readonly replayed: boolean }>;
  /** Waits for outcomes that are still to be written down. */
  settled(): Promise<void>;
}

export interface IdempotencyOptions {
  readonly notes: Notes;
  readonly now: () => number;
  readonly logger: Logger;
  /** Longest time a call takes; after it nobody is asking any more. */
  readonly callMs: number;
}

const LIFETIME_MS = 24 * 3_600_000;
/** The store only collects garbage; the record itself says when it has lapsed. */
const NOTE_TTL_MS = LIFETIME_MS + 3_600_000;
/** Time on top of a call's own, for the outcome to be written down. */
const SETTLE_MS = 10_000;
/** Waits before an outcome that the store did not take is written again. */
const AGAIN_MS = [1000, 2000, 5000, 10_000];

export function createIdempotency(options: IdempotencyOptions): Idempotency {
  const { notes, now, logger, callMs } = options;
  const settling = new Set<Promise<void>>();

  async function once(keyed: KeyedRequest, attempt: Attempt) {
    const note = idempotencyNote(keyed.team, keyed.key);
    const owner = randomUUID();
    const { request, canonical } = keyed;
    const record: IdempotencyRecord = {
      owner,
      request,
      atMs: now(),
      fate: { state: 'open' },
      ...(canonical === undefined ? {} : { canonical }),
    };
    const earlier = await begin(note, record);
    if (earlier !== null) return { answer: replayOf(earlier, keyed), replayed: true };
    const tries: CallReport[] = [];
    const taken = await attempt((report) => tries.push(report)).catch(async (error: unknown) => {
      await settle(note, record, didNothing(error, tries) ? null : unknown(error));
      throw error;
    });
    await settle(note, record, fateOf(taken));
    return { answer: taken.answer, replayed: false };
  }

  /** @returns null when `record` is the first, else the text of the one that is there */
  async function begin(note: string, record: IdempotencyRecord): Promise<string | null> {
    const text = writeRecord(record);
    try {
      const found = await notes.create(note, text, NOTE_TTL_MS);
      if (found === null || !hasLapsed(found)) return found;
      if (await notes.replace(note, found, text, NOTE_TTL_MS)) return null;
      return await notes.create(note, text, NOTE_TTL_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (isNoRoom(error)) throw noRoom(error);
      // It may have been made all the same, and nobody will ask for it.
      behind(settleAgain(note, record, null));
      throw new GatewayError('not_ready', {
        detail: 'The store that remembers idempotency keys cannot be reached; the platform was not asked.',
        retryAfterS: 5,
        cause: error,
      });
    }
  }

  function hasLapsed(text: string): boolean {
    const record = readRecord(text);
    return record !== null && now() - record.atMs >= LIFETIME_MS;
  }

  /** @throws GatewayError for everything that cannot be given again */
  function replayOf(text: string, { request, canonical }: KeyedRequest): CleanAnswer {
    const record = readRecord(text);
    if (record === null) {
      logger.error('the record of an idempotency key cannot be read');
      throw outcomeUnknown('its record cannot be read');
    }
    const same = record.canonical === undefined ? record.request === request : record.canonical === canonical;
    if (!same) throw new GatewayError('idempotency_mismatch');
    const { fate, atMs } = record;
    if (fate.state === 'answered') return replay(fate.answer);
    if (fate.state === 'unknown') throw outcomeUnknown(fate.why);
    if (now() - atMs < callMs + SETTLE_MS) {
      throw new GatewayError('idempotency_in_flight', { retryAfterS: 1 });
    }
    throw outcomeUnknown('the gateway ended, or lost its store, before it was written down');
  }

  /** Writes down what became of it, null for nothing; what the store does not take now is written behind. */
  async function settle(note: string, record: IdempotencyRecord, fate: Fate | null): Promise<void> {
    if (!(await write(note, record, fate))) behind(settleAgain(note, record, fate));
  }

  async function settleAgain(note: string, record: IdempotencyRecord, fate: Fate | null): Promise<void> {
    for (const waitMs of AGAIN_MS) {
      await sleep(waitMs);
      if (await write(note, record, fate)) return;
    }
    logger.error(
      'the outcome of a write with an idempotency key could not be kept; repeats of it are refused',
    );
  }

  /** Never throws: whatever goes wrong here, the caller is owed the platform's answer. @returns whether it was taken */
  async function write(note: string, record: IdempotencyRecord, fate: Fate | null): Promise<boolean> {
    try {
      const after = fate === null ? null : writeRecord({ ...record, fate });
      await notes.replace(note, writeRecord(record), after, NOTE_TTL_MS);
      return true;
    } catch (error) {
      // That it was answered is small, and keeps it from being sent again.
      if (isNoRoom(error) && fate?.state === 'answered') return await write(note, record, NO_ROOM);
      logger.warn({ err: error }, 'the outcome of a write with an idempotency key could not be kept yet');
      return false;
    }
  }

  function behind(work: Promise<void>): void {
    const tracked = work.finally(() => settling.delete(tracked));
    settling.add(tracked);
  }

  return {
    once,
    async settled() {
      while (settling.size > 0) await Promise.all(settling);
    },
  };
}

const TOO_LARGE: Fate = {
  state: 'unknown',
  why: `it was answered, and the answer was larger than the ${KEPT_MAX_BYTES} bytes that are kept`,
};

const NO_ROOM: Fate = {
  state: 'unknown',
  why: 'it was answered, and the store had no room left to keep the answer',
};

function isNoRoom(error: unknown): error is StoreUnavailable {
  return error instanceof StoreUnavailable && error.why === 'no-room';
}

/** Nothing was written, and nothing will be. */
function noRoom(cause: StoreUnavailable): GatewayError {
  return new GatewayError('not_ready', {
    detail:
      'There is no room left to remember another idempotency key, so the platform was not asked. Try again later, or have redis.idempotencyMaxBytes raised; a key is remembered for 24 hours.',
    retryAfterS: 60,
    cause,
  });
}

function fateOf({ answer, whole }: TakenAnswer): Fate {
  return whole === null ? TOO_LARGE : { state: 'answered', answer: kept(answer, whole) };
}

/** Of what was thrown, what may be shown. */
function unknown(error: unknown): Fate {
  const code = error instanceof GatewayError ? error.code : 'internal_error';
  return { state: 'unknown', why: `it ended with ${code}, and the platform may have done it all the same` };
}

function outcomeUnknown(why: string): GatewayError {
  return new GatewayError('idempotency_in_flight', {
    detail: `The outcome of the first request with this idempotency key is not known: ${why}. It is not sent again. Look on the platform whether it was done; if it was not, send it with a new key.`,
  });
}

function kept({ statusCode, headers }: CleanAnswer, body: Buffer): KeptAnswer {
  // The length is that of the body as it is given again.
  const { 'content-length': _, ...others } = headers;
  const texts = Object.entries(others).map(([name, value]): [string, string] => [name, String(value)]);
  return { status: statusCode, headers: Object.fromEntries(texts), body };
}

function replay({ status, headers, body }: KeptAnswer): CleanAnswer {
  const length = status === 204 || status === 304 ? {} : { 'content-length': String(body.length) };
  return {
    statusCode: status,
    headers: { ...headers, ...length, 'idempotency-replayed': 'true', 'cache-status': REPLAYED },
    body: Readable.from(body.length === 0 ? [] : [body]),
  };
}

const REPLAYED = writeCacheStatus({
  outcome: 'replay',
  ttlS: 0,
  tier: null,
  stored: false,
  degraded: false,
  days: null,
});
