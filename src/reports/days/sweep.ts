/** Removes stored days: of erased accounts, past retention, beyond the size limit; and parts that nothing names. */
import type { Logger } from 'pino';
import { turn } from '../../lib/time.js';
import type { DaysStore, MonthPlace } from '../../store/days-port.js';
import type { Erasures, KeptAccounts } from '../history/erasures.js';
import type { Revision } from '../history/revision.js';
import { isoDay } from '../query/days.js';
import type { Days } from './days.js';
import { NO_DAY } from './month.js';
import { type OpenMonth, revisionsOf } from './note-fetch.js';
import { type KnownMonth, placeName } from './open-months.js';
import { decodePart, nameOf, type Part } from './part.js';
import { monthWrite, partsShown } from './write-months.js';

const AT_ONCE = 100;

/** The oldest first. @throws StoreUnavailable */
export async function* monthsOf(store: Pick<DaysStore, 'months'>): AsyncGenerator<MonthPlace> {
  for (let last: MonthPlace | null = null; ; ) {
    const page: readonly MonthPlace[] = await store.months(last, AT_ONCE);
    yield* page;
    last = page.at(-1) ?? last;
    if (page.length < AT_ONCE) return;
  }
}

/** @returns 31 ISO days, also for shorter months */
export function daysOfMonth(month: string): readonly string[] {
  return Array.from({ length: 31 }, (_, at) => `${month}-${String(at + 1).padStart(2, '0')}`);
}

interface EraseOptions {
  readonly days: Days;
  readonly isErased: Erasures['isErased'];
}

/**
 * Removes the data of erased accounts, which is hidden already (erasures.ts). Looks at all days: accounts that reports name are in
 * the index, accounts of rows only in the parts.
 * @returns the number of affected days
 * @throws StoreUnavailable
 */
export async function eraseDays(options: EraseOptions, isStopped: () => boolean): Promise<number> {
  let count = 0;
  for await (const place of monthsOf(options.days.store)) {
    if (isStopped()) return count;
    count += await eraseMonth(options, place);
    // Requests for reports go first.
    await turn();
  }
  return count;
}

/** A month with all that is stored of it. */
interface WholeMonth extends KnownMonth {
  readonly parts: ReadonlyMap<string, number>;
}

/** @returns null if it is gone, or of another release */
async function readWhole({ store, months }: Days, place: MonthPlace): Promise<WholeMonth | null> {
  const whole = await store.whole(place);
  const known = whole && months.open(place, whole);
  return whole && known && { ...known, parts: whole.parts };
}

/** A change that loses to a concurrent one is repeated by the next pass. */
async function eraseMonth({ days, isErased }: EraseOptions, place: MonthPlace): Promise<number> {
  const found = await readWhole(days, place);
  if (found === null) return 0;
  const { month } = found;
  const parts = await readParts(days, place, found.parts);
  const heldOf = (day: number, { part, digest }: Pick<Revision, 'part' | 'digest'>) =>
    part === null ? [] : (parts.get(part)?.get(nameOf(day, digest))?.header.accounts ?? []);
  const isGone = (
    day: number,
    one: Omit<KeptAccounts, 'asked' | 'held'> & Pick<Revision, 'part' | 'digest'>,
  ) => isErased({ ...one, asked: month.asked, held: heldOf(day, one) });
  let after: OpenMonth = month;
  let count = 0;
  for (const [day, known] of month.days) {
    const revisions = revisionsOf(month, day);
    const kept = revisions.filter((one) => !isGone(day, one));
    const { passing } = known;
    const isPassing = passing !== undefined && !isGone(day, seenIn(passing));
    if (kept.length === revisions.length && isPassing === (passing !== undefined)) continue;
    count += 1;
    after = withRevisions(after, day, kept, isPassing);
  }
  if (count === 0) return 0;
  // Accounts that the report names lie in the index.
  if (after.days.size === 0) await days.store.remove(place);
  else await rewrite(days, place, found, after);
  return count;
}

