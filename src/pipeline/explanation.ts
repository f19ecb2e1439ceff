/** What `explain` tells of a report, as schema and as type. */
import Type, { type Static, type TSchema } from 'typebox';
import { Divisibility } from '../divisibility/state.js';
import type { Frozen } from '../record.js';
import { PassedOn, ShownWarning } from '../report/describe.js';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const date = Type.String({ format: 'date' });

const ENTRY = {
  state: Type.Enum(['fresh', 'final', 'stale', 'missing'], {
    description:
      'final: fresh, and past restatement; stale: past freshness, still of use; missing: the platform must be asked.',
  }),
  final: Type.Boolean(),
  asOf: nullable(Type.String({ format: 'date-time' })),
  ageSeconds: nullable(Type.Integer()),
  ttlSeconds: nullable(Type.Integer({ description: 'Freshness left; negative when it is over.' })),
  rows: nullable(Type.Integer()),
};
const ExplainedEntry = Type.Object(ENTRY, { title: 'ExplainedEntry' });
export type ExplainedEntry = Frozen<Static<typeof ExplainedEntry>>;

const Range = Type.Object({ from: nullable(date), to: nullable(date) }, { title: 'Range' });

const Policy = Type.Object({
  mode: Type.Enum(['days', 'whole']),
  because: Type.String(),
  divisibility: nullable(
    Type.Object(Divisibility.schema.properties, { description: 'What was learned of reports of this kind.' }),
  ),
  restatementDays: Type.Number(),
  staleWhileRevalidateSeconds: Type.Number(),
  staleIfErrorSeconds: Type.Number(),
});

export const Explanation = Type.Object(
  {
    canonical: Type.Object({ method: Type.String(), target: Type.String(), body: nullable(Type.String()) }),
    series: Type.String(),
    key: Type.String(),
    policy: Policy,
    days: nullable(
      Type.Array(Type.Object({ date, ...ENTRY }, { title: 'ExplainedDay' }), {
        description:
          'Every day of a report split by date, also while it is kept as one entry; null for other reports.',
      }),
    ),
    whole: Type.Union([ExplainedEntry, Type.Null()], {
      description: 'The one entry of a report that is not split by day.',
    }),
    refusal: nullable(
      Type.Object(
        { status: Type.Integer(), ttlSeconds: Type.Integer() },
        { description: "The platform's refusal, while it is remembered: the answer for so long." },
      ),
    ),
    calls: Type.Array(Range, {
      description: 'The platform calls that answering now would make before the answer.',
    }),
    behind: Type.Array(Range, {
      description: 'Those it would make behind the answer, for what is given past its freshness.',
    }),
    storeAway: Type.Boolean(),
    passedOn: PassedOn,
    warnings: Type.Array(ShownWarning, {
      description: 'What the answer will warn of already for its question.',
    }),
  },
  { title: 'Explanation' },
);
export type Explanation = Frozen<Static<typeof Explanation>>;
