/**
 * Decides from the entries at hand: by day or as a whole, which entries are fresh, stale or missing, and which calls fetch
 * them. Pure. Requests, background refreshes and `explain` all decide here.
 */

import { NO_DIRECTIVES } from '../../lib/http/cache-directives.js';
import { minuteOf } from '../../lib/words.js';
import type { Outcome } from '../../outcome.js';
import type { DivisibilityStatus } from '../learn/learn.js';
import { dayRefs, type EntryRef, type ReportQuestion, wholeRef } from '../question.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Entry } from '../rows/entry.js';
import type { Entries, HeldEntry } from './entries.js';
import { type Grade, type GradeInput, gradeOf } from './look-up.js';
import { type PlannedFetch, planFetches } from './plan.js';

/** How a report is looked up and fetched, with the reason for people. */
export interface Mode {
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  readonly because: string;
}

const whole = (because: string): Mode => ({ mode: 'whole', because });

const KEPT_AS_WHOLE = whole('it is in the cache as one period already');
export const COULD_NOT_SPLIT = whole('its answer could not be split by day');

const NOT_DAYS = {
  unknown: 'the gateway has not yet tested whether single days add up',
  proving: 'the gateway is testing whether single days add up',
  refuted: 'a day had other numbers in another period',
};

/** By day only if the kind is proven divisible. */
export function modeOf(
  { report, form }: Pick<ReportQuestion, 'report' | 'form'>,
  { endpoints }: Pick<ReportPolicy, 'endpoints'>,
  { state, pinned, wholeUntil }: DivisibilityStatus,
): Mode {
  const { from, to, split, endpoint } = report;
  const rule = endpoints.get(endpoint);
  if (rule === undefined) return whole('the endpoint is not declared');
  if (rule.freshness === 'origin')
    return whole("the endpoint's freshness follows the platform's cache headers");
  if (!split.includes('date')) return whole('the report is not split by date');
  if (from === null || to === null) return whole('the platform chooses the period');
  if (form === 'bytes') return whole("the platform's raw bytes are requested");
  if (state === 'proven' && wholeUntil !== null)
    return whole(`an answer could not be split by day, so that is tried again after ${minuteOf(wholeUntil)}`);
  if (state === 'proven')
    return {
      mode: 'days',
      because: pinned ? 'as configured' : 'proven: a day has the same numbers in every period',
    };
  if (pinned) return whole('as configured');
  return whole(NOT_DAYS[state]);
}

export interface DecideInput extends Omit<GradeInput, 'report' | 'policy'> {
  readonly question: ReportQuestion;
  /** Preferred mode, before entries are considered. */
  readonly mode: Mode;
  readonly entries: Entries;
  /** Days before the period, in order, that a call may refresh as well. */
  readonly before: readonly EntryRef[];
  readonly policy: ReportPolicy;
  /**
   * usual: fresh, and stale with a refresh · fresh: for the refresh itself · old: also what is allowed when the platform
   * fails · doubtful: also what may not be a report
   */
  readonly minFreshness: 'usual' | 'fresh' | 'old' | 'doubtful';
  /** A cross-check of the series is due: the next call fetches all days for comparison. */
  readonly comparisonDue: boolean;
}

export interface Decision extends Mode {
  /** Entries of the report, in date order. */
  readonly refs: readonly EntryRef[];
  /** Known entries by id, usable or not. */
  readonly known: ReadonlyMap<string, Entry>;
  /** All usable entries in order; complete once none is missing. */
  readonly parts: readonly Entry[];
  readonly missing: readonly EntryRef[];
  /** Usable entries that need a refresh. */
  readonly stale: readonly EntryRef[];
  /** A refusal by the platform, which answers for all days. */
  readonly refusal: Entry | null;
  /** Calls for missing entries, which include stale ones. */
  readonly fetches: readonly PlannedFetch[];
  /** If nothing is missing: background calls that refresh stale entries. */
  readonly behind: readonly PlannedFetch[];
  /** The calls fetch all days, to compare them with the known ones. */
  readonly compares: boolean;
  /** Outcome of an answer that needed these fetches. */
  readonly outcome: Outcome;
}

export function decide(input: DecideInput): Decision {
  const preferred = judge(input, input.mode);
  if (input.mode.mode === 'whole' || isAnswered(preferred)) return withPlan(preferred, input);
  const whole = judge(input, KEPT_AS_WHOLE);
  return withPlan(isBetter(whole, preferred, input.minFreshness) ? whole : preferred, input);
}

/** The whole is preferred if it is fresh, the only entry, or the only usable one. */
function isBetter(whole: Judged, days: Judged, minFreshness: DecideInput['minFreshness']): boolean {
  if (minFreshness === 'old') return isAnswered(whole);
  const order = whole.parts[0]?.header.order ?? Number.POSITIVE_INFINITY;
  const isReplaced = [...days.known.values()].some(({ header }) => header.order > order);
  const isFresh = isAnswered(whole) && whole.stale.length === 0 && !isReplaced;
  return isFresh || (whole.known.size > 0 && days.known.size === 0);
}

