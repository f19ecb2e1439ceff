/** `GET /gateway/v1/revisions`: days and their revisions, for people and programs. */
import type { Learner } from '../divisibility/learn.js';
import type { ListedRevision, ListRevisions } from '../history/list-revisions.js';
import type { AskCall } from '../http/ask-call.js';
import { refuseForeignAccounts } from '../policy/check-advertiser.js';
import { showId } from '../report/answer-meta.js';
import type { AskReport } from './asked-report.js';
import { daysAskedAbout } from './by-day.js';

export interface ShowRevisionsOptions {
  readonly askReport: AskReport;
  readonly listRevisions: ListRevisions;
  readonly learner: Pick<Learner, 'status'>;
}

/** @throws GatewayError */
export type ShowRevisions = (call: AskCall) => Promise<object>;

export function createShowRevisions(options: ShowRevisionsOptions): ShowRevisions {
  const { askReport, listRevisions, learner } = options;
  return async (call) => {
    const asked = await askReport.ask(call);
    const dates = daysAskedAbout(asked);
    const { report, series } = asked.question;
    const { generation, state } = learner.status(report);
    const { days, accounts } = await listRevisions({
      ...{ series, dates, generation, isProven: state === 'proven' },
    });
    refuseForeignAccounts(asked.caller, accounts);
    call.trace.mark('answer');
    return {
      data: days.map(({ date, revisions }) => ({ date, revisions: revisions.map(show) })),
      meta: {
        endpoint: report.endpoint,
        advertiserId: showId(report.account),
        period: { from: report.from.iso, to: report.to.iso },
        split: report.split,
        revisionCount: days.reduce((sum, { revisions }) => sum + revisions.length, 0),
      },
    };
  };
}

function show({ revision, kind, void: why, totals }: ListedRevision): object {
  const { id, knownFrom, confirmedUntil, ageDays, rowCount, thinnedFrom, missedFrom } = revision;
  return {
    id,
    knownFrom: instant(knownFrom),
    confirmedUntil: instant(confirmedUntil),
    ageDays,
    kind,
    ...(why === null ? {} : { void: why }),
    rowCount,
    totals,
    ...(revision.unconfirmed === true ? { unconfirmed: true } : {}),
    ...(thinnedFrom === undefined ? {} : { thinnedFrom: instant(thinnedFrom) }),
    ...(missedFrom === undefined ? {} : { missedFrom: instant(missedFrom) }),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
