/** What a fetch makes of the history of a day. Pure. */
import { believed, CONFIRMED_EVERY_MS, idOf, knownAt, type Revision, type Revisions } from './revision.js';

/** A day as a fetch brought it. */
export interface SeenDay
  extends Pick<
    Revision,
    'digest' | 'schema' | 'generation' | 'credential' | 'rowCount' | 'answerRows' | 'seq'
  > {
  /** Start and end of the fetch, epoch milliseconds. */
  readonly fetchedFrom: number;
  readonly fetchedAt: number;
  readonly ageDays: number;
  /** What its rows take in the store. */
  readonly bytes: number;
  /** No rows, and this look does not confirm an earlier one. */
  readonly unconfirmed: boolean;
  /** It was old enough when the fetch began to change no more. */
  readonly isFinal: boolean;
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

/**
 * Marks that a fetch was not written down, at what was known last when it ended: another replica may have written since.
 * @param missedFrom its end, epoch milliseconds
 */
export function noteMissed(before: Revisions, missedFrom: number): Revisions {
  const at = before.findLastIndex(({ knownFrom }) => knownFrom <= missedFrom);
  const then = before[at];
  // It was written down after all, though nobody heard of it.
  if (then === undefined || then.knownFrom === missedFrom) return before;
  if (then.missedFrom !== undefined && then.missedFrom <= missedFrom) return before;
  return before.with(at, { ...then, missedFrom });
}

export function noteFetch(before: Revisions, seen: SeenDay): Noted {
  const latest = before.at(-1);
  if (latest === undefined) return append(before, seen);
  if (seen.fetchedFrom < latest.fetchedFrom) return { kind: 'late' };
  // Rows of a kind that was proven anew are kept anew: what was kept before is believed no more.
  if (latest.void !== undefined) return append(before, seen);
  if (latest.digest !== seen.digest || latest.generation !== seen.generation) return append(before, seen);
  const confirmedUntil = Math.max(latest.confirmedUntil, seen.fetchedAt);
  const isConfirmedNow = latest.unconfirmed === true && !seen.unconfirmed;
  const { unconfirmed, lost, ...known } = latest;
  const mark = unconfirmed && !isConfirmedNow ? { unconfirmed } : {};
  const confirmed = stamped(before.slice(0, -1), { ...known, confirmedUntil, ...mark }, seen);
  const isStamped = confirmed.finalFrom !== latest.finalFrom || confirmed.closedFrom !== latest.closedFrom;
  const isFoundAgain = lost !== undefined;
  if (
    !isConfirmedNow &&
    !isStamped &&
    !isFoundAgain &&
    confirmedUntil - latest.confirmedUntil < CONFIRMED_EVERY_MS
  )
    return { kind: 'known' };
  return { kind: 'confirmed', revisions: [...before.slice(0, -1), confirmed] };
}

/** Says of what is the latest now since when it is that of a day that is over, and of one that is final. */
function stamped(
  before: Revisions,
  latest: Revision,
  { fetchedAt, ageDays, isFinal, unconfirmed }: SeenDay,
): Revision {
  // What no second look has confirmed may be filled yet.
  if (unconfirmed) return latest;
  const seenFrom = Math.max(fetchedAt, latest.knownFrom);
  const isClosing = ageDays > 0 && latest.ageDays <= 0 && latest.closedFrom === undefined;
  const isFirstFinal = isFinal && knownAt(believed([...before, latest], latest.generation), 'final') === null;
  return {
    ...latest,
    ...(isClosing ? { closedFrom: seenFrom } : {}),
    ...(isFirstFinal ? { finalFrom: seenFrom } : {}),
  };
}

function append(before: Revisions, seen: SeenDay): Noted {
  const { fetchedAt, unconfirmed, isFinal: _, ...facts } = seen;
  // Replicas' clocks differ: the order of revisions is that of their fetches.
  const knownFrom = Math.max(fetchedAt, (before.at(-1)?.knownFrom ?? 0) + 1);
  const id = idOf(knownFrom);
  const times = { id, knownFrom, confirmedUntil: knownFrom };
  const added: Revision = { ...times, ...facts, ...(unconfirmed ? { unconfirmed: true as const } : {}) };
  const { kept, removed } = thin([...before, stamped(before, added, seen)]);
  return { kind: 'appended', revisions: kept, added: id, removed };
}

/** Removes what is not kept for ever, and says so at the revision before it. */
function thin(revisions: Revisions): { readonly kept: Revisions; readonly removed: readonly string[] } {
  const nowMs = (revisions.at(-1) as Revision).knownFrom;
  const lastOpen = revisions.findLast(({ ageDays }) => ageDays <= 0);
  const closed = revisions.filter(({ ageDays }) => ageDays > 0);
  // What was said when the day was over, and when it was final, is asked for longest.
  const { generation } = revisions.at(-1) as Revision;
  const counting = believed(revisions, generation);
  const stays = (['first', 'final', 'latest'] as const).map((moment) => knownAt(counting, moment)?.revision);
  const mayGo = closed.filter((one) => !stays.includes(one));
  const excess = new Set(mayGo.slice(0, Math.max(0, closed.length - CLOSED_DAY_MAX)));
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
