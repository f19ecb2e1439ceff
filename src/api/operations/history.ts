/** Calls about the history of reports. */
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
  'Erase what was known of an advertiser',
  {
    body: Type.Object(
      { advertiserId: advertiser('Reports that name this account, or whose rows do.') },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      erased: Type.String({ description: 'What is shown no more, from now on.' }),
      days: Type.Integer({ description: 'Days of reports that had something of it.' }),
      complete: Type.Boolean({
        description:
          'False: the store did not answer. It is shown no more all the same, and removed within hours.',
      }),
    }),
  },
);

export const acceptEmpty = describe(
  'acceptEmpty',
  'owner',
  'POST /admin/v1/history/accept-empty',
  'Accept that days are empty',
  {
    body: Type.Object(
      {
        advertiserId: advertiser('Reports that name this account alone.'),
        endpoint: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description: 'The path of a report, e.g. campaigns/get; absent: all.',
          }),
        ),
        before: Type.String({ description: 'Days before this one, YYYY-MM-DD.' }),
        dryRun: Type.Optional(
          Type.Boolean({ description: 'Changes nothing, and says how many days it is about.' }),
        ),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      accepted: Type.String({ description: 'What is believed to be empty.' }),
      days: Type.Integer({ description: 'Days of reports that were given from history until now.' }),
      dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was changed.' })),
    }),
  },
);
