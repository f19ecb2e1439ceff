/**
 * Records that end. Each stands beside an entry in an index by the time of its end, made and removed in the same
 * transaction, so that what has ended is found without looking at what has not.
 */
import type { Static, TSchema } from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { type Repeated, repeat } from '../../lib/repeat.js';
import type { StoreLog } from '../refused.js';
import { fromBytes, nameKey, numberKey, toBytes } from './records.js';
import type { Draft, Table } from './table.js';

const ENDS = 'e';
const TIME_BYTES = 8;
const EMPTY = Buffer.alloc(0);

export interface Lapsing<V = Buffer> {
  readonly value: V;
  readonly endsAtMs: number;
}

/** What becomes of a record, and the caller's result. `write` absent: nothing changes. Null deletes it. */
interface Decision<T, V = Buffer> {
  readonly result: T;
  readonly write?: Lapsing<V> | null;
}

export interface LapsingRecords {
  /** Milliseconds, in the time that the ends are given in. */
  now(): number;
  /** @returns what is stored, unless there is none or it has ended */
  alive(stored: Buffer | null | undefined): Lapsing | null;
  /** Writes a record and its place in the index of ends. */
  set(draft: Draft, key: Buffer, next: Lapsing | null): void;
  /** @returns the record unless there is none, or it has ended */
  get(key: Buffer): Lapsing | null;
  /** Changes one record by what it is. @throws StoreUnavailable */
  change<T>(key: Buffer, decide: (found: Lapsing | null) => Decision<T>): Promise<T>;
  /** Removes some of what has ended. @returns how many; fewer than `limit`: there are no more */
  sweep(limit: number): Promise<number>;
}

/** The records of a table as values of one form, by their names. */
export function createLapsingTable<F extends TSchema>(records: LapsingRecords, table: string, form: F) {
  type V = Static<F>;
  const read = ({ value }: Lapsing): V => fromBytes(form, value);
  return {
    get(name: string): V | null {
      const found = records.get(nameKey(table, name));
      return found === null ? null : read(found);
    },
    change: <T>(name: string, decide: (found: Lapsing<V> | null) => Decision<T, V>): Promise<T> =>
      records.change(nameKey(table, name), (found) => {
        const { result, write } = decide(found && { ...found, value: read(found) });
        if (write === undefined) return { result };
        return { result, write: write && { ...write, value: toBytes(write.value) } };
      }),
    lasting: (value: V, ttlMs: number): Lapsing<V> => ({ value, endsAtMs: records.now() + ttlMs }),
  };
}

/** @param now what the ends are compared with */
export function createLapsingRecords(table: Table, now: () => number): LapsingRecords {
  const alive: LapsingRecords['alive'] = (stored) => {
    const lapsing = stored == null ? null : decode(stored);
    return lapsing !== null && now() < lapsing.endsAtMs ? lapsing : null;
  };
  return {
    now,
    alive,
    set: setLapsing,
    get: (key) => alive(table.read((view) => view.get(key))),
    change: (key, decide) =>
      table.change((draft) => {
        const { result, write } = decide(alive(draft.get(key)));
        if (write !== undefined) setLapsing(draft, key, write);
        return result;
      }),
    sweep: (limit) =>
      table.change((draft) => {
        const to = numberKey(ENDS, Math.max(0, Math.floor(now())));
        const over = draft.range({ from: numberKey(ENDS, 0), to }, limit);
        for (const { key: index } of over) {
          const key = index.subarray(ENDS.length + TIME_BYTES);
          const stored = draft.get(key);
          // The record may have been given another end since.
          if (stored !== null && endKey(key, decode(stored).endsAtMs).equals(index))
            setLapsing(draft, key, null);
          else draft.set(index, null);
        }
        return over.length;
      }),
  };
}

function setLapsing(draft: Draft, key: Buffer, next: Lapsing | null): void {
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
/** Small, so that no write waits long for one of a sweep; as many as it needs. */
const SWEPT_AT_ONCE = 200;

/** Removes what has ended, every few seconds. Who is to read is told that it has ended without it. */
export function startSweep(records: LapsingRecords, logger: StoreLog): Pick<Repeated, 'stop'> {
  return repeat(SWEEP_EVERY_MS, async (isStopped) => {
    try {
      while (!isStopped() && (await records.sweep(SWEPT_AT_ONCE)) === SWEPT_AT_ONCE);
    } catch (error) {
      logger.warn({ err: error }, 'records that have ended could not be removed');
    }
  });
}

export interface Slot<V> {
  readonly value: V;
  readonly endsAtMs: number;
}

/** With more values than this, those that have lapsed are looked for and dropped. */
const SWEEP_AT_LEAST_ABOVE = 1_024;

/** Values that lapse, by time that never jumps. */
export interface LapsingMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, ttlMs: number): void;
  /** Leaves the time at which it lapses; does nothing where there is none. */
  replace(key: string, value: V): void;
  delete(key: string): void;
  /** Those not lapsed. */
  entries(): [key: string, value: V][];
}

export function createLapsingMap<V>(
  clock: Pick<Clock, 'monotonicMs'>,
  slots = new Map<string, Slot<V>>(),
): LapsingMap<V> {
  let sweepAbove = SWEEP_AT_LEAST_ABOVE;

  const live = (slot: Slot<V> | undefined) =>
    slot !== undefined && clock.monotonicMs() < slot.endsAtMs ? slot : undefined;

  function sweep(): void {
    if (slots.size <= sweepAbove) return;
    for (const [key, slot] of slots) if (live(slot) === undefined) slots.delete(key);
    sweepAbove = Math.max(SWEEP_AT_LEAST_ABOVE, 2 * slots.size);
  }

  return {
    get: (key) => live(slots.get(key))?.value,
    set(key, value, ttlMs) {
      slots.set(key, { value, endsAtMs: clock.monotonicMs() + ttlMs });
      sweep();
    },
    replace(key, value) {
      const slot = live(slots.get(key));
      if (slot !== undefined) slots.set(key, { ...slot, value });
    },
    delete: (key) => void slots.delete(key),
    entries: () =>
      [...slots].flatMap(([key, slot]) => (live(slot) ? [[key, slot.value] as [string, V]] : [])),
  };
}
