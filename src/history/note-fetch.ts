/** What a fetch makes of the history of a day. Pure. */
import { CONFIRMED_EVERY_MS, type Revision, type Revisions } from './revision.js';

/** A day as a fetch brought it. */
export interface SeenDay
  extends Pick<Revision, 'digest' | 'schema' | 'generation' | 'credential' | 'rowCount'> {
  /** Start and end of the fetch, epoch milliseconds. */
  readonly fetchedFrom: number;
  readonly fetchedAt: number;
  readonly ageDays: number;
  /** What its rows take in the store. */
  readonly bytes: number;
  /** No rows, and this look does not confirm an earlier one. */
  readonly unconfirmed: boolean;
}

export type Noted =
  /** Other rows than before, or the first: they are to be kept under `added`. */
  | {
      readonly kind: 'appended';
      readonly revisions: Revisions;
      readonly added: string;
      readonly removed: readonly string[];
    }
  /** The same rows as before, which is written down. */
  | { readonly kind: 'confirmed'; readonly revisions: Revisions }
  /** Nothing is to be written: seen lately (`known`), or the fetch began before the latest revision's (`late`). */
  | { readonly kind: 'known' | 'late' };

/** How long every revision of a day that is not over is kept; afterwards the last of them. */
const OPEN_DAY_MS = 48 * 3_600_000;

/** Revisions of one day after it was over. */
const CLOSED_DAY_MAX = 64;

/** Marks that a fetch was not written down. @param missedFrom its end, epoch milliseconds */
export function noteMissed(before: Revisions, missedFrom: number): Revisions {
  const latest = before.at(-1);
  if (latest === undefined || latest.missedFrom !== undefined || missedFrom <= latest.knownFrom)
    return before;
  return [...before.slice(0, -1), { ...latest, missedFrom }];
}

export function noteFetch(before: Revisions, seen: SeenDay): Noted {
  const latest = before.at(-1);
  if (latest === undefined) return append(before, seen);
  if (seen.fetchedFrom < latest.fetchedFrom) return { kind: 'late' };
  // Rows of a kind that was proven anew are kept anew: what was kept before is believed no more.
  if (latest.digest !== seen.digest || latest.generation !== seen.generation) return append(before, seen);
  const confirmedUntil = Math.max(latest.confirmedUntil, seen.fetchedAt);
  const isConfirmedNow = latest.unconfirmed === true && !seen.unconfirmed;
  if (!isConfirmedNow && confirmedUntil - latest.confirmedUntil < CONFIRMED_EVERY_MS)
    return { kind: 'known' };
  const { unconfirmed, ...known } = latest;
  const mark = unconfirmed && !isConfirmedNow ? { unconfirmed } : {};
  return { kind: 'confirmed', revisions: [...before.slice(0, -1), { ...known, confirmedUntil, ...mark }] };
}

function append(before: Revisions, seen: SeenDay): Noted {
  const { fetchedAt, unconfirmed, ...facts } = seen;
  // Replicas' clocks differ: the order of revisions is that of their fetches.
  const knownFrom = Math.max(fetchedAt, (before.at(-1)?.knownFrom ?? 0) + 1);
  const id = knownFrom.toString(36);
  const times = { id, knownFrom, confirmedUntil: knownFrom };
  const added: Revision = { ...times, ...facts, ...(unconfirmed ? { unconfirmed: true as const } : {}) };
  const { kept, removed } = thin([...before, added]);
  return { kind: 'appended', revisions: kept, added: id, removed };
}

/** Removes what is not kept for ever, and says so at the revision before it. */
function thin(revisions: Revisions): { readonly kept: Revisions; readonly removed: readonly string[] } {
  const nowMs = (revisions.at(-1) as Revision).knownFrom;
  const lastOpen = revisions.findLast(({ ageDays }) => ageDays <= 0);
  const closed = revisions.filter(({ ageDays }) => ageDays > 0);
  // The first stays: what was said when the day was over is asked for longest.
  const excess = new Set(closed.slice(1, 1 + Math.max(0, closed.length - CLOSED_DAY_MAX)));
  const goes = (one: Revision) =>
    one.ageDays > 0 ? excess.has(one) : one !== lastOpen && one.knownFrom < nowMs - OPEN_DAY_MS;
  const kept: Revision[] = [];
  for (const one of revisions) {
    const last = kept.at(-1);
    if (!goes(one)) kept.push(one);
    else if (last !== undefined && last.thinnedFrom === undefined)
      kept[kept.length - 1] = { ...last, thinnedFrom: one.knownFrom };
  }
  return { kept, removed: revisions.filter(goes).map(({ id }) => id) };
}