const seenIn = ({ check, ...rest }: NonNullable<(typeof NO_DAY)['passing']>) => ({
  ...{ ...rest, seq: check.seq, fetchedFrom: check.startedAt },
});

function withRevisions(
  month: OpenMonth,
  day: number,
  kept: readonly Revision[],
  isPassing: boolean,
): OpenMonth {
  const { passing, check, ...known } = month.days.get(day) ?? NO_DAY;
  const days = new Map(month.days);
  const latest = kept.at(-1) ?? null;
  const isLatest = latest !== null && latest === known.latest;
  const marks = isPassing ? { passing } : {};
  if (latest === null && !isPassing) days.delete(day);
  // The check is of the former latest.
  else
    days.set(day, {
      latest,
      earlier: Math.max(0, kept.length - 1),
      check: isLatest ? check : null,
      ...marks,
    });
  return { ...month, days, before: new Map(month.before).set(day, kept.slice(0, -1)) };
}

async function readParts(
  { store }: Days,
  place: MonthPlace,
  names: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, Part>> {
  const found = await store.parts(place, [...names.keys()]);
  return new Map(
    [...found].flatMap(([name, bytes]) => {
      const part = decodePart(bytes);
      return part === null ? [] : [[name, part] as const];
    }),
  );
}

/** Writes the month without the parts that nothing names any more. */
async function rewrite(days: Days, place: MonthPlace, found: WholeMonth, after: OpenMonth): Promise<boolean> {
  const named = new Set([...partsShown(after), ...[...after.before.values()].flat().map(({ part }) => part)]);
  const dropped = [...found.parts.keys()].filter((name) => !named.has(name));
  if (after === found.month && dropped.length === 0) return false;
  const write = monthWrite(place, found, after, { parts: new Map(), dropped, order: 0, ttlMs: 1 });
  days.months.forget(place);
  return (await days.store.write([write]))[0] === null;
}

interface SweepOptions {
  readonly days: Days;
  readonly retentionDays: number;
  readonly maxBytes: number;
  readonly now: () => number;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;

/**
 * Keeps stored days within retention and size limit: removes whole months, the oldest first, and parts that nothing names.
 * @returns the sweep; it throws StoreUnavailable
 */
export function createSweepDays({ days, retentionDays, maxBytes, now, logger }: SweepOptions) {
  /** By place: the stamp with which its parts were compared last. */
  let compared: ReadonlyMap<string, number> = new Map();

  async function measure(isStopped: () => boolean) {
    const measured: (MonthPlace & { readonly bytes: number })[] = [];
    const seen = new Map<string, number>();
    for await (const place of monthsOf(days.store)) {
      const found = await readWhole(days, place);
      if (found === null) continue;
      const name = placeName(place);
      if (compared.get(name) !== found.stamp) await rewrite(days, place, found, found.month);
      seen.set(name, found.stamp);
      measured.push({ ...place, bytes: [...found.parts.values()].reduce((sum, bytes) => sum + bytes, 0) });
      // Requests for reports go first.
      await turn();
      if (isStopped()) break;
    }
    compared = seen;
    return measured;
  }

  return async (isStopped: () => boolean): Promise<{ readonly bytes: number; readonly removed: number }> => {
    const oldest = isoDay(Math.floor(now() / DAY_MS) - retentionDays).slice(0, 7);
    const found = await measure(isStopped);
    let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    let removed = 0;
    for (const one of found) {
      const isOver = one.month < oldest;
      if ((!isOver && bytes <= maxBytes) || isStopped()) break;
      await days.store.remove(one);
      days.months.forget(one);
      bytes -= one.bytes;
      removed += 1;
      if (!isOver)
        logger.warn(
          { month: one.month, bytes: one.bytes, maxBytes },
          'history is full: removed its oldest month before history.retentionDays elapsed',
        );
    }
    return { bytes, removed };
  };
}
