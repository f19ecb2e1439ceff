/** Reads a report from history, for `_asOf` and `_vintage`, in place of the cache and the platform. */
import { GatewayError } from '../../errors.js';
import type { Gateway } from '../gateway.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber, daysBetween } from '../query/days.js';
import type { ReportQuestion } from '../question.js';
import { answerWithoutCall, type ReportAnswer } from '../report-answer.js';
import type { KnownDay, Past } from '../rows/answer.js';
import { byAge, expectedFinalDates, isFinal } from '../rows/freshness.js';
import { listed } from './read.js';
import { firstSeenAfterEnd, type Moment, type Revision } from './revision.js';

/**
 * @param question by date, for a period
 * @throws GatewayError `not_known_then`; `not_final`; `not_ready` while the store is away
 */
export async function readPast(
  g: Gateway,
  { report, series }: ReportQuestion,
  moment: Moment,
): Promise<{ readonly answer: ReportAnswer; readonly known: Past }> {
  const { state, generation } = g.learner.status(report);
  const dates = daysBetween(report.from as string, report.to as string);
  const unknown = unknownOf(g, report, moment);
  const days = await g.history.readDays({
    series,
    dates,
    moment,
    generation: state === 'proven' ? generation : null,
    rules: g.policy.rulesFor(report),
    ...(unknown && { unknown }),
  });
  const known = days.map(({ revision, lacks, final, entry }, at): [string, KnownDay] => {
    const date = dates[at] as string;
    const { knownFrom, confirmedUntil } = revision;
    const wasFinal = final || isFinal(entry.header, g.policy.rulesFor(report));
    const ageHours = moment === 'first' ? ageHoursOf(g, report, date, revision) : null;
    return [date, { knownFrom, confirmedUntil, lacks, final: wasFinal, ageHours }];
  });
  return {
    known: { atMs: typeof moment === 'object' ? moment.at : null, days: new Map(known) },
    answer: answerWithoutCall(days.map(({ entry }) => entry)),
  };
}

const HOUR_MS = 3_600_000;

/** Age of the day when it was first seen: from its end, in the zone of the account. */
function ageHoursOf({ canonical }: Gateway, { account }: Report, date: string, revision: Revision): number {
  const endMs = canonical.startOfDayOf(account, (dayNumber(date) as number) + 1);
  return Math.max(0, ((firstSeenAfterEnd(revision) ?? revision.knownFrom) - endMs) / HOUR_MS);
}

/** The error for days without such numbers. */
function unknownOf(
  { canonical, policy }: Gateway,
  report: Report,
  moment: Moment,
): ((dates: readonly string[]) => GatewayError) | null {
  if (moment === 'first')
    return (dates) =>
      new GatewayError('not_known_then', {
        detail: `No recorded data since the end of ${listed(dates)}.`,
        help: 'Request past days without _vintage: they are recorded from then on.',
      });
  if (moment !== 'final') return null;
  return (dates) => {
    const rules = policy.rulesFor(report);
    const { old, young } = byAge(dates, canonical.todayOf(report.account), rules);
    if (old.length === 0)
      return new GatewayError('not_final', { detail: `Not final yet: ${expectedFinalDates(young, rules)}.` });
    if (young.length === 0)
      return new GatewayError('not_final', {
        detail: `Old enough to be final, but not fetched since: ${listed(old)}.`,
        help: 'Request them without _vintage, and repeat when they have been fetched again.',
      });
    return new GatewayError('not_final', {
      detail: `Not final yet: ${expectedFinalDates(young, rules)}.`,
      help: `Request ${listed(old)} without _vintage: old enough, but not fetched since. Repeat when the others are final.`,
    });
  };
}
