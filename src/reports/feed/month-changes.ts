/**
 * What a write of a month changes for those who follow the feed: the newest revision that history shows of each day, before and
 * after. Pure.
 */
import type { Day, Month } from '../days/month.js';
import type { Revision, Revisions } from '../history/revision.js';
import type { ChangeKind, DayChange } from './entry.js';

/** A month with the earlier revisions of some days. */
export interface ToldMonth extends Pick<Month, 'days' | 'told'> {
  readonly before: ReadonlyMap<number, Revisions>;
}

/**
 * @returns the newest revision of a day that history shows under the told generation; null: none; undefined: it may be one of the
 *   earlier ones, which are not at hand
 */
function newestOf({ told, before }: ToldMonth, day: number, line: Day): Revision | null | undefined {
  const { latest, earlier } = line;
  if (told === null || latest === null) return null;
  if (isTold(latest, told)) return latest;
  if (earlier === 0) return null;
  const former = before.get(day);
  return former && (former.findLast((one) => isTold(one, told)) ?? null);
}

function isTold({ generation, void: why, unrecorded }: Revision, told: string): boolean {
  return generation === told && why === undefined && unrecorded !== true;
}

/**
 * @param wanted generation of which days are to be told; null: of none; undefined: as before
 * @returns the one that a write can tell. Where earlier revisions of other days would be needed, it stays, and the walk of the
 *   leader, which reads whole months, tells the difference (tell-kinds.ts)
 */
export function toldAfter(before: ToldMonth, after: ToldMonth, wanted: string | null | undefined) {
  if (wanted === undefined || wanted === before.told) return before.told;
  const next = { ...after, told: wanted };
  const isAtHand = (month: ToldMonth) =>
    [...month.days].every(([day, line]) => newestOf(month, day, line) !== undefined);
  return isAtHand(before) && isAtHand(next) ? wanted : before.told;
}

/**
 * @param cause erased: revisions were removed with their advertiser
 * @returns by day, ascending
 */
export function changesOf(before: ToldMonth, after: ToldMonth, cause?: 'erased'): DayChange[] {
  const changes: DayChange[] = [];
  const isSameTold = before.told === after.told;
  for (const [day, line] of after.days) {
    const former = before.days.get(day);
    if (isSameTold && former === line) continue;
    const now = newestOf(after, day, line);
    const then = former === undefined ? null : newestOf(before, day, former);
    // Without the earlier revisions nothing is known to have changed; see `toldAfter`.
    if (now === undefined) continue;
    const change = changeOf(day, sideOf(then ?? null, former), sideOf(now, line), cause);
    if (change !== null) changes.push(change);
  }
  for (const [day, line] of before.days) {
    if (after.days.has(day)) continue;
    const change = changeOf(day, sideOf(newestOf(before, day, line) ?? null, line), NOTHING, cause);
    if (change !== null) changes.push(change);
  }
  return changes.sort((a, b) => a.day - b.day);
}

interface Side {
  readonly revision: Revision | null;
  /** An earlier revision, left by one that is void, is not: the day is to be fetched again. */
  readonly isFinal: boolean;
}

const NOTHING: Side = { revision: null, isFinal: false };

function sideOf(revision: Revision | null, line: Day | undefined): Side {
  if (revision === null) return NOTHING;
  const isNewest = line?.latest === revision || line?.latest?.unrecorded === true;
  return { revision, isFinal: isNewest && line?.final === true };
}

function changeOf(day: number, then: Side, now: Side, cause: 'erased' | undefined): DayChange | null {
  const kind = kindOf(then, now);
  if (kind === null) return null;
  return {
    day,
    revision: now.revision?.id ?? null,
    before: then.revision?.id ?? null,
    kind: cause ?? kind,
    isFinal: now.isFinal,
    afterFinal: kind === 'restated' && then.isFinal,
    isMethod: then.revision !== null && now.revision !== null && isMethod(then.revision, now.revision),
  };
}

function kindOf(then: Side, now: Side): ChangeKind | null {
  if (now.revision === null) return then.revision === null ? null : 'void';
  if (then.revision === null) return 'first';
  if (now.revision.id !== then.revision.id)
    return now.revision.knownFrom > then.revision.knownFrom ? 'restated' : 'void';
  if (now.isFinal === then.isFinal) return null;
  return now.isFinal ? 'final' : 'reopened';
}

/** A day without rows matches any columns. */
function isMethod(then: Revision, now: Revision): boolean {
  if (then.credential !== now.credential) return true;
  return then.schema !== now.schema && then.rowCount > 0 && now.rowCount > 0;
}
