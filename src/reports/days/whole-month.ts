/** All of a month, as the sweep and erasures read and change it: under one stamp. */
import { allPages } from '../../lib/all-pages.js';
import type { Told } from '../../store/changes-port.js';
import type { DaysStore, MonthPlace, WholeMonth as StoredWhole } from '../../store/days-port.js';
import type { Days } from './days.js';
import type { OpenMonth } from './note-fetch.js';
import type { KnownMonth } from './open-months.js';
import { decodePart, type Part } from './part.js';
import { monthWrite, partsShown } from './write-months.js';

/** The oldest first. @throws StoreUnavailable */
export const monthsOf = (store: Pick<DaysStore, 'months'>): AsyncGenerator<MonthPlace> =>
  allPages<MonthPlace>((after, limit) => store.months(after, limit));

/** @returns 31 ISO days, also for shorter months */
export function daysOfMonth(month: string): readonly string[] {
  return Array.from({ length: 31 }, (_, at) => `${month}-${String(at + 1).padStart(2, '0')}`);
}

/** A month with all that is stored of it. */
export interface WholeMonth extends KnownMonth {
  readonly place: MonthPlace;
  readonly stored: StoredWhole;
}

/** @returns null for a month of another release */
export function openWhole({ months }: Days, place: MonthPlace, stored: StoredWhole): WholeMonth | null {
  const known = months.open(place, stored);
  return known && { ...known, place, stored };
}

/** Of one call of the store: a larger one would take longer than it may. */
const CALL_BYTES = 1_048_576;

/** @returns those that can be read. @throws StoreUnavailable */
export async function readParts(
  { store }: Days,
  { place, stored }: WholeMonth,
  names: Iterable<string>,
): Promise<ReadonlyMap<string, Part>> {
  const parts = new Map<string, Part>();
  let [wanted, bytes]: [string[], number] = [[], 0];
  const read = async () => {
    const found = wanted.length === 0 ? NO_PARTS : await store.parts(place, wanted);
    for (const [name, stored] of found) {
      const part = decodePart(stored);
      if (part !== null) parts.set(name, part);
    }
    [wanted, bytes] = [[], 0];
  };
  for (const name of names) {
    wanted.push(name);
    bytes += stored.parts.get(name) ?? 0;
    if (bytes >= CALL_BYTES) await read();
  }
  await read();
  return parts;
}

const NO_PARTS: ReadonlyMap<string, Buffer> = new Map();

/** @returns names of stored parts that neither the index nor earlier revisions name */
export function unnamedParts({ stored }: WholeMonth, month: OpenMonth): string[] {
  const named = new Set([...partsShown(month), ...[...month.before.values()].flat().map(({ part }) => part)]);
  return [...stored.parts.keys()].filter((name) => !named.has(name));
}

interface Rewriting {
  readonly added?: ReadonlyMap<string, Buffer>;
  readonly dropped: readonly string[];
  /** Milliseconds until the month ends, if history records nothing of it. */
  readonly endsInMs?: number;
  /** For the feed of changes. */
  readonly told?: Told | null;
}

/** @returns whether it was written: not if another writer was faster. @throws StoreUnavailable */
export async function rewrite(
  { store, months }: Pick<Days, 'store' | 'months'>,
  whole: WholeMonth,
  after: OpenMonth,
  { added = new Map(), dropped, endsInMs, told = null }: Rewriting,
): Promise<boolean> {
  if (after.days.size === 0) return await removeWhole({ store, months }, whole, told);
  const write = monthWrite(whole.place, whole, after, {
    parts: added,
    dropped,
    order: 0,
    ttlMs: endsInMs ?? 1,
    told,
  });
  months.forget(whole.place);
  const [present] = await store.write([
    {
      ...write,
      ...(endsInMs !== undefined && write.ttlMs !== null && { isEnding: true }),
      ...(added.size === 0 && { isRemoval: true }),
    },
  ]);
  return present === null;
}

/** Removes all of a month. @returns whether it was removed: not if another writer was faster. @throws StoreUnavailable */
export function removeWhole(
  { store, months }: Pick<Days, 'store' | 'months'>,
  { place, stamp }: Pick<WholeMonth, 'place' | 'stamp'>,
  told: Told | null = null,
): Promise<boolean> {
  months.forget(place);
  return told === null ? store.remove(place, stamp) : store.remove(place, stamp, told);
}
