/** Records that expire. An index by expiry, changed in the same transaction, finds the expired ones. */
import type { Clock } from '../../lib/clock.js';
import { type Repeated, repeat } from '../../lib/repeat.js';
import type { StoreLog } from '../refused.js';
import { numberKey } from './records.js';
import type { Draft, Table } from './table.js';

const ENDS = 'e';
const TIME_BYTES = 8;
const EMPTY = Buffer.alloc(0);

export interface Lapsing<V = Buffer> {
  readonly value: V;
  readonly endsAtMs: number;
}

/** `write` absent: no change; null deletes. */
interface Decision<T> {
  readonly result: T;
  readonly write?: Lapsing | null;
}

export type LapsingRecords = ReturnType<typeof createLapsingRecords>;

/** @param now milliseconds, on the time scale of the ends */
export function createLapsingRecords(table: Table, now: () => number) {
  /** Null if it is absent or expired. */
  function alive(stored: Buffer | null): Lapsing | null {
    const lapsing = stored === null ? null : decode(stored);
    return lapsing !== null && now() < lapsing.endsAtMs ? lapsing : null;
  }
  return {
    now,
    alive,
    get: (key: Buffer) => alive(table.read((view) => view.get(key))),
    /** @throws StoreUnavailable */
    change: <T>(key: Buffer, decide: (found: Lapsing | null) => Decision<T>): Promise<T> =>
      table.change((draft) => {
        const { result, write } = decide(alive(draft.get(key)));
        if (write !== undefined) setLapsing(draft, key, write);
        return result;
      }),
    /** Removes expired records. @returns how many */
    sweep: (limit: number) =>
      table.change((draft) => {
        const to = numberKey(ENDS, Math.max(0, Math.floor(now())));
        const over = draft.range({ from: numberKey(ENDS, 0), to }, limit);
        for (const { key: index } of over) {
          const key = index.subarray(ENDS.length + TIME_BYTES);
          const stored = draft.get(key);
          // The record may have another end by now.
          if (stored !== null && endKey(key, decode(stored).endsAtMs).equals(index))
            setLapsing(draft, key, null);
          else draft.set(index, null);
        }
        return over.length;
      }),
  };
}

/** Writes a record, and its entry in the index. */
export function setLapsing(draft: Draft, key: Buffer, next: Lapsing | null): void {
  const stored = draft.get(key);
  if (stored !== null) draft.set(endKey(key, decode(stored).endsAtMs), null);
  if (next !== null) draft.set(endKey(key, next.endsAtMs), EMPTY);
  if (stored !== null || next !== null) draft.set(key, next === null ? null : encode(next));
}

function endKey(key: Buffer, endsAtMs: number): Buffer {
  return numberKey(ENDS, Math.max(0, Math.ceil(endsAtMs)), key);
}

function encode({ value, endsAtMs }: Lapsing): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES + value.length);
  bytes.writeDoubleBE(endsAtMs);
  value.copy(bytes, TIME_BYTES);
  return bytes;
}

function decode(bytes: Buffer): Lapsing {
  return { endsAtMs: bytes.readDoubleBE(), value: bytes.subarray(TIME_BYTES) };
}

const SWEEP_EVERY_MS = 5_000;
/** Small, so that no write waits long. */
const SWEPT_AT_ONCE = 200;

/** Removes expired records every few seconds. */
export function startSweep(records: LapsingRecords, logger: StoreLog): Pick<Repeated, 'stop'> {
  return repeat(SWEEP_EVERY_MS, async (isStopped) => {
    try {
      while (!isStopped() && (await records.sweep(SWEPT_AT_ONCE)) === SWEPT_AT_ONCE);
    } catch (error) {
      logger.warn({ err: error }, 'failed to remove expired records');
    }
  });
}

/** Beyond this size, expired values are removed. */
const SWEEP_AT_LEAST_ABOVE = 1_024;

/** Values in memory that expire, by monotonic time. */
export function createLapsingMap<V>(
  clock: Pick<Clock, 'monotonicMs'>,
  slots = new Map<string, Lapsing<V>>(),
) {
  let sweepAbove = SWEEP_AT_LEAST_ABOVE;

  const live = (slot: Lapsing<V> | undefined) =>
    slot !== undefined && clock.monotonicMs() < slot.endsAtMs ? slot : undefined;

  function sweep(): void {
    if (slots.size <= sweepAbove) return;
    for (const [key, slot] of slots) if (live(slot) === undefined) slots.delete(key);
    sweepAbove = Math.max(SWEEP_AT_LEAST_ABOVE, 2 * slots.size);
  }

  return {
    get: (key: string) => live(slots.get(key))?.value,
    set(key: string, value: V, ttlMs: number): void {
      slots.set(key, { value, endsAtMs: clock.monotonicMs() + ttlMs });
      sweep();
    },
    /** Keeps the expiry; no effect on an absent one. */
    replace(key: string, value: V): void {
      const slot = live(slots.get(key));
      if (slot !== undefined) slots.set(key, { ...slot, value });
    },
    delete: (key: string) => void slots.delete(key),
    entries: () =>
      [...slots].flatMap(([key, slot]) => (live(slot) ? [[key, slot.value] as [string, V]] : [])),
  };
}
