/** Calls about the cache: purge, explain. */
import Type from 'typebox';
import { Explanation } from '../data/explain.js';
import { operations, TEAM_ID } from './operation.js';

const Preview = Type.Object(
  {
    days: Type.Union([Type.Integer(), Type.Null()], { description: 'In it; null where an end is open.' }),
    reports: Type.Array(
      Type.Object({
        endpoint: Type.String(),
        advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
        split: Type.Array(Type.String()),
      }),
      { description: 'Reports by date in use that would be asked for anew, as far as they are known.' },
    ),
    report: Type.Union(
      [
        Type.Object({
          series: Type.String(),
          entries: Type.Integer(),
          days: Type.Array(Type.String({ format: 'date' })),
          rows: Type.Integer(),
          bytes: Type.Integer({ description: 'As they are kept in the store.' }),
        }),
        Type.Null(),
      ],
      { description: 'What is kept of the report that query names, and would be forgotten.' },
    ),
  },
  { title: 'PurgePreview', description: 'With dryRun.' },
);

const describe = operations('cache');

export const purgeCache = describe(
  'purgeCache',
  'operator',
  'POST /admin/v1/cache/purge',
  'Forget cached reports',
  {
    body: Type.Object(
      {
        all: Type.Optional(Type.Literal(true, { description: 'Everything.' })),
        advertiserId: Type.Optional(
          Type.Integer({
            minimum: 1,
            // What JSON does not hold exactly would be another account.
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'Reports that name or hold this account, and those that name none.',
          }),
        ),
        endpoint: Type.Optional(Type.String({ minLength: 1, description: 'E.g. campaigns/get.' })),
        from: Type.Optional(Type.String({ description: 'First day, YYYY-MM-DD.' })),
        to: Type.Optional(Type.String({ description: 'Last day, YYYY-MM-DD.' })),
        dryRun: Type.Optional(Type.Boolean({ description: 'Only say what would be forgotten.' })),
        query: Type.Optional(
          Type.String({
            description:
              'With dryRun and endpoint: the query of a report, of which is told what is kept and would be forgotten.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      purged: Type.String({ description: 'What is forgotten.' }),
      dryRun: Type.Optional(Type.Literal(true, { description: 'Nothing was forgotten.' })),
      preview: Type.Optional(Preview),
    }),
  },
);

export const explainCache = describe(
  'explainCache',
  'viewer',
  'GET /admin/v1/cache/explain',
  'What the cache holds of a report',
  {
    query: Type.Object({
      endpoint: Type.Optional(Type.String({ description: 'The path of a report, e.g. campaigns/get.' })),
      query: Type.Optional(Type.String({ description: 'The URL-encoded query of a report.' })),
      url: Type.Optional(
        Type.String({
          description:
            'In the place of endpoint and query: the address of a report as it was copied, of whatever host, or its path with the query.',
        }),
      ),
      team: Type.Optional(
        Type.String({
          pattern: TEAM_ID,
          description: 'Id of a team: its default format decides where the query names none.',
        }),
      ),
    }),
    answer: Explanation,
    about: 'The answer.',
    problems: ['invalid_query'],
  },
);
