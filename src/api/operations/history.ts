/** Calls that change the history of reports. */
import Type from 'typebox';
import { accountId, closed, integer, text, titled } from '../openapi/schemas.js';
import { operations } from './operation.js';
import { CHANGE } from './past.js';

const describe = operations('history');

export const eraseHistory = describe('eraseHistory', 'owner', 'POST /admin/v1/history/erase', {
  summary: 'Erase the history of an advertiser',
  body: closed({ advertiserId: accountId('Reports that name or contain this account.') }),
  answer: Type.Object({
    erased: text('What is no longer shown.'),
    days: Type.Integer({ description: 'Report days that contained data of it.' }),
    complete: Type.Boolean({
      description:
        'False: the store did not respond. The data is no longer shown, and is removed within hours.',
    }),
  }),
});

export const listChanges = describe('listChanges', 'viewer', 'GET /admin/v1/changes', {
  summary: 'The last changes of known days',
  query: Type.Object({
    limit: Type.Optional(integer(1, 1000, 'Number of changes; 200 by default.')),
  }),
  answer: titled('LastChanges', {
    data: Type.Array(CHANGE, {
      description:
        'Messages of GET /gateway/v1/changes of the kinds restated, void and erased, over all reports: the newest first. Only the last 2,000 writes of months are looked at.',
    }),
  }),
  problems: ['invalid_query', 'not_ready'],
});

export const acceptEmpty = describe('acceptEmpty', 'owner', 'POST /admin/v1/history/accept-empty', {
  summary: 'Accept empty days as correct',
  body: closed({
    advertiserId: accountId('Reports that name only this account.'),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The path of a report, e.g. campaigns/get; all by default.',
      }),
    ),
    before: text('Days before this one, YYYY-MM-DD.'),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only count the days; change nothing.' })),
  }),
  answer: Type.Object({
    accepted: text('The days accepted as empty.'),
    days: Type.Integer({ description: 'Report days that were served from history until now.' }),
    dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was changed.' })),
  }),
});
