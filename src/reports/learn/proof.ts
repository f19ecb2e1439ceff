/**
 * The proof that reports of a kind are divisible by day: one period of final days, its halves and three single days with rows must
 * have equal rows. Numbers that differ are asked for again, because the platform may have restated them meanwhile.
 */
import type { DayRange } from '../cache/plan.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { provesCap } from '../rows/proves-cap.js';
import { type DayPair, type Days, daysByDate, isComparable, splitFromOf } from './compare-days.js';
import type { ProofResult } from './state.js';

/** Days of the whole period, and the fewest. */
export const PROOF_DAYS = 28;
export const LEAST_DAYS = 6;
const NEEDED_WITH_ROWS = 3;
const PERIOD_REFUSED = [400, 404, 422];

/** The platform's answer to a call of a proof. */
export type PlatformSays =
  | { readonly kind: 'days'; readonly days: readonly Entry<RowsHeader>[] }
  | { readonly kind: 'refused'; readonly status: number; readonly words: string }
  /** Its row count is, or may be, a cap. */
  | { readonly kind: 'cut' }
  /** It has totals or pages, or is no report. */
  | { readonly kind: 'undivided'; readonly reason: string };

/** @throws if the platform did not answer */
export type AskPlatform = (of: ReportSeries, from: string, to: string) => Promise<PlatformSays>;

export interface ProofInput {
  readonly of: ReportSeries;
  /** One answer that a caller has caused; null: none that is long enough. */
  readonly own: readonly Entry<RowsHeader>[] | null;
  /** The period to ask for otherwise. */
  readonly range: DayRange;
  readonly generation: string;
  readonly rules: FreshnessRules;
  readonly maxCalls: number;
  readonly ask: AskPlatform;
  readonly onRestated: (days: readonly DayPair[]) => Promise<unknown>;
}

/** One answer for a period. */
interface Answered {
  readonly from: string;
  readonly to: string;
  readonly days: Days;
}

/** Ends a proof before all parts were compared. */
class Ended extends Error {
  constructor(
    readonly verdict: ProofResult['verdict'],
    found: string,
  ) {
    super(found);
  }
}

/** Never rejects. */
export async function proveDivisible(input: ProofInput): Promise<ProofResult> {
  const proof = new Proving(input);
  try {
    const found = await proof.run();
    return { ...proof.asked, verdict: 'proven', found };
  } catch (error) {
    const [verdict, found] =
      error instanceof Ended
        ? [error.verdict, error.message]
        : (['failed', 'The platform did not answer a call of the comparison.'] as const);
    return { ...proof.asked, verdict, found };
  }
}

class Proving {
  /** What was asked so far. */
  readonly asked: { from: string | null; to: string | null; calls: number } = {
    from: null,
    to: null,
    calls: 0,
  };
  readonly #input: ProofInput;

  constructor(input: ProofInput) {
    this.#input = input;
  }

  /** @returns what was found equal. @throws Ended; the failure of a call */
  async run(): Promise<string> {
    const { own, range } = this.#input;
    let whole = own === null ? await this.#wholeOf(range) : ownAnswer(own);
    for (;;) {
      Object.assign(this.asked, { from: whole.from, to: whole.to });
      const shorter = await this.#compareParts(whole);
      if (shorter === null) break;
      whole = shorter;
    }
    return `A period of ${show(whole)}, its halves and three single days of it had the same rows for each day.`;
  }

