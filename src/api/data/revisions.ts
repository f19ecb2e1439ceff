/** Recorded revisions of each day of a report: `GET /gateway/v1/revisions`. */

import { shownSeries } from '../../reports/feed/messages.js';
import type { ListedRevision } from '../../reports/history/diff-days.js';
import type { Reports } from '../../reports/reports.js';
import { showId } from '../../reports/rows/answer-meta.js';
import { refuseForeignAccounts } from '../../teams/policy/authorize.js';
import { type AskCall, ask, daysAskedAbout } from './ask.js';

export async function showRevisions(g: Reports, call: AskCall): Promise<object> {
  const asked = await ask(g, call);
  const dates = daysAskedAbout(asked);
  const { report, series } = asked.question;
  const { generation, state } = g.learner.status(report);
  const isProven = state === 'proven';
  const rules = g.policy.rulesFor(report);
  const { days, accounts } = await g.history.listRevisions({ series, dates, generation, isProven, rules });
  refuseForeignAccounts(asked.caller, accounts);
  call.trace.mark('answer');
  return {
    data: days.map(({ date, revisions }) => ({ date, revisions: revisions.map(show) })),
    meta: {
      endpoint: report.endpoint,
      advertiserId: showId(report.account),
      period: { from: report.from, to: report.to },
      split: report.split,
      series: shownSeries(series),
      revisionCount: days.reduce((sum, { revisions }) => sum + revisions.length, 0),
    },
  };
}

function show({ revision, kind, void: why, totals }: ListedRevision): object {
  const { id, knownFrom, confirmedUntil, ageDays, rowCount, thinnedFrom, missedFrom } = revision;
  return {
    id,
    knownFrom: timeOf(knownFrom),
    confirmedUntil: timeOf(confirmedUntil),
    ageDays,
    kind,
    ...(why === null ? {} : { void: why }),
    rowCount,
    totals,
    ...(revision.unconfirmed === true ? { unconfirmed: true } : {}),
    ...(thinnedFrom === undefined ? {} : { thinnedFrom: timeOf(thinnedFrom) }),
    ...(missedFrom === undefined ? {} : { missedFrom: timeOf(missedFrom) }),
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
