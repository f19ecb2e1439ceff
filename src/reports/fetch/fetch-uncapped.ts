/**
 * Fetches an answer whose row count may be a cap again in halves, until they are not capped. If they do not have more rows, the
 * count was a coincidence. If they do, and include all rows of the answer, they replace it. If they have other rows, or a single
 * day is capped, the answer is served unchanged, and never split.
 */

import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { Gateway } from '../gateway.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { Period } from '../query/period.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { Entry, EntryHeader, RowsHeader } from '../rows/entry.js';
import { joinEntries } from '../rows/join-entries.js';
import { provesCap, rowsOf } from '../rows/proves-cap.js';
import type { Fetched, FetchedAnswer } from './fetched.js';

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
  const began = g.purges.seq;
  const { answer, purged } = await uncap(g, what, fetched, fetchRange);
  // The own purges do not invalidate this answer; others do.
  const isOwn = purged > 0 && g.purges.seq === began + purged;
  return isOwn && answer.kind === 'answer' ? restamped(answer, began, g.purges.seq) : answer;
}

/** @returns also the number of purges */
async function uncap(
  g: Gateway,
  what: ReportSeries,
  fetched: Fetched,
  fetchRange: FetchRange,
): Promise<{ readonly answer: Fetched; readonly purged: number }> {
  if (fetched.kind === 'refusal' || fetched.days === null) return { answer: fetched, purged: 0 };
  const { range, rowCount } = fetched;
  const name = `${range.from}/${range.to}`;
  if (!g.caps.suspects(what, name, rowCount)) return { answer: fetched, purged: 0 };
  // It is not stored: if a half proves the cap, nothing of it must be purged.
  g.caps.forget(what.series, name);
  const halves = halvesOf(range);
  if (halves === null) return { answer: unsplit(fetched), purged: 0 };
  let purged = 0;
  const answers: FetchedAnswer[] = [];
  for (const half of halves) {
    const part = await fetchRange(half);
    const whole = await uncap(g, what, part, fetchRange);
    purged += whole.purged;
    if (whole.answer.kind === 'refusal' || whole.answer.days === null)
      return { answer: unsplit(fetched), purged };
    answers.push(whole.answer);
  }
  const days = answers.flatMap((half) => half.days ?? []);
  if (rowsOf(days) <= rowCount) {
    g.caps.clear(what, name, rowCount);
    return { answer: fetched, purged };
  }
  if (!provesCap(fetched.days, days, g.policy.rulesFor(what.report))) {
    g.logger.warn(
      { endpoint: what.report.endpoint, range: name, rows: rowCount, inHalves: rowsOf(days) },
      'a possibly truncated answer and its halves have different rows; serving it unchanged',
    );
    return { answer: unsplit(fetched), purged };
  }
  purged += await purgeCapped(g, what, name, rowCount);
  return { answer: together(fetched, answers, days), purged };
}

/** Purges days that were split from capped answers. @returns the number of purges */
async function purgeCapped(
  { caps, purges, now, history, background, logger }: Gateway,
  what: ReportSeries,
  range: string,
  rowCount: number,
): Promise<number> {
  const { series, report } = what;
  const others = await caps.confirm(what, range, rowCount);
  let purged = 0;
  for (const capped of others) {
    const [from, to] = capped.split('/') as [string, string];
    background(history.voidCut(report, { series, dates: daysBetween(from, to), answerRows: rowCount }));
    const scope = {
      ...(report.account === null ? {} : { advertiserId: report.account }),
      endpoint: report.endpoint,
      from,
      to,
    };
    const event = { action: 'cache.uncap', subject: report.endpoint, after: { ...scope, rowCount } };
    try {
      await purges.append(scope, auditLine(event, GATEWAY_ACTOR, now()));
      caps.forget(series, capped);
      purged += 1;
    } catch (error) {
      // This answer is correct; the next one with this cap tries again.
      logger.error({ err: error, ...scope }, 'failed to purge days split from a truncated answer');
    }
  }
  return purged;
}

/** Entries fetched after the purge `from` count as fetched after `seq`. */
function restamped(answer: FetchedAnswer, from: number, seq: number): FetchedAnswer {
  const restamp = <H extends EntryHeader>({ header, body }: Entry<H>): Entry<H> => ({
    header: header.seq < from ? header : { ...header, seq },
    body,
  });
  const { rows, bytes, days } = answer;
  return {
    ...answer,
    rows: rows === null ? null : restamp(rows),
    bytes: bytes === null ? null : restamp(bytes),
    days: days === null ? null : days.map(restamp),
  };
}

function unsplit(fetched: FetchedAnswer): FetchedAnswer {
  return { ...fetched, days: null, splittable: { ok: false, reason: CAPPED } };
}

function together(
  capped: FetchedAnswer,
  halves: readonly FetchedAnswer[],
  days: readonly Entry<RowsHeader>[],
): FetchedAnswer {
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
