/**
 * Stage: an answer whose row count may be a cap is asked for again in halves, until the halves are not capped. If they
 * add up the count was a coincidence; if they hold more, they are the answer. A day that is capped by itself is served
 * as the platform gave it, and never cut.
 */
import { dayNumber, daysBetween, isoDay } from '../report/days.js';
import { joinParts } from '../report/part.js';
import type { Caps } from './caps.js';
import type { Fetched, FetchedAnswer, Range } from './read-answer.js';

/** Why a capped answer is not cut. */
export const CAPPED = 'its row count may be a cap';

export type FetchUncapped = (
  what: { readonly series: string; readonly endpoint: string },
  fetched: Fetched,
  fetchRange: (range: Range) => Promise<Fetched | null>,
) => Promise<Fetched>;

export function createFetchUncapped(caps: Caps): FetchUncapped {
  return async function fetchUncapped(what, fetched, fetchRange) {
    if (fetched.kind === 'refusal' || fetched.days === null) return fetched;
    const { range, rowCount } = fetched;
    if (!caps.suspects(what.series, what.endpoint, `${range.from}/${range.to}`, rowCount)) return fetched;
    const halves = halvesOf(range);
    if (halves === null) return uncut(fetched, CAPPED);
    const answers: FetchedAnswer[] = [];
    for (const half of halves) {
      const part = await fetchRange(half);
      const whole = part === null ? null : await fetchUncapped(what, part, fetchRange);
      if (whole === null || whole.kind === 'refusal' || whole.days === null) return uncut(fetched, CAPPED);
      answers.push(whole);
    }
    const sum = answers.reduce((total, answer) => total + answer.rowCount, 0);
    if (sum === rowCount) {
      caps.clear(what.series, rowCount);
      return fetched;
    }
    return together(fetched, answers, sum);
  };
}

function uncut(fetched: FetchedAnswer, reason: string): FetchedAnswer {
  return { ...fetched, days: null, cuttable: { ok: false, reason } };
}

/** The halves hold more than the answer they were halved from: they are the answer. */
function together(capped: FetchedAnswer, halves: readonly FetchedAnswer[], rowCount: number): FetchedAnswer {
  const days = halves.flatMap((half) => half.days ?? []);
  return {
    ...capped,
    days,
    rows: capped.rows === null ? null : joinParts(days),
    rowCount,
    storable: halves.every(({ storable }) => storable),
  };
}

/** @returns null for a single day */
function halvesOf({ from, to }: Range): [Range, Range] | null {
  if (from === null || to === null || from === to) return null;
  const dates = daysBetween(from, to);
  const middle = dates[Math.ceil(dates.length / 2) - 1] as string;
  const next = isoDay((dayNumber(middle) as number) + 1);
  return [
    { from, to: middle },
    { from: next, to },
  ];
}
