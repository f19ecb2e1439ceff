/** Calls that change the history of reports. */
import Type from 'typebox';
import { accountId, closed, text } from '../openapi/schemas.js';
import { operations } from './operation.js';

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
