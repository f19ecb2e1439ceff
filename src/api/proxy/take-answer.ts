/** Reads the platform's answer to a write with an idempotency key, as far as it is small enough to be kept. */
import { Readable } from 'node:stream';
import type { CleanAnswer } from './clean-answer.js';

/** In a note a third more, as base64. */
export const KEPT_MAX_BYTES = 1_048_576;

export interface TakenAnswer {
  readonly answer: CleanAnswer;
  /** The whole body; null when it is larger than what is kept, and still to be streamed. */
  readonly whole: Buffer | null;
}

/** @throws the stream's error when it breaks off before its end */
export async function takeAnswer(answer: CleanAnswer, maxBytes: number): Promise<TakenAnswer> {
  const pieces = answer.body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const taken: Buffer[] = [];
  let size = 0;
  while (size <= maxBytes) {
    const next = await pieces.next();
    if (next.done) {
      const whole = Buffer.concat(taken);
      return { answer: { ...answer, body: Readable.from(whole.length === 0 ? [] : [whole]) }, whole };
    }
    taken.push(next.value);
    size += next.value.length;
  }
  return { answer: { ...answer, body: Readable.from(continued(taken, pieces, answer.body)) }, whole: null };
}

async function* continued(
  taken: readonly Buffer[],
  pieces: AsyncIterator<Buffer>,
  body: Readable,
): AsyncGenerator<Buffer> {
  try {
    yield* taken;
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
  } finally {
    body.destroy();
  }
}
