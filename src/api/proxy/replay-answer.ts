/** The first answer to an idempotency key: as it is kept, and as it is given again. Pure. */
import { Readable } from 'node:stream';
import { writeCacheStatus } from '../../outcome.js';
import type { CleanAnswer } from './clean-answer.js';
import type { IdempotencyOutcome, KeptAnswer } from './idempotency-record.js';
import { KEPT_MAX_BYTES, type TakenAnswer } from './take-answer.js';

const TOO_LARGE: IdempotencyOutcome = {
  state: 'unknown',
  why: `it was answered, and the answer was larger than the ${KEPT_MAX_BYTES} bytes that are kept`,
};

const REPLAYED = writeCacheStatus({
  outcome: 'replay',
  ttlS: 0,
  tier: null,
  stored: false,
  degraded: false,
  days: null,
});

export function outcomeOf({ answer, whole }: TakenAnswer): IdempotencyOutcome {
  return whole === null ? TOO_LARGE : { state: 'answered', answer: kept(answer, whole) };
}

function kept({ statusCode, headers }: CleanAnswer, body: Buffer): KeptAnswer {
  // The length is that of the body as it is given again.
  const { 'content-length': _, ...others } = headers;
  const texts = Object.entries(others).map(([name, value]): [string, string] => [name, String(value)]);
  return { status: statusCode, headers: Object.fromEntries(texts), body };
}

export function replayAnswer({ status, headers, body }: KeptAnswer): CleanAnswer {
  const length = status === 204 || status === 304 ? {} : { 'content-length': String(body.length) };
  return {
    statusCode: status,
    headers: { ...headers, ...length, 'idempotency-replayed': 'true', 'cache-status': REPLAYED },
    body: Readable.from(body.length === 0 ? [] : [body]),
  };
}
