import type { CounterAdd, CounterRaise } from './port.js';

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
