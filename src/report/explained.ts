/** What is told of a report's entries, and of what an answer costs, as schema and as type: to teams, and more of it to operators. */
import Type, { type Static, type TSchema } from 'typebox';
import type { Frozen } from '../record.js';
import { PassedOn, ShownWarning } from './describe.js';

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

/** How it is answered. */
export const EXPLAINED_POLICY = {
  mode: Type.Enum(['days', 'whole']),
  because: Type.String(),
  restatementDays: Type.Number(),
  staleWhileRevalidateSeconds: Type.Number(),
  staleIfErrorSeconds: Type.Number(),
};

export const EXPLAINED = {
  report: Type.Object(
    { endpoint: Type.String(), query: Type.String({ description: 'URL-encoded.' }) },
    { description: 'As it was named; an address that was given is read so.' },
  ),
  inWords: Type.Object({
    kept: Type.String({ description: 'By day or as a whole, and why.' }),
    price: Type.String({ description: 'What an answer costs now.' }),
  }),
  price: Type.Object({
    calls: Type.Integer({ description: 'Platform calls before the answer; as many as calls has.' }),
    behind: Type.Integer({ description: 'Those behind it.' }),
  }),
  canonical: Type.Object({ method: Type.String(), target: Type.String(), body: nullable(Type.String()) }),
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
};

/** What a team is told: of its own question, and nothing of what was learned from those of others. */
export const TeamExplanation = Type.Object(
  { ...EXPLAINED, policy: Type.Object(EXPLAINED_POLICY) },
  { title: 'TeamExplanation' },
);
export type TeamExplanation = Frozen<Static<typeof TeamExplanation>>;
