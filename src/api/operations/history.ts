/** Calls that change the history of reports. */
import Type from 'typebox';
import { operations } from './operation.js';

const advertiser = (description: string) =>
  Type.Integer({
    minimum: 1,
    // What JSON does not hold exactly would be another account.
    maximum: Number.MAX_SAFE_INTEGER,
    description,
  });

const describe = operations('history');

export const eraseHistory = describe(
  'eraseHistory',
  'owner',
  'POST /admin/v1/history/erase',
  'Erase the history of an advertiser',
  {
    body: Type.Object(
      { advertiserId: advertiser('Reports that name or contain this account.') },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      erased: Type.String({ description: 'What is no longer shown.' }),
      days: Type.Integer({ description: 'Report days that contained data of it.' }),
      complete: Type.Boolean({
        description:
          'False: the store did not respond. The data is no longer shown, and is removed within hours.',
      }),
    }),
  },
);

export const acceptEmpty = describe(
  'acceptEmpty',
  'owner',
  'POST /admin/v1/history/accept-empty',
  'Accept empty days as correct',
  {
    body: Type.Object(
      {
        advertiserId: advertiser('Reports that name only this account.'),
        endpoint: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description: 'The path of a report, e.g. campaigns/get; all by default.',
          }),
        ),
        before: Type.String({ description: 'Days before this one, YYYY-MM-DD.' }),
        dryRun: Type.Optional(Type.Boolean({ description: 'Only count the days; change nothing.' })),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      accepted: Type.String({ description: 'The days accepted as empty.' }),
      days: Type.Integer({ description: 'Report days that were served from history until now.' }),
      dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was changed.' })),
    }),
  },
);
