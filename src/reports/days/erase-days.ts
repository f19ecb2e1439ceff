/** Removes the stored days of erased accounts, which are hidden already (history/erasures.ts). */
import { turn } from '../../lib/time.js';
import type { MonthPlace } from '../../store/days-port.js';
import { type StoreUnavailable, whenAway } from '../../store/port.js';
import { toldOf } from '../feed/tell.js';
import type { Erasures, KeptAccounts } from '../history/erasures.js';
import type { Revision } from '../history/revision.js';
import type { Days } from './days.js';
import { NO_DAY, type Passing } from './month.js';
import { type OpenMonth, revisionsOf } from './note-fetch.js';
import { nameOf } from './part.js';
import { monthsOf, openWhole, readParts, rewrite, unnamedParts } from './whole-month.js';

interface EraseOptions {
  readonly days: Days;
  readonly isErased: Erasures['isErased'];
}

/**
 * Looks at all days: accounts that reports name are in the index, accounts of rows only in the parts.
 * @returns the number of affected days
 * @throws StoreUnavailable
 */
export async function eraseDays(options: EraseOptions, isStopped: () => boolean): Promise<number> {
  // The list of months may have been lost.
  const unlisted = await options.days.store.relist(isStopped).then(
    () => null,
    whenAway((error) => error),
  );
  const count = await eraseListed(options, isStopped);
  if (unlisted !== null) throw unlisted;
  return count;
}

/** As {@link eraseDays}, where months that are missing in their list have just been looked for. */
export async function eraseListed(options: EraseOptions, isStopped: () => boolean): Promise<number> {
  let count = 0;
  let fault: StoreUnavailable | null = null;
  for await (const place of monthsOf(options.days.store)) {
    if (isStopped()) return count;
    // One month that cannot be written must not keep the others.
    count += await eraseMonth(options, place).catch(
      whenAway((error) => {
        fault ??= error;
        return 0;
      }),
    );
    // Requests for reports go first.
    await turn();
  }
  if (fault !== null) throw fault;
  return count;
}

/** A change that loses to a concurrent one is repeated by the next pass. @returns the number of affected days */
export async function eraseMonth({ days, isErased }: EraseOptions, place: MonthPlace): Promise<number> {
  const stored = await days.store.whole(place);
  const whole = stored && openWhole(days, place, stored);
  if (whole === null || whole.stamp === 0) return 0;
  const { month } = whole;
  const parts = await readParts(days, whole, whole.stored.parts.keys());
  const heldOf = (day: number, { part, digest }: Pick<Revision, 'part' | 'digest'>) =>
    part === null ? [] : (parts.get(part)?.get(nameOf(day, digest))?.header.accounts ?? []);
  const isGone = (
    day: number,
    one: Omit<KeptAccounts, 'asked' | 'held'> & Pick<Revision, 'part' | 'digest'>,
  ) => isErased({ ...one, asked: month.asked, held: heldOf(day, one) });
  let after: OpenMonth = month;
  let count = 0;
  for (const [day, { passing }] of month.days) {
    const revisions = revisionsOf(month, day);
    const kept = revisions.filter((one) => !isGone(day, one));
    const isPassing = passing !== undefined && !isGone(day, seenIn(passing));
    if (kept.length === revisions.length && isPassing === (passing !== undefined)) continue;
    count += 1;
    after = withRevisions(after, day, kept, isPassing);
  }
  // Nobody knows any more whose rows those are that nothing names, or that cannot be read.
  const dropped = new Set(unnamedParts(whole, after));
  for (const name of whole.stored.parts.keys()) if (!parts.has(name)) dropped.add(name);
  if (count > 0 || dropped.size > 0) {
    const told = toldOf(place, month, after, { at: days.now(), order: 0 }, 'erased');
    await rewrite(days, whole, after, { dropped: [...dropped], told });
  }
  return count;
}

const seenIn = ({ check, ...rest }: Passing) => ({
  ...rest,
  seq: check.seq,
  fetchedFrom: check.startedAt,
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
  const marks = {
    ...(isPassing && { passing }),
    ...(isLatest && known.empty && { empty: known.empty }),
    ...(known.counted && { counted: known.counted }),
    ...(isLatest && known.final && { final: known.final }),
  };
  const earlier = Math.max(0, kept.length - 1);
  if (latest === null && !isPassing) days.delete(day);
  // The check is of the former latest.
  else days.set(day, { latest, earlier, check: isLatest ? check : null, ...marks });
  const [former, before] = [kept.slice(0, -1), month.before.get(day) ?? []];
  const isSame = former.length === before.length && former.every((one, at) => one === before[at]);
  return isSame ? { ...month, days } : { ...month, days, before: new Map(month.before).set(day, former) };
}
