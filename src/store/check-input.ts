/** Checks of arguments, shared by both stores. */
import { type ChargeAsk, NOTE_MAX_BYTES, OPEN_CHARGES_MAX } from './charges-port.js';
import {
  type CounterAdd,
  type CounterRaise,
  DOCUMENT_MAX_BYTES,
  type Lifetime,
  type Present,
  StoreUnavailable,
} from './port.js';

/** @returns a lifetime in whole milliseconds, rounded down. @throws RangeError if it is not finite, or below `least` */
export function wholeMs(ms: number, least = Number.NEGATIVE_INFINITY): number {
  if (!Number.isFinite(ms) || ms < least) throw new RangeError(`not a lifetime in milliseconds: ${ms}`);
  return Math.floor(ms);
}

/** @returns the version of a cache entry, rounded down. @throws RangeError unless it is from 0 to 2^48 - 1 */
export function wholeVersion(version: number): number {
  if (!(version >= 0 && version < 2 ** 48)) throw new RangeError(`not a version of an entry: ${version}`);
  return Math.floor(version);
}

/** How long a batch is remembered, so that a repeated one has no effect. */
export const BATCH_MEMORY_MS = 10 * 60_000;

/** @returns the lifetime of each group, in whole milliseconds. @throws RangeError */
export function checkBatch(
  adds: readonly CounterAdd[],
  raises: readonly CounterRaise[],
  ttlMs: Lifetime,
): ReadonlyMap<string, number> {
  for (const { by } of adds) checkInteger(by);
  for (const { to } of raises) checkInteger(to);
  const lifetimes = new Map<string, number>();
  for (const { group } of [...adds, ...raises])
    if (!lifetimes.has(group))
      lifetimes.set(group, wholeMs(typeof ttlMs === 'number' ? ttlMs : ttlMs(group), 1));
  return lifetimes;
}

function checkInteger(number: number): void {
  if (!Number.isSafeInteger(number)) throw new RangeError(`not a safe integer: ${number}`);
}

export function checkDocument(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > DOCUMENT_MAX_BYTES)
    throw new RangeError(`a document of ${bytes} bytes; ${DOCUMENT_MAX_BYTES} are allowed`);
}

export function checkCharge({ purse, amount, max, note }: ChargeAsk): void {
  if (purse.includes('\n')) throw new RangeError('the name of a purse has a line break');
  for (const number of [amount, max]) {
    checkInteger(number);
    if (number < 0) throw new RangeError(`less than 0: ${number}`);
  }
  checkNote(note);
}

export function checkNote(note: string): void {
  const bytes = Buffer.byteLength(note);
  if (bytes > NOTE_MAX_BYTES) throw new RangeError(`a note of ${bytes} bytes; ${NOTE_MAX_BYTES} are allowed`);
}

export function byId(one: Present, other: Present): number {
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}

export function tooManyOpen(): StoreUnavailable {
  return new StoreUnavailable(`${OPEN_CHARGES_MAX} charges are open, and no more are taken`, 'no-room');
}
