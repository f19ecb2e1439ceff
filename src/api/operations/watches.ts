/** Calls of the data plane about watches: reports that the gateway reads by itself. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import { BODY_PROBLEMS, json, NAMED_REPORT_PROBLEMS } from '../openapi/operation.js';
import { closed, date, integer, nullable, text, time, titled } from '../openapi/schemas.js';
import { THE_REPORT } from './learned.js';
import { operations } from './operation.js';

const reports = operations('reports');

/** Of a watch. */
export const [MAX_AGE_DAYS, DEFAULT_AGE_DAYS] = [400, 45];

const PRICE = {
  callsPerDay: Type.Number({
    description:
      'Platform calls a day, as of today. The first reads of days that are not cached yet come on top.',
  }),
  days: Type.Integer({ description: 'Days that are watched today.' }),
};

const WATCH = titled('Watch', {
  id: text('Chosen by the team.'),
  endpoint: Type.String(),
  query: text('As it was sent; a relative period is resolved each day.'),
  maxAgeDays: Type.Integer(),
  createdAt: time,
  state: Type.Enum(['proving', 'watching', 'done'], {
    description:
      'proving: it is not proven yet that single days of such reports add up, so nothing is read; watching: days are read when due; done: all days of a fixed period are older than maxAgeDays.',
  }),
  reason: nullable(Type.String(), 'Why nothing is read now; null: nothing prevents it.'),
  period: nullable(
    Type.Object({ from: date, to: date }),
    'Of the report today; null: the team may not see it.',
  ),
  ...PRICE,
  readAt: nullable(time, 'The last read by the gateway itself that worked.'),
  nextReadAt: nullable(time, 'When days are due next; null: never, or unknown.'),
  failed: nullable(
    Type.Object({ at: time, message: text('For people.') }),
    'The last read, if it failed. It is repeated after a rest.',
  ),
});

const WATCH_PRICE = titled('WatchPrice', PRICE);

export type WatchAnswer = Frozen<Static<typeof WATCH>>;
export type WatchPriceAnswer = Frozen<Static<typeof WATCH_PRICE>>;

const IN_PATH = { id: 'Id of a watch: lower-case letters, digits and hyphens, at most 40.' };

export const listWatches = reports('listWatches', 'key', 'GET /gateway/v1/watches', {
  summary: 'Reports of your team that the gateway reads by itself',
  answer: titled('Watches', {
    data: Type.Array(WATCH),
    meta: Type.Object({ count: Type.Integer(), maxCount: Type.Integer() }),
  }),
  about: 'By id.',
  problems: ['invalid_query', 'scope_missing', 'rate_limited'],
});

export const getWatch = reports('getWatch', 'key', 'GET /gateway/v1/watches/:id', {
  summary: 'A report that the gateway reads by itself',
  path: IN_PATH,
  answer: WATCH,
  about: 'The watch.',
  problems: ['invalid_query', 'scope_missing', 'not_found', 'rate_limited'],
});

export const putWatch = reports('putWatch', 'key', 'PUT /gateway/v1/watches/:id', {
  summary: 'Have the gateway read the days of a report by itself, or see what that costs',
  path: IN_PATH,
  query: Type.Object({
    dryRun: Type.Optional(Type.Enum(['0', '1', 0, 1], { description: '1: answer the price, keep nothing.' })),
  }),
  body: closed(
    {
      ...THE_REPORT,
      maxAgeDays: Type.Optional(
        integer(
          1,
          MAX_AGE_DAYS,
          `Days are read until they are so old, final or not; ${DEFAULT_AGE_DAYS} by default.`,
        ),
      ),
    },
    'NewWatch',
  ),
  answers: {
    200: json(
      Type.Union([WATCH, WATCH_PRICE]),
      'The watch, which replaces the former one; with dryRun=1 the price alone.',
      ['cache-control'],
    ),
    201: json(WATCH, 'The new watch.', ['cache-control']),
  },
  problems: [...NAMED_REPORT_PROBLEMS, ...BODY_PROBLEMS, 'not_divisible', 'conflict'],
});

export const deleteWatch = reports('deleteWatch', 'key', 'DELETE /gateway/v1/watches/:id', {
  summary: 'Stop reading a report',
  path: IN_PATH,
  answers: { 204: { description: 'Deleted.', headers: ['cache-control'] } },
  problems: ['invalid_query', 'scope_missing', 'not_found', 'rate_limited', 'conflict'],
});
