/** Calls of the data plane about the history of reports, and pins. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import { ANSWER } from '../../reports/query/describe.js';
import {
  type Answer,
  BODY_PROBLEMS,
  json,
  NAMED_REPORT_PROBLEMS,
  PLATFORM_PROBLEMS,
} from '../openapi/operation.js';
import {
  closed,
  date,
  instant,
  integer,
  nullable,
  SHOWN_ACCOUNT,
  text,
  time,
  titled,
} from '../openapi/schemas.js';
import { THE_REPORT } from './learned.js';
import { operations } from './operation.js';

const history = operations('history');

const HISTORY_PROBLEMS = [...NAMED_REPORT_PROBLEMS, 'not_known_then', 'upstream_invalid_response'] as const;

const NUMBER = Type.Union([Type.Number(), Type.String()], {
  description: 'A string if a JSON number would not be exact.',
});

const REVISION = titled('Revision', {
  id: text('Unique for the day, never reused.'),
  knownFrom: instant('When these rows were first fetched.'),
  confirmedUntil: instant('When the same rows were last fetched, to the hour.'),
  ageDays: Type.Integer({
    description: 'Age of the day when these rows were first fetched; 0: the same day.',
  }),
  kind: Type.Enum(['first', 'changed', 'method', 'void'], {
    description:
      'first: the first valid one; changed: the platform sent different rows; method: columns or token changed; void: no longer valid.',
  }),
  void: Type.Optional(
    text(
      'Why it is not valid: refuted (it was taken from an answer for a longer period, and a day turned out to have other numbers there), cut (the platform had truncated the answer), not_proven (it is not proven yet that single days add up).',
    ),
  ),
  rowCount: Type.Integer(),
  totals: nullable(
    Type.Record(Type.String(), NUMBER),
    'Sums of additive columns: events and money by known names, never people, rates or ids. Null if the revision is void or its rows can no longer be read.',
  ),
  unconfirmed: Type.Optional(
    Type.Literal(true, { description: 'No rows, and no second fetch has confirmed it.' }),
  ),
  thinnedFrom: Type.Optional(instant('Later revisions from this time on were removed.')),
  missedFrom: Type.Optional(instant('Later revisions from this time on may not have been recorded.')),
});

const PERIOD = Type.Object({ from: date, to: date });

export const getRevisions = history('getRevisions', 'key', 'GET /gateway/v1/revisions', {
  summary: 'Recorded revisions of each day of a report',
  query: Type.Object(THE_REPORT),
  answer: titled('Revisions', {
    data: Type.Array(Type.Object({ date, revisions: Type.Array(REVISION) }), {
      description: 'Every day of the period; a day that was never fetched has no revisions.',
    }),
    meta: Type.Object({
      endpoint: Type.String(),
      advertiserId: SHOWN_ACCOUNT,
      period: PERIOD,
      split: Type.Array(Type.String()),
      series: text('The report without its period, as the feed of changes names it: 22 characters.'),
      revisionCount: Type.Integer(),
    }),
  }),
  about: 'Days and their revisions, oldest first.',
  problems: HISTORY_PROBLEMS,
});

const CELL = titled('CellDiff', {
  old: Type.Unknown({ description: 'Null for an added row.' }),
  new: Type.Unknown({ description: 'Null for a removed row.' }),
  diff: Type.Optional(NUMBER),
  percent: Type.Optional(nullable(NUMBER, 'Percent of the old value, to 4 places; null if that is 0.')),
});

const DIFF_ANSWER = titled('Diff', {
  data: Type.Array(
    Type.Object(
      {
        date,
        changed: Type.Record(Type.String(), CELL),
        kind: Type.Enum(['changed', 'added', 'removed', 'method'], {
          description: 'method: columns or token changed, so the platform may not have changed the data.',
        }),
      },
      { additionalProperties: true, description: 'Also the ids of the row.' },
    ),
    { description: 'Rows that differ.' },
  ),
  meta: Type.Object({
    endpoint: Type.String(),
    advertiserId: SHOWN_ACCOUNT,
    period: PERIOD,
    split: Type.Array(Type.String()),
    from: text('The earlier moment: an instant, first, or the id of a pin.'),
    to: text('The later moment: an instant, or latest.'),
    revisionFrom: nullable(Type.String()),
    revisionTo: nullable(Type.String()),
    rowCount: Type.Integer({ description: 'Rows that differ.' }),
    methodDays: Type.Optional(Type.Array(date)),
    inexactDays: Type.Optional(
      Type.Array(date, {
        description: 'Days with revisions at that time that are no longer kept.',
      }),
    ),
  }),
});

export const getDiff = history('getDiff', 'key', 'GET /gateway/v1/diff', {
  summary: 'Changes of a report between two moments',
  query: Type.Object({
    ...THE_REPORT,
    from: Type.String({
      description:
        'An instant, a past day (its end), first (the earliest kept revision after the end of each day), or the id of a pin.',
      examples: ['2026-11-03', '2026-11-03T08:00:00Z', 'first'],
    }),
    to: Type.String({
      description: 'An instant, a past day (its end), or latest (the newest kept revision).',
      examples: ['latest'],
    }),
    _format: Type.Optional(Type.Enum(['json', 'csv'], { description: 'csv: one line per changed cell.' })),
  }),
  answer: DIFF_ANSWER,
  answers: {
    200: {
      description: 'Rows that differ. The platform is not called.',
      headers: ['cache-control', 'vary'],
      content: { 'application/json': DIFF_ANSWER, 'text/csv': text('One line per changed cell.') },
    },
  },
  problems: [...HISTORY_PROBLEMS, 'not_acceptable'],
});

const textOrNull = (description: string) => nullable(Type.String(), description);

const KNOWN = {
  revision: textOrNull('meta.revision of the report; null if it is not cached by day.'),
  endpoint: Type.String(),
  query: text('The query, with relative periods as dates.'),
  note: textOrNull('The note sent with the pin.'),
  createdAt: time,
  createdBy: textOrNull('Label of the key that pinned it, else its id; null: not recorded.'),
  advertiserId: SHOWN_ACCOUNT,
  period: nullable(Type.Object({ from: textOrNull('First day.'), to: textOrNull('Last day.') })),
  split: Type.Array(Type.String()),
  knownAt: instant('When its newest day was fetched, or the time of _asOf.'),
  final: Type.Boolean({ description: 'Whether every day was final when pinned.' }),
  rowCount: Type.Integer(),
  bytes: Type.Integer({ description: "Its share of the team's pin storage." }),
};

const PIN = titled('Pin', { id: Type.String(), ...KNOWN });

export const listPins = history('listPins', 'key', 'GET /gateway/v1/pins', {
  summary: 'The pins of your team',
  query: Type.Object({
    limit: Type.Optional(integer(1, 1000, 'Number of pins; 100 by default.')),
    after: Type.Optional(text('meta.next of the previous page.')),
  }),
  answer: titled('Pins', {
    data: Type.Array(PIN),
    meta: Type.Object({
      count: Type.Integer({
        description: 'Pins of the team, including those it may no longer see.',
      }),
      bytes: Type.Integer(),
      maxCount: Type.Integer(),
      maxBytes: Type.Integer(),
      next: textOrNull('Value of after for the next page; null: this is the last page.'),
    }),
  }),
  about: 'Oldest first.',
  problems: ['invalid_query', 'scope_missing', 'rate_limited', 'conflict'],
});

const VALIDATORS = ['etag', 'cache-control', 'vary', 'report-revision'] as const;

const PINNED_ANSWER: Answer = {
  description: 'The pinned rows. data, CSV and NDJSON never change by a byte.',
  headers: VALIDATORS,
  content: {
    'application/json': titled('PinnedReport', {
      data: ANSWER.properties.data,
      meta: Type.Object({ pin: Type.String(), ...KNOWN }),
    }),
    'text/csv': text('RFC 4180, with a header line.'),
    'application/x-ndjson': text('One row per line.'),
  },
};

export const getPin = history('getPin', 'key', 'GET /gateway/v1/pins/:id', {
  summary: 'A pinned answer',
  path: { id: 'Id of a pin.' },
  query: Type.Object({
    _format: Type.Optional(Type.Enum(['json', 'csv', 'ndjson'])),
    _bom: Type.Optional(
      Type.Enum(['0', '1', 0, 1], { description: '1: start a CSV with a byte order mark.' }),
    ),
  }),
  headers: ['if-none-match'],
  answers: {
    200: PINNED_ANSWER,
    304: { description: 'Not modified: if-none-match has its etag.', headers: VALIDATORS },
  },
  problems: [...NAMED_REPORT_PROBLEMS, 'not_acceptable', 'conflict'],
});

export const deletePin = history('deletePin', 'key', 'DELETE /gateway/v1/pins/:id', {
  summary: 'Delete a pin',
  path: { id: 'Id of a pin.' },
  answers: { 204: { description: 'Deleted.', headers: ['cache-control'] } },
  problems: ['invalid_query', 'scope_missing', 'not_found', 'rate_limited', 'conflict'],
});

export const createPin = history('createPin', 'key', 'POST /gateway/v1/pins', {
  summary: 'Pin the answer to a report',
  body: closed(
    {
      ...THE_REPORT,
      revision: Type.Optional(textOrNull('Expected meta.revision of the report; 409 if it has changed.')),
      note: Type.Optional(textOrNull('A note for people, at most 1,000 characters.')),
    },
    'NewPin',
  ),
  answers: { 201: json(PIN, 'The pin.', ['cache-control', 'location']) },
  problems: [
    ...HISTORY_PROBLEMS,
    ...BODY_PROBLEMS,
    ...PLATFORM_PROBLEMS,
    'upstream_rejected',
    'conflict',
    'not_final',
  ],
});

export const CHANGE = titled('Change', {
  type: Type.Enum(['day', 'grant'], {
    description: 'day: the rows of a day changed. grant: the list of advertisers of your team changed.',
  }),
  key: text('Of a day: value.series and the date. The newest message of a key holds.'),
  value: Type.Optional(
    Type.Object(
      {
        series: Type.Optional(text('Identifies the report without its period: 22 characters.')),
        report: Type.Optional(text('Its query without the period; absent if longer than 1 KiB.')),
        endpoint: Type.Optional(Type.String()),
        advertiserId: Type.Optional(SHOWN_ACCOUNT),
        split: Type.Optional(Type.Array(Type.String())),
        date: Type.Optional(date),
        revision: Type.Optional(text('Its id in GET /gateway/v1/revisions.')),
        knownAt: Type.Optional(instant('When these rows were first fetched.')),
        final: Type.Optional(Type.Boolean({ description: 'The day is past its restatement period.' })),
        ageDays: Type.Optional(Type.Integer({ description: 'Age of the day then; 0: the same day.' })),
        rowCount: Type.Optional(Type.Integer()),
        totals: Type.Optional(
          Type.Record(Type.String(), Type.String(), {
            description: 'Sums of additive columns: exact decimals.',
          }),
        ),
        query: Type.Optional(
          text('The query of a report with exactly these rows. The platform is not called.'),
        ),
        rows: Type.Optional(
          Type.Array(Type.Object({}, { additionalProperties: true }), { description: 'With rows=1.' }),
        ),
        superseded: Type.Optional(
          Type.Literal(true, {
            description:
              'With rows=1: without rows, as they are no longer kept, are larger than 256 KiB, or a later message of the answer replaces them.',
          }),
        ),
      },
      { description: 'Absent in a delete of a day.' },
    ),
  ),
  old_value: Type.Optional(
    Type.Object({
      revision: Type.String(),
      totals: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
  ),
  headers: Type.Object({
    operation: Type.Enum(['insert', 'update', 'delete']),
    timestamp: time,
    txid: Type.Optional(text('The same for the days of one fetch.')),
    kind: Type.Optional(
      Type.Enum(['first', 'restated', 'final', 'reopened', 'void', 'erased'], {
        description:
          'first: the day was not known. restated: the platform sent other rows. final, reopened: the same rows, and the day counts as final, or no longer. void: the rows were wrong, and earlier ones count, or none. erased: removed with its advertiser.',
      }),
    ),
    afterFinal: Type.Optional(Type.Literal(true, { description: 'Restated although the day was final.' })),
    method: Type.Optional(
      Type.Literal(true, {
        description: 'Fetched with another token or other columns: differences may come from that.',
      }),
    ),
  }),
});

export type Change = Frozen<Static<typeof CHANGE>>;

const STREAM_HEADERS = [
  'stream-next-offset',
  'stream-up-to-date',
  'stream-cursor',
  'changes-since',
  'changes-voiding',
  'cache-control',
  'vary',
  'x-content-type-options',
  'cross-origin-resource-policy',
] as const;

export const getChanges = history('getChanges', 'key', 'GET /gateway/v1/changes', {
  summary: 'Which days changed: a stream to follow',
  query: Type.Object({
    offset: Type.Optional(
      text(
        '-1: from the oldest kept change (default). now: from the end. Else stream-next-offset of an earlier answer.',
      ),
    ),
    live: Type.Optional(
      Type.Enum(['long-poll', 'sse'], {
        description:
          'long-poll: waits up to 30 s for a change. sse: sends changes for 60 s. Both need offset.',
      }),
    ),
    cursor: Type.Optional(text('stream-cursor of the last live answer.')),
    endpoint: Type.Optional(text('Reports of this endpoint only.')),
    advertiserId: Type.Optional(
      Type.Union([Type.String(), Type.Integer(), Type.Array(Type.Union([Type.String(), Type.Integer()]))], {
        description: 'Reports of these advertisers only: repeated, or with commas.',
      }),
    ),
    split: Type.Optional(
      Type.String({ description: 'Reports with this split only.', examples: ['date,campaign'] }),
    ),
    series: Type.Optional(text('One report only: value.series of a message.')),
    rows: Type.Optional(
      Type.Enum(['0', '1', 0, 1], { description: '1: each message has the rows of its day.' }),
    ),
  }),
  headers: ['if-none-match'],
  answers: {
    200: {
      description:
        'Messages of the State Protocol of Durable Streams, at most 1,000 or 1 MiB; with live=sse as events (data, control).',
      headers: [...STREAM_HEADERS, 'etag'],
      content: {
        'application/json': Type.Array(CHANGE),
        'text/event-stream': text(
          'Events data (messages) and control (streamNextOffset, streamCursor, upToDate).',
        ),
      },
    },
    204: {
      description:
        "With live=long-poll: no messages. The 30 s are over, the reader's rights changed, or the process stops.",
      headers: STREAM_HEADERS,
    },
    304: { description: 'Not modified: if-none-match has its etag.', headers: [...STREAM_HEADERS, 'etag'] },
  },
  problems: ['invalid_query', 'scope_missing', 'advertiser_forbidden', 'rate_limited', 'cursor_too_old'],
});
