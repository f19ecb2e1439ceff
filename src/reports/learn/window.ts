/** When the numbers of a day change no more, by what was seen of days before it. Pure. */
import { countAges, type DateEvidence, type Evidence } from './evidence.js';

export interface WindowRules {
  /** It is never shorter than that. */
  readonly restatementDays: number;
  /** Nor longer than that. */
  readonly maxDays: number;
}

export interface Window {
  /** A day is final when it is older. */
  readonly days: number;
  /** From this age on no day was ever seen to change, and enough were seen; null where that cannot be said. */
  readonly settledFrom: number | null;
  /** The last day on which a change was seen that came later than `restatementDays`, as a day number; -1: none was. */
  readonly lateOn: number;
  /** Such changes are over: enough dates were seen again since at the greatest age. */
  readonly calm: boolean;
}

/** Distinct dates that must have stayed as they were before a window is made shorter again, and the days it takes at least. */
const CALM_DATES = 300;
const CALM_DAYS = 14;
/** Distinct dates of an age by which a kind counts as settled so far. */
const SETTLED_DATES = 30;

/** @param today as a day number */
export function windowOf(evidence: Evidence, rules: WindowRules, today: number): Window {
  const { restatementDays } = rules;
  const maxDays = Math.max(rules.maxDays, restatementDays);
  const { lateOn, latestAfter } = changesIn(evidence, restatementDays);
  const calm =
    lateOn >= 0 && today - lateOn >= CALM_DAYS && isCalm(evidence, restatementDays, maxDays, lateOn);
  const widened = Math.min(maxDays, Math.max(restatementDays, latestAfter + 1));
  const settled = countAges(evidence).find(
    ({ ageDays, n, changed }) => ageDays > latestAfter && n >= SETTLED_DATES && changed === 0,
  );
  return { days: calm ? restatementDays : widened, settledFrom: settled?.ageDays ?? null, lateOn, calm };
}

function changesIn({ dates, forgotten }: Evidence, restatementDays: number) {
  let latestAfter = forgotten.after;
  let lateOn = forgotten.after >= restatementDays ? forgotten.on : -1;
  for (const [day, { changedAfter, changedAt }] of dates) {
    latestAfter = Math.max(latestAfter, changedAfter);
    if (changedAfter >= restatementDays) lateOn = Math.max(lateOn, day + changedAt);
  }
  return { lateOn, latestAfter };
}

function isCalm({ dates }: Evidence, restatementDays: number, maxDays: number, lateOn: number): boolean {
  let calm = 0;
  for (const [day, seen] of dates)
    if (seen.until >= maxDays && day + seen.until > lateOn && staysFrom(seen, restatementDays + 1)) calm += 1;
  return calm >= CALM_DATES;
}

/** Whether it was seen by that age as it was seen last. */
function staysFrom({ again, changedAfter }: DateEvidence, age: number): boolean {
  for (let seen = age; seen > Math.max(0, changedAfter); seen -= 1)
    if ((again >> BigInt(seen)) & 1n) return true;
  return false;
}

export function isSameWindow(one: Window, other: Window): boolean {
  return (
    one.days === other.days &&
    one.settledFrom === other.settledFrom &&
    one.lateOn === other.lateOn &&
    one.calm === other.calm
  );
}