/** Whether there is an answer; a refusal counts. */
export function isAnswered({ missing, refusal }: Pick<Decision, 'missing' | 'refusal'>): boolean {
  return missing.length === 0 || refusal !== null;
}

type Judged = Omit<Decision, 'fetches' | 'behind' | 'compares' | 'outcome'>;

function judge(input: DecideInput, mode: Mode): Judged {
  const { question, entries, minFreshness } = input;
  const gradeInput = gradeInputOf(input);
  const whole = wholeRef(question);
  const refs = mode.mode === 'days' ? dayRefs(question) : [whole];
  const known = new Map<string, Entry>();
  const usable = new Map<string, Entry>();
  const stale: EntryRef[] = [];
  let refusal: Entry | null = null;
  // A refusal of the whole report answers for its days.
  for (const ref of mode.mode === 'days' ? [...refs, whole] : refs) {
    const held = entries.known.get(ref.id);
    const grade = held === undefined ? 'absent' : gradeOf(held, ref, gradeInput);
    if (held !== undefined && grade !== 'absent') {
      if (held.entry.header.form === 'refusal') refusal = held.entry;
      else if (mode.mode === 'whole' || ref.isDay) {
        known.set(ref.id, held.entry);
        if (isGoodEnough(grade, minFreshness))
          usable.set(ref.id, minFreshness === 'old' && grade !== 'fresh' ? lapsed(held) : held.entry);
        if (grade === 'stale') stale.push(ref);
      }
    }
    const doubtful = entries.doubtful.get(ref.id);
    if (minFreshness === 'doubtful' && doubtful !== undefined && !usable.has(ref.id))
      usable.set(ref.id, doubtful);
  }
  const missing = refs.filter(({ id }) => !usable.has(id));
  const parts = refs.flatMap(({ id }) => usable.get(id) ?? []);
  const usableStale = stale.filter(({ id }) => usable.has(id));
  return { ...mode, refs, known, parts, missing, stale: usableStale, refusal };
}

/** An entry that stands in for one that the platform failed to give: stale, however fresh it would be to another caller. */
function lapsed({ entry, atMs }: HeldEntry): Entry {
  const { header } = entry;
  return { ...entry, header: { ...header, expiredAtMs: Math.min(atMs, header.expiredAtMs ?? atMs) } };
}

function isGoodEnough(grade: Grade, minFreshness: DecideInput['minFreshness']): boolean {
  if (grade === 'fresh') return true;
  if (minFreshness === 'fresh') return false;
  return grade === 'stale' || minFreshness === 'old';
}

function withPlan(judged: Judged, input: DecideInput): Decision {
  const { question, policy, arrivedAtMs } = input;
  const { mode, refs, missing, stale } = judged;
  const compares =
    input.comparisonDue &&
    mode === 'days' &&
    judged.known.size > 0 &&
    refs.length <= policy.plan.maxDaysPerCall &&
    // Days from history cannot be compared with the platform, and purged ones are not trusted.
    [...judged.known.values()].every(({ header }) => (header.forgotten ?? header.expiredAtMs) === undefined);
  const isOpen = !isAnswered(judged);
  const isStale = !isOpen && judged.refusal === null && stale.length > 0;
  const before = mode === 'days' && (isOpen || isStale) ? knownBefore(input) : [];
  const known = new Map([...before.map(([ref, entry]) => [ref.id, entry] as const), ...judged.known]);
  const plan = (wanted: readonly EntryRef[]) =>
    planFetches({
      mode,
      refs,
      wanted,
      known,
      before: before.map(([ref]) => ref),
      plan: policy.plan,
      rules: policy.rulesFor(question.report),
      nowMs: arrivedAtMs,
      entire: compares,
    });
  return {
    ...judged,
    known,
    compares: compares && (isOpen || isStale),
    fetches: isOpen ? plan([...missing, ...stale]) : [],
    behind: isStale ? plan(stale) : [],
    outcome: outcomeOf(judged, input),
  };
}

/** Known days right before the period, in order. A gap ends them: nobody asked for its days. */
function knownBefore(input: DecideInput): [EntryRef, Entry][] {
  const found: [EntryRef, Entry][] = [];
  for (const ref of input.before.toReversed()) {
    const held = input.entries.known.get(ref.id);
    if (held === undefined || gradeOf(held, ref, gradeInputOf(input)) === 'absent') break;
    found.unshift([ref, held.entry]);
  }
  return found;
}

function gradeInputOf(input: DecideInput, directives = input.directives): GradeInput {
  return { ...input, report: input.question.report, directives };
}

/** `miss`: no entry · `refresh`: expired entries · `forced`: not fresh enough for this caller */
function outcomeOf({ missing, known }: Judged, input: DecideInput): Outcome {
  const gradeInput = gradeInputOf(input, NO_DIRECTIVES);
  const grades = missing.map((ref) => {
    const entry = known.has(ref.id) ? input.entries.known.get(ref.id) : undefined;
    return entry === undefined ? null : gradeOf(entry, ref, gradeInput);
  });
  if (grades.includes(null)) return 'miss';
  return grades.every((grade) => grade === 'fresh') ? 'forced' : 'refresh';
}
