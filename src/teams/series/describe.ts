/** The form of series and ledger, for whoever asks by HTTP. */
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
    to: Type.String({ format: 'date-time', description: 'End of the last step, which is under way.' }),
    stepSeconds: Type.Integer({ description: '60, 300 or 3600.' }),
    points: Type.Integer({ description: 'Numbers in each list, the oldest first.' }),
    series: Type.Object({
      requests: counts,
      errors: Type.Array(count, { description: 'Answers from 400 on, but for those of rateLimited.' }),
      rateLimited: counts,
      outcomes: Type.Object({
        hit: counts,
        stale: counts,
        'stale-if-error': counts,
        miss: counts,
        refresh: counts,
        collapsed: counts,
        other: Type.Array(count, { description: 'Passed through, asked for afresh, replayed, refused.' }),
      }),
      hitTiers: Type.Object({ memory: counts, store: counts }, { description: 'The hits, by their source.' }),
      platformCalls: counts,
      platformCallsSaved: counts,
      queue: Type.Array(count, {
        description: 'Most that waited for a platform call in any one process. Of a team always 0.',
      }),
      budgetLeft: Type.Array(nullable(count), {
        description:
          'Of all: the least that the platform said to be left of its rate; null where it says nothing. Of a team: what was left of its daily share, by the share it has now.',
      }),
      latency: Type.Object({
        binsMs: Type.Array(Type.Number(), {
          description: 'Upper edges; what took longer is in the last one.',
        }),
        counts: Type.Array(counts, { description: 'For each point, the requests by bin.' }),
      }),
    }),
  },
  { title: 'Series' },
);

export const SHOWN_LEDGER = Type.Object(
  {
    range: RANGE,
    teams: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String({ description: 'The id, of a team that was deleted and of the gateway itself.' }),
        requests: count,
        hitRatio: nullable(Type.Number({ minimum: 0, maximum: 1 })),
        platformCalls: count,
        platformCallsSaved: count,
        errors: count,
        rateLimited: count,
        p50Ms: nullable(Type.Number()),
        p99Ms: nullable(Type.Number()),
        lastSeenAt: nullable(time),
      }),
    ),
  },
  { title: 'SeriesOfTeams' },
);
