/** Calls of the data plane about what reports said, and pins. */
import Type from 'typebox';
import { ANSWER } from '../../reports/query/describe.js';
import { type Answer, json, type ProblemCode } from '../openapi/operation.js';
import { THE_REPORT } from './learned.js';
import { operations } from './operation.js';

const history = operations('history');

const ABOUT_A_REPORT: readonly ProblemCode[] = [
  'invalid_query',
  'scope_missing',
  'advertiser_forbidden',
  'advertiser_required',
  'not_known_then',
  'rate_limited',
  'upstream_invalid_response',
];

/** A number as an answer holds it. */
const NUMBER = Type.Union([Type.Number(), Type.String()], {
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

const PERIOD = Type.Object({
  from: Type.String({ format: 'date' }),
  to: Type.String({ format: 'date' }),
});

export const getRevisions = history(
  'getRevisions',
  'key',
  'GET /gateway/v1/revisions',
  'What is known of each day of a report, and since when',
  {
    query: Type.Object(THE_REPORT),
    answer: Type.Object(
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
    about: 'Days and their revisions, the oldest first.',
    problems: ABOUT_A_REPORT,
  },
);

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

export const getDiff = history(
  'getDiff',
  'key',
  'GET /gateway/v1/diff',
  'What became of a report between two moments',
  {
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
    answer: DIFF_ANSWER,
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
  },
);

const textOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const KNOWN = {
  revision: textOrNull('meta.revision of the report; null for one that is not kept by days.'),
  endpoint: Type.String(),
  query: Type.String({ description: 'With the days that a relative period meant.' }),
  note: textOrNull('As it was given.'),
  createdAt: Type.String({ format: 'date-time' }),
  advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
  period: Type.Union([
    Type.Object({ from: textOrNull('First day.'), to: textOrNull('Last day.') }),
    Type.Null(),
  ]),
  split: Type.Array(Type.String()),
  knownAt: Type.String({
    format: 'date-time',
    description: 'When its newest day was fetched, or the moment of _asOf.',
  }),
  final: Type.Boolean({ description: 'Whether every day was final when it was pinned.' }),
  rowCount: Type.Integer(),
  bytes: Type.Integer({ description: "What it takes of the team's room." }),
};

const PIN = Type.Object({ id: Type.String(), ...KNOWN }, { title: 'Pin' });

export const listPins = history('listPins', 'key', 'GET /gateway/v1/pins', 'The pins of your team', {
  query: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '100 when not given.' })),
    after: Type.Optional(Type.String({ description: 'meta.next of the page before.' })),
  }),
  answer: Type.Object(
    {
      data: Type.Array(PIN),
      meta: Type.Object({
        count: Type.Integer({
          description: 'Pins of the team, those among them that it may no longer see.',
        }),
        bytes: Type.Integer(),
        maxCount: Type.Integer(),
        maxBytes: Type.Integer(),
        next: textOrNull('Null: there are no more.'),
      }),
    },
    { title: 'Pins' },
  ),
  about: 'The oldest first.',
  problems: ['invalid_query', 'scope_missing', 'rate_limited', 'conflict'],
});

const VALIDATORS = ['etag', 'cache-control', 'vary', 'report-revision'] as const;

const PINNED_ANSWER: Answer = {
  description: 'The rows as they were pinned: data, CSV and NDJSON stay byte for byte.',
  headers: VALIDATORS,
  content: {
    'application/json': Type.Object(
      { data: ANSWER.properties.data, meta: Type.Object({ pin: Type.String(), ...KNOWN }) },
      { title: 'PinnedReport' },
    ),
    'text/csv': Type.String({ description: 'RFC 4180, with a header line.' }),
    'application/x-ndjson': Type.String({ description: 'A row a line.' }),
  },
};

export const getPin = history('getPin', 'key', 'GET /gateway/v1/pins/:id', 'An answer that stayed', {
  path: { id: 'Id of a pin.' },
  query: Type.Object({
    _format: Type.Optional(Type.Enum(['json', 'csv', 'ndjson'])),
    _bom: Type.Optional(Type.Enum(['0', '1'], { description: '1 begins a CSV with a byte order mark.' })),
  }),
  headers: ['if-none-match'],
  answers: {
    200: PINNED_ANSWER,
    304: { description: 'The caller has it: if-none-match names its etag.', headers: VALIDATORS },
  },
  problems: [
    ...(['invalid_query', 'scope_missing', 'advertiser_forbidden', 'advertiser_required'] as const),
    ...(['not_found', 'not_acceptable', 'rate_limited', 'conflict'] as const),
  ],
});

export const deletePin = history('deletePin', 'key', 'DELETE /gateway/v1/pins/:id', 'Forget a pin', {
  path: { id: 'Id of a pin.' },
  answers: { 204: { description: 'It is gone.', headers: ['cache-control'] } },
  problems: ['invalid_query', 'scope_missing', 'not_found', 'rate_limited', 'conflict'],
});

export const createPin = history('createPin', 'key', 'POST /gateway/v1/pins', 'Keep an answer as it is', {
  body: Type.Object(
    {
      ...THE_REPORT,
      revision: Type.Optional(
        textOrNull('meta.revision of the answer that is meant; where the report has another one: 409.'),
      ),
      note: Type.Optional(textOrNull('For people; at most 1,000 characters.')),
    },
    { additionalProperties: false, title: 'NewPin' },
  ),
  answers: { 201: json(PIN, 'The pin.', ['cache-control', 'location']) },
  problems: [
    ...ABOUT_A_REPORT,
    ...(['invalid_body', 'body_too_large', 'unsupported_media_type', 'conflict', 'not_final'] as const),
    ...(['upstream_budget_exhausted', 'upstream_rejected', 'upstream_error', 'upstream_too_large'] as const),
    ...(['credential_unavailable', 'upstream_rate_limited', 'upstream_circuit_open', 'overloaded'] as const),
    'upstream_timeout',
  ],
});
