/** The form of a team's write guard: which writes it may make, and what they may cost. Pure. */
import Type, { type Static } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Frozen } from '../../lib/record.js';
import { MOST_UNITS } from './amount.js';

const Field = Type.String({
  pattern: '^body(\\.[A-Za-z][A-Za-z0-9_-]{0,63}){1,8}$',
  description: 'A place in the body, e.g. body.budget.total.',
});

const limit = (description: string) => Type.Number({ minimum: 0, maximum: MOST_UNITS, description });

const Budget = Type.Object(
  {
    field: Field,
    currencyField: Type.Optional({ ...Field, description: 'Where the currency stands, e.g. body.currency.' }),
    currency: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z]{3,8}$',
        description: 'The currency of the limits; what stands in currencyField has to be this very text.',
      }),
    ),
    maxPerCall: Type.Optional(limit('The most that one call may name, in whole units or up to 6 decimals.')),
    maxPerDay: Type.Optional(
      limit("The most that all calls of a day may name together, by the platform's time zone."),
    ),
  },
  { additionalProperties: false },
);

const Amount = Type.Object(
  { field: Field, max: limit('The most that the field may hold.') },
  { additionalProperties: false },
);

const GuardRule = Type.Object(
  {
    budget: Type.Optional(Budget),
    amounts: Type.Optional(Type.Array(Amount, { minItems: 1, maxItems: 20 })),
    allowFields: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' }), {
        maxItems: 200,
        uniqueItems: true,
        description: 'The members that the body may have; all others are refused. Any, when not given.',
      }),
    ),
    requireIdempotencyKey: Type.Optional(
      Type.Boolean({ description: 'Refuse a call without an idempotency-key.' }),
    ),
  },
  { additionalProperties: false, title: 'WriteGuardRule' },
);
export type GuardRule = Frozen<Static<typeof GuardRule>>;

/** Route to rule; a write to a route that is not listed is refused. */
export const WriteGuard = Type.Record(Type.String(), GuardRule, {
  maxProperties: 100,
  description:
    'What writes may cost, by route (POST /api/v1/campaign/create; a last segment * stands for any one). Writes to other routes are refused.',
});
export type WriteGuard = Frozen<Static<typeof WriteGuard>>;

let validator: Validator | undefined;

/** Whether this release knows all that a stored guard says; one that it does not know whole must not be half enforced. */
export function isWriteGuard(value: unknown): value is WriteGuard {
  validator ??= Compile(WriteGuard);
  return validator.Check(value);
}

export interface FoundRule {
  /** As the guard lists it: what is reserved of a day belongs to this. */
  readonly route: string;
  readonly rule: GuardRule;
}

/** The rule for a call: that of its very route first, then one that ends in `*`; null when none is listed. */
export function ruleFor(guard: WriteGuard, method: string, path: string): FoundRule | null {
  const exact = `${method} ${path}`;
  const any = `${method} ${path.slice(0, path.lastIndexOf('/'))}/*`;
  for (const route of [exact, any]) {
    const rule = Object.hasOwn(guard, route) ? guard[route] : undefined;
    if (rule !== undefined) return { route, rule };
  }
  return null;
}
