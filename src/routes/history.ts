/** What was said of a report, and when: `GET /gateway/v1/revisions`, `GET /gateway/v1/diff`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type AskCall, readAskCall } from '../http/ask-call.js';
import type { ReportReply } from '../http/report-call.js';
import { json, type Operation, type ProblemCode, shownToTeams } from '../openapi/operation.js';

export interface HistoryRoutes {
  readonly showRevisions: (call: AskCall) => Promise<object>;
  readonly showDiff: (call: AskCall) => Promise<ReportReply>;
}

export function registerHistory(app: FastifyInstance, { showRevisions, showDiff }: HistoryRoutes): void {
  app.get(
    '/gateway/v1/revisions',
    shownToTeams('history', 'What is known of each day of a report, and since when', REVISIONS),
    async (request, reply) =>
      reply.header('cache-control', NO_STORE).send(await showRevisions(readAskCall(request, reply))),
  );
  app.get(
    '/gateway/v1/diff',
    shownToTeams('history', 'What became of a report between two moments', DIFF),
    async (request, reply) => {
      const { status, headers, body } = await showDiff(readAskCall(request, reply));
      return reply
        .code(status)
        .headers(headers)
        .send(Buffer.concat(body ?? []));
    },
  );
}

const NO_STORE = 'private, no-store';

/** The parameters that name a report. */
export const THE_REPORT = {
  endpoint: Type.String({ description: 'The path of a report.', examples: ['campaigns/get'] }),
  query: Type.String({
    description:
      'The query of the report as one value. Where it stands in an address, & is %26 and = is %3D in it.',
    examples: ['advertiserId=1&byDate=1&_period=last_7_days'],
  }),
};

export const ABOUT_A_REPORT: readonly ProblemCode[] = [
  'invalid_query',
  'scope_missing',
  'advertiser_forbidden',
  'advertiser_required',
  'not_known_then',
  'rate_limited',
  'upstream_invalid_response',
];

const instant = (description: string) => Type.String({ format: 'date-time', description });
const NUMBER = Type.Union([Type.Number(), Type.String()], {
  description: 'A text where JSON does not hold the number exactly.',
});

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

const PERIOD = Type.Object({ from: Type.String({ format: 'date' }), to: Type.String({ format: 'date' }) });

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

const CELL = Type.Object(
  {
    old: Type.Unknown({ description: 'Null for a row that was added.' }),
    new: Type.Unknown({ description: 'Null for a row that was removed.' }),
    diff: Type.Optional(NUMBER),
    percent: Type.Optional(
      Type.Union([NUMBER, Type.Null()], { description: 'Of the old value, to 4 places; null from 0.' }),
    ),
  },
  { title: 'CellDiff' },
);

const DIFF_ANSWER = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          date: Type.String({ format: 'date' }),
          changed: Type.Record(Type.String(), CELL),
          kind: Type.Enum(['changed', 'added', 'removed', 'method'], {
            description:
              'method: columns or token are others, so it need not be the platform that changed it.',
          }),
        },
        { additionalProperties: true, description: 'Beside these: the ids of the row.' },
      ),
      { description: 'Rows that differ.' },
    ),
    meta: Type.Object({
      endpoint: Type.String(),
      advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
      period: PERIOD,
      split: Type.Array(Type.String()),
      from: Type.String({ description: 'The earlier moment: an instant, first, or the id of a pin.' }),
      to: Type.String({ description: 'The later moment: an instant, or latest.' }),
      revisionFrom: Type.Union([Type.String(), Type.Null()]),
      revisionTo: Type.Union([Type.String(), Type.Null()]),
      rowCount: Type.Integer({ description: 'Rows that differ.' }),
      methodDays: Type.Optional(Type.Array(Type.String({ format: 'date' }))),
      inexactDays: Type.Optional(
        Type.Array(Type.String({ format: 'date' }), {
          description: 'Something else was seen of them by then that is not kept.',
        }),
      ),
    }),
  },
  { title: 'Diff' },
);

const DIFF: Operation = {
  id: 'getDiff',
  query: Type.Object({
    ...THE_REPORT,
    from: Type.String({
      description:
        'An instant, a day that is over (its end), first (the earliest kept since each day was over), or the id of a pin.',
      examples: ['2026-11-03', '2026-11-03T08:00:00Z', 'first'],
    }),
    to: Type.String({
      description: 'An instant, a day that is over (its end), or latest (the newest kept).',
      examples: ['latest'],
    }),
    _format: Type.Optional(Type.Enum(['json', 'csv'], { description: 'csv: a line for each cell.' })),
  }),
  answers: {
    200: {
      description: 'Rows that differ. The platform is not asked.',
      headers: ['cache-control', 'vary'],
      content: {
        'application/json': DIFF_ANSWER,
        'text/csv': Type.String({ description: 'A line for each cell that differs.' }),
      },
    },
  },
  problems: [...ABOUT_A_REPORT, 'not_acceptable'],
};
