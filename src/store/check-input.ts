/** What both adapters refuse of a call, before anything is done. */
import { type ChargeAsk, NOTE_MAX_BYTES, OPEN_CHARGES_MAX } from './charges-port.js';
import {
  type CachePlace,
  type CounterAdd,
  type CounterRaise,
  DOCUMENT_MAX_BYTES,
  type Present,
  StoreUnavailable,
} from './port.js';

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

/** @throws RangeError when a member is not as the port says */
export function checkCharge({ purse, amount, max, note }: ChargeAsk): void {
  if (purse.includes('\n')) throw new RangeError('the name of a purse has a line break');
  for (const number of [amount, max]) {
    checkInteger(number);
    if (number < 0) throw new RangeError(`less than 0: ${number}`);
  }
  checkNote(note);
}

/** @throws RangeError when it is longer than a note may be */
export function checkNote(note: string): void {
  const bytes = Buffer.byteLength(note);
  if (bytes > NOTE_MAX_BYTES) throw new RangeError(`a note of ${bytes} bytes; ${NOTE_MAX_BYTES} are allowed`);
}

/** The order of a list. */
export function byId(one: Present, other: Present): number {
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}

/** What both adapters say of one charge too many. */
export function tooManyOpen(): StoreUnavailable {
  return new StoreUnavailable(`${OPEN_CHARGES_MAX} charges are open, and no more are taken`, 'no-room');
}

/** Places, or what is to be written there, of one group. */
export interface CacheGroup<T extends CachePlace> {
  readonly series: string;
  readonly group: string;
  readonly members: T[];
}

/** Puts together what is of one group, in the order of the first of each. */
export function byGroup<T extends CachePlace>(members: readonly T[]): CacheGroup<T>[] {
  const groups = new Map<string, CacheGroup<T>>();
  let last: CacheGroup<T> | undefined;
  for (const member of members) {
    const { series, group } = member;
    // Most come in order, and share their texts.
    if (last !== undefined && last.group === group && last.series === series) {
      last.members.push(member);
      continue;
    }
    const id = `${series.length}:${series}:${group}`;
    const found = groups.get(id);
    last = found ?? { series, group, members: [] };
    last.members.push(member);
    if (found === undefined) groups.set(id, last);
  }
  return [...groups.values()];
}
