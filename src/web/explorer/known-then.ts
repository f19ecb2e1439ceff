/** Which days of a report were known at an earlier time, from their recorded revisions. Pure. */
import { type Revisions, validOf } from './changed.js';
import { type Period, runsOf } from './question.js';

export interface KnownThen {
  /** Whether all days were known. */
  readonly isWhole: boolean;
  /** Days that follow each other, in order. */
  readonly known: readonly Period[];
  /** Those that were not known. */
  readonly gaps: readonly Period[];
  /** From when on all days are known, in whole minutes, as a field has it; null: some never were. */
  readonly allFrom: string | null;
}

/** The periods that all lists have, in the order of the first. @param lists of periods that do not overlap */
export const commonRuns = ([first = [], ...others]: readonly (readonly Period[])[]): Period[] =>
  others.reduce<Period[]>(
    (common, list) =>
      common.flatMap((one) =>
        list.flatMap((other) => {
          const [, from = ''] = [one.from, other.from].sort();
          const [to = ''] = [one.to, other.to].sort();
          return from <= to ? [{ from, to }] : [];
        }),
      ),
    [...first],
  );

/** @param atMs the earlier time */
export function knownThen({ data }: Pick<Revisions, 'data'>, atMs: number): KnownThen {
  const firsts = data.map((day) => ({
    date: day.date,
    firstMs: Math.min(...validOf(day).map(({ knownFrom }) => Date.parse(knownFrom))),
  }));
  // The gateway has another reason.
  if (firsts.every(({ firstMs }) => firstMs <= atMs))
    return { isWhole: firsts.length > 0, known: [], gaps: [], allFrom: null };
  const known = runsOf(firsts.flatMap(({ date, firstMs }) => (firstMs > atMs ? [] : date)));
  const gaps = runsOf(firsts.flatMap(({ date, firstMs }) => (firstMs > atMs ? date : [])));
  const allMs = Math.max(...firsts.map(({ firstMs }) => firstMs));
  // Rounded up, as the field has no seconds.
  const minuteMs = Math.ceil(allMs / 60_000) * 60_000;
  return {
    isWhole: false,
    known,
    gaps,
    allFrom: Number.isFinite(allMs) ? new Date(minuteMs).toISOString().slice(0, 16) : null,
  };
}
