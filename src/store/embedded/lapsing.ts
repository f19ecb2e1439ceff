/**
 * Records that end. Each stands beside an entry in an index by the time of its end, made and removed in the same
 * transaction, so that what has ended is found without looking at what has not.
 */
import type { Static, TSchema } from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { type Repeated, repeat } from '../../lib/repeat.js';
import type { StoreLog } from '../refused.js';
import { createTurns } from '../turns.js';
import type { Environment, RecordWrite, StoredRecord } from './environment.js';
import { fromBytes, nameKey, numberKey, toBytes } from './records.js';

const ENDS = 'e';
const TIME_BYTES = 8;
const EMPTY = Buffer.alloc(0);

export interface Lapsing<V = Buffer> {
  readonly value: V;
  readonly endsAtMs: number;
}

/** What becomes of a record, and what is told of it. `write` absent: nothing changes. Null deletes it. */
interface Decision<T, V = Buffer> {
  readonly result: T;
  readonly write?: Lapsing<V> | null;
}

export interface LapsingRecords {
  /** Milliseconds, in the time that the ends are given in. */
  now(): number;
  /** @returns what is stored, unless there is none or it has ended */
  alive(stored: Buffer | null | undefined): Lapsing | null;
  /** @returns the record unless there is none, or it has ended */
  get(key: Buffer): Lapsing | null;
  /** @returns what is to be written for what is stored to become `next`, in one transaction */
  writes(key: Buffer, stored: Buffer | null, next: Lapsing | null): RecordWrite[];
  /**
   * Changes one record by what it is. `decide` is asked again when a write that was late has changed it meanwhile.
   * @throws StoreUnavailable
   */
  change<T>(key: Buffer, decide: (found: Lapsing | null) => Decision<T>): Promise<T>;
  /** Removes some of what has ended. @returns how many; fewer than `most`: there are no more */
  sweep(most: number): Promise<number>;
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
export function createLapsingRecords(
  environment: Pick<Environment, 'read' | 'write'>,
  now: () => number,
): LapsingRecords {
  const turns = createTurns();

  const alive: LapsingRecords['alive'] = (stored) => {
    const lapsing = stored == null ? null : decode(stored);
    return lapsing !== null && now() < lapsing.endsAtMs ? lapsing : null;
  };

  async function attempt<T>(key: Buffer, decide: (found: Lapsing | null) => Decision<T>): Promise<T> {
    for (;;) {
      const stored = environment.read((view) => view.get(key));
      const { result, write } = decide(alive(stored?.value));
      if (write === undefined) return result;
      const condition = { key, stamp: stored?.stamp ?? 0 };
      if (await environment.write(condition, recordWrites(key, stored?.value ?? null, write))) return result;
    }
  }

  /** Not under a condition of the index: the record may have been given another end since. */
  async function remove(index: StoredRecord): Promise<void> {
    const key = index.key.subarray(ENDS.length + TIME_BYTES);
    const stored = environment.read((view) => view.get(key));
    const stale = stored === null || !endKey(key, decode(stored.value).endsAtMs).equals(index.key);
    if (stale) await environment.write(null, [{ key: index.key, value: null }]);
    else await environment.write({ key, stamp: stored.stamp }, recordWrites(key, stored.value, null));
  }

  return {
    now,
    alive,
    get: (key) => alive(environment.read((view) => view.get(key))?.value),
    writes: recordWrites,
    // One at a time: they would only be in each other's way.
    change: (key, decide) => turns(key.toString('latin1'), () => attempt(key, decide)),
    async sweep(most) {
      const to = numberKey(ENDS, Math.max(0, Math.floor(now())));
      const over = environment.read((view) => view.range({ from: numberKey(ENDS, 0), to, limit: most }));
      await Promise.all(over.map(remove));
      return over.length;
    },
  };
}

function recordWrites(key: Buffer, stored: Buffer | null, next: Lapsing | null): RecordWrite[] {
  const writes: RecordWrite[] = [];
  if (stored !== null) writes.push({ key: endKey(key, decode(stored).endsAtMs), value: null });
  if (next !== null) writes.push({ key: endKey(key, next.endsAtMs), value: EMPTY });
  if (stored !== null || next !== null) writes.push({ key, value: next === null ? null : encode(next) });
  return writes;
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
