/** What both adapters refuse of a call, before anything is done. */
import { type CounterAdd, type CounterRaise, DOCUMENT_MAX_BYTES } from './port.js';

/**
 * A lifetime in whole milliseconds, rounded down.
 * @throws RangeError when it is not a finite number, or less than `least`: what has no end must not be stored.
 */
export function wholeMs(ms: number, least = Number.NEGATIVE_INFINITY): number {
  if (!Number.isFinite(ms) || ms < least) throw new RangeError(`not a lifetime in milliseconds: ${ms}`);
  return Math.floor(ms);
}

/** How long a batch is remembered, so that its repetition does nothing. */
export const BATCH_MEMORY_MS = 10 * 60_000;

/** @throws RangeError when a number is not a safe integer */
export function checkBatch(adds: readonly CounterAdd[], raises: readonly CounterRaise[]): void {
  for (const { by } of adds) checkInteger(by);
  for (const { to } of raises) checkInteger(to);
}

function checkInteger(number: number): void {
  if (!Number.isSafeInteger(number)) throw new RangeError(`not a safe integer: ${number}`);
}

/** @throws RangeError when the text is longer than a document may be */
export function checkDocument(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > DOCUMENT_MAX_BYTES)
    throw new RangeError(`a document of ${bytes} bytes; ${DOCUMENT_MAX_BYTES} are allowed`);
}