  /** Half as long where the platform refuses the length, or cuts the answer off. */
  async #wholeOf({ from, to }: DayRange): Promise<Answered> {
    for (let days = to - from + 1; ; days = Math.floor(days / 2)) {
      const period = { from: isoDay(to - days + 1), to: isoDay(to) };
      const says = await this.#call(period);
      if (says.kind === 'days') return { ...period, days: daysByDate(says.days) };
      if (Math.floor(days / 2) >= LEAST_DAYS) continue;
      throw new Ended(
        'unknown',
        says.kind === 'refused'
          ? `The platform refused a period of ${show(period)}: ${says.words}`
          : `The answer for ${show(period)} was cut off at a number of rows, so it cannot be compared with its parts.`,
      );
    }
  }

  /** @returns a part to be taken as the whole, because the whole was cut off; null: all parts are equal */
  async #compareParts(whole: Answered): Promise<Answered | null> {
    let current = whole;
    for (const part of partsOf(this.#finalsOf(whole), whole)) {
      const says = await this.#call(part);
      if (says.kind === 'refused')
        throw new Ended('refuted', `The platform refused ${show(part)}, a part of a period: ${says.words}`);
      if (says.kind === 'cut') throw cutOff(part);
      const answer = { ...part, days: daysByDate(says.days) };
      const differing = this.#differing(current, answer);
      if (differing.length === 0) continue;
      if (this.#isCut(current, answer)) {
        if (lengthOf(part) < LEAST_DAYS) throw cutOff(current);
        return answer;
      }
      current = await this.#again(current, differing);
    }
    return null;
  }

  /** Asks for the whole again. @returns it if the platform has restated the days meanwhile */
  async #again(whole: Answered, differing: readonly DayPair[]): Promise<Answered> {
    const says = await this.#call(whole);
    const dates = differing.map(({ date }) => date).join(', ');
    if (says.kind !== 'days')
      throw new Ended(
        'unknown',
        `Asked again for ${show(whole)}, the platform refused it, or cut its answer off.`,
      );
    const again = { ...whole, days: daysByDate(says.days) };
    const hashIn = ({ days }: Answered, date: string) => days.get(date)?.header.splitFrom?.sortedHash;
    if (differing.every(({ date, newer }) => hashIn(again, date) === splitFromOf(newer).sortedHash)) {
      await this.#input.onRestated(differing);
      return again;
    }
    const isAsBefore = differing.every(({ date }) => hashIn(again, date) === hashIn(whole, date));
    if (isAsBefore)
      throw new Ended(
        'refuted',
        `Fetched as part of ${show(whole)}, ${dates} had other rows than fetched in a shorter period, twice.`,
      );
    throw new Ended('unknown', `The platform changed final days (${dates}) while they were compared.`);
  }

  async #call(period: Period): Promise<Exclude<PlatformSays, { readonly kind: 'undivided' }>> {
    const { of, ask, maxCalls } = this.#input;
    if (this.asked.calls >= maxCalls)
      throw new Ended(
        'unknown',
        'The calls that a comparison may make on one day were spent before it ended.',
      );
    this.asked.calls += 1;
    const says = await ask(of, period.from, period.to);
    // Of other refusals, such as a 403, the period is not the reason.
    if (says.kind === 'refused' && !PERIOD_REFUSED.includes(says.status)) throw new Error(says.words);
    if (says.kind !== 'undivided') return says;
    throw new Ended('unknown', `The answer for ${show(period)} could not be split by day: ${says.reason}.`);
  }

  /** In date order. */
  #finalsOf({ days }: Answered): Entry<RowsHeader>[] {
    const { generation, rules } = this.#input;
    return [...days.values()].filter((day) => isComparable(day, generation, rules));
  }

  #differing(whole: Answered, part: Answered): DayPair[] {
    const { generation, rules } = this.#input;
    return daysBetween(part.from, part.to).flatMap((date) => {
      const [older, newer] = [whole.days.get(date), part.days.get(date)];
      if (older === undefined || newer === undefined) throw cutOff(part);
      if (![older, newer].every((day) => isComparable(day, generation, rules))) return [];
      return splitFromOf(older).sortedHash === splitFromOf(newer).sortedHash ? [] : [{ date, older, newer }];
    });
  }

  /** Whether the whole lacks rows of the part, and has no others: that is a cap, not a dependence. */
  #isCut(whole: Answered, part: Answered): boolean {
    const dates = daysBetween(part.from, part.to);
    const of = ({ days }: Answered) => dates.flatMap((date) => days.get(date) ?? []);
    return provesCap(of(whole), of(part), this.#input.rules);
  }
}

interface Period {
  readonly from: string;
  readonly to: string;
}

function ownAnswer(days: readonly Entry<RowsHeader>[]): Answered {
  const { from, to } = splitFromOf(days[0] as Entry<RowsHeader>);
  return { from, to, days: daysByDate(days) };
}

/** Whether the days are of one answer for exactly this period, not of its halves. */
export function isOneAnswer(days: readonly Entry<RowsHeader>[], { from, to }: Period): boolean {
  return (
    days.length > 0 &&
    days.every(({ header: { splitFrom, flaws } }) => {
      return flaws === undefined && splitFrom?.from === from && splitFrom.to === to;
    })
  );
}

/** Both halves, and three days with rows: the first, one in the middle, the last. */
function partsOf(finals: readonly Entry<RowsHeader>[], whole: Period): Period[] {
  const withRows = finals.filter(({ header }) => header.rowCount > 0);
  if (withRows.length < NEEDED_WITH_ROWS)
    throw new Ended(
      'unknown',
      `Of ${show(whole)}, ${withRows.length === 0 ? 'no' : `only ${withRows.length}`} final day${withRows.length === 1 ? '' : 's'} had rows, and three are needed.`,
    );
  const dateAt = (all: readonly Entry<RowsHeader>[], at: number) => all.at(at)?.header.lastDay as string;
  const middle = Math.floor(finals.length / 2);
  const singles = [0, Math.floor(withRows.length / 2), -1].map((at) => dateAt(withRows, at));
  return [
    { from: dateAt(finals, 0), to: dateAt(finals, middle - 1) },
    { from: dateAt(finals, middle), to: dateAt(finals, -1) },
    ...singles.map((date) => ({ from: date, to: date })),
  ];
}

function cutOff(period: Period): Ended {
  return new Ended(
    'unknown',
    `The answer for ${show(period)} was cut off at a number of rows, so it cannot be compared.`,
  );
}

function lengthOf({ from, to }: Period): number {
  return (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
}

function show(period: Period): string {
  const days = lengthOf(period);
  return days === 1 ? period.from : `${days} days (${period.from} to ${period.to})`;
}
