/**
 * Days that history has with rows and the platform answers without: whether that is believed. A day is gone when a second
 * look says so, while the platform still answers an older day with rows. Otherwise the platform may have forgotten it, or
 * no longer lets the account see it, and the rows of history stand. Pure.
 */
import { dayNumber, isoDay } from '../query/days.js';

/** A second look this much later can confirm that the rows of a day are gone. */
export const SECOND_LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** As many days are asked for where history knows no older one. */
const PROBED_DAYS = 7;
/** No platform is taken to forget a day that is younger. */
const YOUNG_DAYS = 30;

/** A day of an answer. */
export interface LookedDay {
  /** ISO */
  readonly date: string;
  readonly ageDays: number;
  /** Rows that the platform gave. */
  readonly rows: number;
  /** Rows that history has of it; 0: none. */
  readonly knownRows: number;
  /** When the platform first gave none, although history has some, epoch milliseconds; null: that is new. */
  readonly emptyFromMs: number | null;
  /** An operator has accepted that its rows are gone. */
  readonly accepted: boolean;
}

/** A day near by that the answer is not about, of which history has rows. */
export interface Neighbour extends Pick<LookedDay, 'date' | 'ageDays' | 'emptyFromMs'> {
  /** When the platform last gave its rows, epoch milliseconds. */
  readonly seenMs: number;
}

export interface ForgettingRules {
  readonly nowMs: number;
  /** Age in days beyond which the platform is declared to have nothing; null: not declared. */
  readonly retentionDays: number | null;
  readonly restatementDays: number;
  /** After which an empty day that is not final is asked for again. */
  readonly emptyMs: number;
  /** The greatest age that the platform answered with rows since an instant, for any series of the endpoint; -1: none. */
  readonly reachSince: (ms: number) => number;
}

export type LossCode = 'beyond_retention' | 'all_days_empty';

/** What is made of a day that has lost its rows: it is empty, or its rows are those of history until it is asked for again. */
export type Loss =
  | { readonly kind: 'believed'; readonly sinceMs: number }
  | { readonly kind: 'kept'; readonly code: LossCode; readonly sinceMs: number; readonly againMs: number };

/** ISO, both inclusive. */
interface Days {
  readonly from: string;
  readonly to: string;
}

export interface Losses {
  /** By date: of the days without rows of which history has some. */
  readonly days: ReadonlyMap<string, Loss>;
  /** The age from which on every day has lost its rows; null where the answer shows no such edge. */
  readonly edgeDays: number | null;
  /** Older days whose rows, or their absence, would decide what is in doubt; null: none is in doubt, or none can decide. */
  readonly probe: Days | null;
}

export function judgeLosses(
  days: readonly LookedDay[],
  neighbours: readonly Neighbour[],
  rules: ForgettingRules,
): Losses {
  const { nowMs, retentionDays, restatementDays, emptyMs } = rules;
  const lost = days.filter(({ rows, knownRows }) => rows === 0 && knownRows > 0);
  const sinceOf = ({ emptyFromMs }: Pick<LookedDay, 'emptyFromMs'>) => emptyFromMs ?? nowMs;
  const isSecond = (day: LookedDay) => nowMs - sinceOf(day) >= SECOND_LOOK_MS;
  const isFinal = ({ ageDays }: LookedDay) => ageDays > restatementDays;
  const isDeclared = ({ ageDays }: LookedDay) => retentionDays !== null && ageDays > retentionDays;
  const reach = days.reduce((most, { rows, ageDays }) => (rows > 0 ? Math.max(most, ageDays) : most), -1);
  // What was answered before the first look tells nothing of what the platform has since.
  const reachOf = ({ emptyFromMs }: LookedDay) =>
    emptyFromMs === null ? reach : Math.max(reach, rules.reachSince(emptyFromMs));
  const isWithin = (day: LookedDay) => day.ageDays < reachOf(day);

  const open = lost.filter((day) => !isDeclared(day) && !day.accepted);
  const outside = open.filter((day) => !isWithin(day));
  const gone = neighbours.filter(({ emptyFromMs }) => emptyFromMs !== null);
  const isAlive = reach >= 0 || neighbours.some((one) => isSeen(one, nowMs));
  const isYoung = (day: LookedDay) => isWithin(day) || day.ageDays <= Math.max(restatementDays, YOUNG_DAYS);
  const isAllEmpty = !isAlive && open.length + gone.length > 1 && open.some(isYoung);
  // One day alone may have been withdrawn; of two, every older one is gone.
  const youngestOut = Math.min(...outside.map(({ ageDays }) => ageDays));
  const isEdge = outside.length + gone.filter(({ ageDays }) => ageDays > youngestOut).length > 1;
  const probe = isAllEmpty ? null : probeOf(outside.filter(isSecond), days, neighbours);

  function judge(day: LookedDay): Loss {
    const sinceMs = sinceOf(day);
    const kept = (code: LossCode, againMs: number): Loss => ({ kind: 'kept', code, sinceMs, againMs });
    if (day.accepted) return { kind: 'believed', sinceMs };
    if (isDeclared(day)) return kept('beyond_retention', DAY_MS);
    const [second, final] = [isSecond(day), isFinal(day)];
    if (isAllEmpty) return kept('all_days_empty', second || final ? DAY_MS : emptyMs);
    if (isWithin(day) && second) return { kind: 'believed', sinceMs };
    if (isWithin(day)) return kept('beyond_retention', final ? SECOND_LOOK_MS : emptyMs);
    if (isEdge && final) return kept('beyond_retention', DAY_MS);
    if (!second) return kept('beyond_retention', final ? SECOND_LOOK_MS : emptyMs);
    // Nothing near by can be asked for: what other series were answered with lately has to do.
    if (!isEdge && probe === null && day.ageDays < rules.reachSince(nowMs - WEEK_MS))
      return { kind: 'believed', sinceMs };
    return kept('beyond_retention', final ? DAY_MS : SECOND_LOOK_MS);
  }

  const finals = outside.filter(isFinal).map(({ ageDays }) => ageDays);
  return {
    days: new Map(lost.map((day) => [day.date, judge(day)])),
    edgeDays: isEdge && !isAllEmpty && finals.length > 0 ? Math.min(...finals) : null,
    probe,
  };
}

function isSeen({ emptyFromMs, seenMs }: Neighbour, nowMs: number): boolean {
  return emptyFromMs === null && nowMs - seenMs < WEEK_MS;
}

/** The nearest day that is older than all that are in doubt, and was not seen to be empty; a week, where none is known. */
function probeOf(
  doubted: readonly LookedDay[],
  days: readonly LookedDay[],
  neighbours: readonly Neighbour[],
): Days | null {
  const [oldest] = doubted.toSorted((a, b) => b.ageDays - a.ageDays);
  if (oldest === undefined) return null;
  const isOlder = ({ ageDays }: Pick<LookedDay, 'ageDays'>) => ageDays > oldest.ageDays;
  const older = neighbours.filter(isOlder);
  if (older.length === 0 && !days.some(isOlder)) {
    const day = dayNumber(oldest.date) as number;
    return { from: isoDay(day - PROBED_DAYS), to: isoDay(day - 1) };
  }
  const unseen = older.filter(({ emptyFromMs }) => emptyFromMs === null);
  const date = unseen.toSorted((a, b) => a.ageDays - b.ageDays)[0]?.date;
  return date === undefined ? null : { from: date, to: date };
}
