/** Which days of a report were known at an earlier time, from their recorded revisions. Pure. */
import { type Revisions, validOf } from './changed.js';
import { dayAfter, type Period } from './question.js';

export interface KnownThen {
  /** Whether all days were known. */
  readonly isWhole: boolean;
  /** Days that follow each other, in order. */
  readonly known: readonly Period[];
  /** From when on all days are known, in whole minutes, as a field has it; null: some never were. */
  readonly allFrom: string | null;
}

/** @param atMs the earlier time */
export function knownThen({ data }: Pick<Revisions, 'data'>, atMs: number): KnownThen {
  const firsts = data.map((day) => ({
    date: day.date,
    firstMs: Math.min(...validOf(day).map(({ knownFrom }) => Date.parse(knownFrom))),
  }));
  // The gateway has another reason.
  if (firsts.every(({ firstMs }) => firstMs <= atMs))
    return { isWhole: firsts.length > 0, known: [], allFrom: null };
  const known: Period[] = [];
  for (const { date, firstMs } of firsts) {
    if (firstMs > atMs) continue;
    const last = known.at(-1);
    if (last !== undefined && dayAfter(last.to, 1) === date)
      known.splice(-1, 1, { from: last.from, to: date });
    else known.push({ from: date, to: date });
  }
  const allMs = Math.max(...firsts.map(({ firstMs }) => firstMs));
  // Rounded up, as the field has no seconds.
  const minuteMs = Math.ceil(allMs / 60_000) * 60_000;
  return {
    isWhole: false,
    known,
    allFrom: Number.isFinite(allMs) ? new Date(minuteMs).toISOString().slice(0, 16) : null,
  };
}
