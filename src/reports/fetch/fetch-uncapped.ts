/**
 * Fetches an answer whose row count may be a cap again in halves, until they are not capped. If they do not have more rows, the
 * count was a coincidence. If they do, and include all rows of the answer, they replace it. If they have other rows, the answer is
 * served unchanged, and never split. What still has the row count of a known cap is marked.
 */

import type { Gateway } from '../gateway.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { Period } from '../query/period.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { Entry, EntryHeader, RowsHeader } from '../rows/entry.js';
import { type CapRules, isCut } from '../rows/freshness.js';
import { joinEntries } from '../rows/join-entries.js';
import { finalDaysGained, provesCap, rowsOf, rowsOfEachDay } from '../rows/proves-cap.js';
import { type Fetched, type FetchedAnswer, withHeader } from './fetched.js';

/** Why a capped answer is not split. */
export const CAPPED = 'its row count may be a row cap';

type FetchRange = (range: Period) => Promise<Fetched>;

/** @returns the answer, or its halves */
export async function fetchUncapped(
  g: Gateway,
  what: ReportSeries,
  fetched: Fetched,
  fetchRange: FetchRange,
): Promise<Fetched> {
  if (fetched.kind === 'refusal') return fetched;
  return markCut(await uncap(g, what, fetched, fetchRange), g.policy.rulesFor(what.report));
}

async function uncap(
  g: Gateway,
  what: ReportSeries,
  fetched: FetchedAnswer,
  fetchRange: FetchRange,
): Promise<FetchedAnswer> {
  const { range, rowCount, days } = fetched;
  const name = `${range.from}/${range.to}`;
  const halves = halvesOf(range);
  if (days === null) return fetched;
  const count = { rows: rowCount, perDay: rowsOfEachDay(days) };
  if (!g.caps.suspects(what, name, count) || halves === null) return fetched;
  const answers: FetchedAnswer[] = [];
  for (const half of halves) {
    const part = await fetchRange(half);
    const answer = part.kind === 'refusal' ? null : await uncap(g, what, part, fetchRange);
    answers.push(answer?.days ? answer : cutPart(fetched, days, half));
  }
  const parts = daysOf(answers);
  const rules = g.policy.rulesFor(what.report);
  // Days that still change may have lost rows between the calls.
  const isGained = finalDaysGained(days, parts, rules);
  if (!isGained && rowsOf(parts) <= rowCount) {
    g.caps.clear(what, name, count);
    return isProven(parts, rowCount, rules)
      ? withHeader(fetched, { complete: true })
      : together(fetched, answers, rules);
  }
  // One half alone with more rows than the whole: there is no such cap.
  const isExceeded = parts.some(({ header }) => header.answerRows > rowCount);
  if (isExceeded || !provesCap(days, parts, rules)) {
    g.logger.warn(
      { endpoint: what.report.endpoint, range: name, rows: rowCount, inHalves: rowsOf(parts) },
      'a possibly truncated answer and its halves have different rows; serving it unchanged',
    );
    return { ...fetched, days: null, splittable: { ok: false, reason: CAPPED } };
  }
  // Or gained some: that proves nothing for other reports.
  if (isGained) await g.caps.confirm(what, rowCount);
  return together(fetched, answers, rules);
}

const daysOf = (answers: readonly FetchedAnswer[]) => answers.flatMap(({ days }) => days ?? []);

/** Whether halves without more rows prove that the answer is complete: not if one of them has the same row count, or is cut. */
function isProven(parts: readonly Entry<RowsHeader>[], rowCount: number, rules: CapRules): boolean {
  return parts.every(({ header }) => {
    const { answerRows, complete, flaws } = header;
    if (isCut(header, rules) || flaws?.some(({ code }) => code === 'rows_capped')) return false;
    return complete === true || answerRows < rowCount;
  });
}

/** For a half that the platform refuses: what the whole answer has of its days. */
function cutPart(
  fetched: FetchedAnswer,
  days: readonly Entry<RowsHeader>[],
  { from, to }: Period,
): FetchedAnswer {
  const isWithin = ({ header: { lastDay } }: Entry) =>
    lastDay !== null && lastDay >= (from ?? '') && lastDay <= (to ?? '');
  return { ...fetched, days: days.filter(isWithin).map(cut) };
}

/** Marks what has the row count of a known cap. */
function markCut(answer: FetchedAnswer, rules: CapRules): FetchedAnswer {
  const mark = <H extends EntryHeader>(entry: Entry<H>) => markIfCut(entry, rules);
  const { rows, bytes, days } = answer;
  const marked = rows && mark(rows);
  return {
    ...answer,
    rows: marked,
    bytes: bytes && mark(bytes),
    days: days?.map(mark) ?? null,
    flaws: marked?.header.flaws ?? answer.flaws,
  };
}

function markIfCut<H extends EntryHeader>(entry: Entry<H>, rules: CapRules): Entry<H> {
  return isCut(entry.header, rules) ? cut(entry) : entry;
}

function cut<H extends EntryHeader>({ header, body }: Entry<H>): Entry<H> {
  const { answerRows = 0, flaws = [] } = header;
  return { header: { ...header, flaws: [...flaws, { code: 'rows_capped', rows: answerRows }] }, body };
}

function together(capped: FetchedAnswer, halves: readonly FetchedAnswer[], rules: CapRules): FetchedAnswer {
  const days = daysOf(halves).map((day) => markIfCut(day, rules));
  return {
    ...capped,
    days,
    rows: capped.rows === null ? null : joinEntries(days),
    rowCount: rowsOf(days),
    storable: halves.every(({ storable }) => storable),
  };
}

/** @returns null for a single day */
function halvesOf({ from, to }: Period): [Period, Period] | null {
  if (from === null || to === null || from === to) return null;
  const dates = daysBetween(from, to);
  const middle = dates[Math.ceil(dates.length / 2) - 1] as string;
  const next = isoDay((dayNumber(middle) as number) + 1);
  return [
    { from, to: middle },
    { from: next, to },
  ];
}
