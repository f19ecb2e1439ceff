/** What is known of each day of a report, and since when: `GET /gateway/v1/revisions`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Gateway } from '../../reports/gateway.js';
import type { ListedRevision } from '../../reports/history/diff-days.js';
import { showId } from '../../reports/rows/answer-meta.js';
import { refuseForeignAccounts } from '../../teams/policy/check-advertiser.js';
import { json, type Operation, shownToTeams } from '../openapi/operation.js';
import { THE_REPORT } from '../operations/learned.js';
import { ABOUT_A_REPORT, ask, daysAskedAbout, readAskCall } from './ask.js';

export function registerRevisions(app: FastifyInstance, g: Gateway): void {
  app.get(
    '/gateway/v1/revisions',
    shownToTeams('history', 'What is known of each day of a report, and since when', REVISIONS),
    async (request, reply) => {
      const call = readAskCall(request, reply);
      const asked = await ask(g, call);
      const dates = daysAskedAbout(asked);
      const { report, series } = asked.question;
      const { generation, state } = g.learner.status(report);
      const isProven = state === 'proven';
      const { days, accounts } = await g.history.listRevisions({ series, dates, generation, isProven });
      refuseForeignAccounts(asked.caller, accounts);
      call.trace.mark('answer');
      return reply.header('cache-control', 'private, no-store').send({
        data: days.map(({ date, revisions }) => ({ date, revisions: revisions.map(show) })),
        meta: {
          endpoint: report.endpoint,
          advertiserId: showId(report.account),
          period: { from: report.from, to: report.to },
          split: report.split,
          revisionCount: days.reduce((sum, { revisions }) => sum + revisions.length, 0),
        },
      });
    },
  );
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

/** A number as an answer holds it. */
export const NUMBER = Type.Union([Type.Number(), Type.String()], {
  description: 'A text where JSON does not hold the number exactly.',
});

const instant = (description: string) => Type.String({ format: 'date-time', description });

const REVISION = Type.Object(
  {
    id: Type.String({ description: 'Of the day; never used again.' }),
    knownFrom: instant('Since when its rows were known.'),
    confirmedUntil: instant('When they were last seen, to the hour.'),
    ageDays: Type.Integer({ description: 'How old the day was when it was first seen; 0: today.' }),
    kind: Type.Enum(['first', 'changed', 'method', 'void'], {
      description:
        'first of those that count; changed: the platform says something else; method: columns or token are others; void: counts no more.',
    }),
    void: Type.Optional(
      Type.String({
        description:
          'Why it counts no more: refuted (it was split under a proof that was refuted since), cut (the platform had cut the answer off), not_proven (that it may be split is not proven yet).',
      }),
    ),
    rowCount: Type.Integer(),
    totals: Type.Union([Type.Record(Type.String(), NUMBER), Type.Null()], {
      description:
        'Sums of the columns that may be summed: events and money by known names, never people, rates or ids. Null where the revision is void, or its rows can no longer be read.',
    }),
    unconfirmed: Type.Optional(
      Type.Literal(true, { description: 'No rows, and no second look has said so.' }),
    ),
    thinnedFrom: Type.Optional(instant('Since when others were known after it that were removed.')),
    missedFrom: Type.Optional(instant('Since when others may have been seen that were not written down.')),
  },
  { title: 'Revision' },
);

export const PERIOD = Type.Object({
  from: Type.String({ format: 'date' }),
  to: Type.String({ format: 'date' }),
});

const REVISIONS: Operation = {
  id: 'getRevisions',
  query: Type.Object(THE_REPORT),
  answers: {
    200: json(
      Type.Object(
        {
          data: Type.Array(
            Type.Object({ date: Type.String({ format: 'date' }), revisions: Type.Array(REVISION) }),
            { description: 'Every day of the period; a day that was never asked for has no revision.' },
          ),
          meta: Type.Object({
            endpoint: Type.String(),
            advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
            period: PERIOD,
            split: Type.Array(Type.String()),
            revisionCount: Type.Integer(),
          }),
        },
        { title: 'Revisions' },
      ),
      'Days and their revisions, the oldest first.',
      ['cache-control'],
    ),
  },
  problems: ABOUT_A_REPORT,
};
