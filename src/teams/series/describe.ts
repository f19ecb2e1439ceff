/** Schemas of series and ledger in HTTP answers. */
import Type from 'typebox';
import { RANGES } from './shape.js';

const count = Type.Integer({ minimum: 0 });
const counts = Type.Array(count);
const time = Type.String({ format: 'date-time' });
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const RANGE = Type.Enum([...RANGES]);

export const SHOWN_SERIES = Type.Object(
  {
    range: RANGE,
    from: time,
    to: Type.String({ format: 'date-time', description: 'End of the last, current step.' }),
    stepSeconds: Type.Integer({ description: '60, 300 or 3600.' }),
    points: Type.Integer({ description: 'Length of each list, oldest first.' }),
    series: Type.Object({
      requests: counts,
      errors: Type.Array(count, {
        description: 'Answers with status 400 or higher, and errors of tools, except those in rateLimited.',
      }),
      rateLimited: counts,
      outcomes: Type.Object({
        hit: counts,
        stale: counts,
        'stale-if-error': counts,
        miss: counts,
        refresh: Type.Array(count, { description: 'With those that a caller forced.' }),
        collapsed: counts,
        failed: Type.Array(count, { description: 'Reports that could not be answered.' }),
        other: Type.Array(count, { description: 'Passed through, replayed, refused.' }),
      }),
      hitTiers: Type.Object({ memory: counts, store: counts }, { description: 'Hits by source.' }),
      platformCalls: counts,
      platformCallsSaved: counts,
      queue: Type.Array(count, {
        description: 'Longest queue for platform calls in any process. Always 0 for a team.',
      }),
      budgetLeft: Type.Array(nullable(count), {
        description:
          "All teams: lowest remaining calls in the platform's rate headers; null without such headers. One team: rest of its platform calls of the day, by its current limit.",
      }),
      latency: Type.Object({
        binsMs: Type.Array(Type.Number(), {
          description: 'Upper bounds; the last bin also has all longer requests.',
        }),
        counts: Type.Array(counts, { description: 'Requests by bin, for each point.' }),
        longestMs: Type.Array(count, {
          description: 'The longest request of each point, rounded up; 0: none, or not known.',
        }),
      }),
    }),
  },
  { title: 'Series' },
);

const SUMS = {
  requests: count,
  hitRatio: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: 'Of reports; failed ones were not answered.' }),
  ),
  platformCalls: count,
  platformCallsSaved: count,
  errors: count,
  rateLimited: count,
  p50Ms: nullable(Type.Number()),
  p99Ms: nullable(Type.Number()),
  lastSeenAt: nullable(time),
};

export const SHOWN_LEDGER = Type.Object(
  {
    range: RANGE,
    teams: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String({ description: 'The id for deleted teams and for the gateway itself.' }),
        ...SUMS,
      }),
    ),
    withoutKey: Type.Union([Type.Object(SUMS, { title: 'SeriesWithoutKey' }), Type.Null()], {
      description: 'Requests without a valid key; null if there are none.',
    }),
  },
  { title: 'SeriesOfTeams' },
);
