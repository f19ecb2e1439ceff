/** A team's write guard: its schema, the rule for a call, and checks beyond the schema. Pure. */
import Type, { type Static } from 'typebox';
import type { FieldFault } from '../../errors.js';
import { type Frozen, recordForm } from '../../lib/record.js';
import { isCountable, MOST_UNITS } from './amount.js';

const Field = Type.String({
  pattern: '^body(\\.[A-Za-z][A-Za-z0-9_-]{0,63}){1,8}$',
  description: 'Path of a field in the body, e.g. body.budget.total.',
});

const limit = (description: string) => Type.Number({ minimum: 0, maximum: MOST_UNITS, description });

const Budget = Type.Object(
  {
    field: Field,
    currencyField: Type.Optional({ ...Field, description: 'Path of the currency, e.g. body.currency.' }),
    currency: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z]{3,8}$',
        description: 'The currency of the limits; currencyField must hold exactly this text.',
      }),
    ),
    maxPerCall: Type.Optional(
      limit('Maximum amount of one call, in units of the currency, up to 6 decimals.'),
    ),
    maxPerDay: Type.Optional(limit("Maximum total of a day's calls, in the platform's time zone.")),
  },
  { additionalProperties: false },
);

const Amount = Type.Object(
  { field: Field, max: limit('Maximum value of the field.') },
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
        description: 'Allowed members of the body; any by default.',
      }),
    ),
    requireIdempotencyKey: Type.Optional(
      Type.Boolean({ description: 'Refuse a call without an idempotency-key.' }),
    ),
  },
  { additionalProperties: false, title: 'WriteGuardRule' },
);
export type GuardRule = Frozen<Static<typeof GuardRule>>;

/** Route to rule. Writes to other routes are refused. */
export const WriteGuard = Type.Record(Type.String(), GuardRule, {
  maxProperties: 100,
  description:
    'Limits of writes by route (POST /api/v1/campaign/create; * as the last segment matches any). Writes to other routes are refused.',
});
export type WriteGuard = Frozen<Static<typeof WriteGuard>>;

/** Whether this release knows every member of a stored guard, which must not be enforced in part. */
export const isWriteGuard = recordForm(WriteGuard).is;

/**
 * The rule for a call: its exact route first, then one that ends in `*`; else null.
 * @returns `route` as listed in the guard: reservations are keyed by it
 */
export function ruleFor(
  guard: WriteGuard,
  method: string,
  path: string,
): { readonly route: string; readonly rule: GuardRule } | null {
  const exact = `${method} ${path}`;
  const any = `${method} ${path.slice(0, path.lastIndexOf('/'))}/*`;
  for (const route of [exact, any]) {
    const rule = Object.hasOwn(guard, route) ? guard[route] : undefined;
    if (rule !== undefined) return { route, rule };
  }
  return null;
}

interface NamedField {
  readonly param: string;
  readonly field: string;
}

export function fieldsOf({ budget, amounts = [] }: GuardRule): NamedField[] {
  const fields = amounts.map(({ field }, index) => ({ param: `amounts.${index}.field`, field }));
  const { field, currencyField } = budget ?? {};
  if (currencyField !== undefined) fields.unshift({ param: 'budget.currencyField', field: currencyField });
  if (field !== undefined) fields.unshift({ param: 'budget.field', field });
  return fields;
}

/** Names that no parser changes or splits. */
const PLAIN = /^[A-Za-z0-9_-]+$/;
/** Names with a special meaning in programming languages. */
const SPECIAL_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

export const PLAIN_NAMES =
  'names of letters a-z, digits, _ and -, and not __proto__, constructor or prototype';

export function isPlainName(name: string): boolean {
  return PLAIN.test(name) && !SPECIAL_NAMES.has(name);
}

/** `body.budget.total` → `budget`, `total` */
export function segmentsOf(field: string): readonly string[] {
  return field.split('.').slice(1);
}

/**
 * Whether a parser may take a different name for the next part, or several parts, of a path: `Budget`, `budget_total` and
 * `budgetTotal` for `budget.total`.
 * @param rest the parts still to be matched
 */
export function looksLike(name: string, rest: readonly string[]): boolean {
  if (name === rest[0]) return false;
  const folded = fold(name);
  let joined = '';
  for (const segment of rest) {
    joined += fold(segment);
    if (folded === joined) return true;
  }
  return false;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

// Faults beyond the schema: routes that never match, limits that contradict each other.

/** Only paths that pass the path gate can match. */
const ROUTE = /^(POST|PUT|PATCH|DELETE) \/api\/v1(?:\/[A-Za-z0-9._~-]+)*(?:\/[A-Za-z0-9._~-]+|\/\*)$/;

/** @param place path of the team in the body or file, e.g. `teams.0.` */
export function guardFaults(guard: WriteGuard | null | undefined, place = ''): FieldFault[] {
  return Object.entries(guard ?? {}).flatMap(([route, rule]) =>
    [...ruleFaults(route, rule)].map(([param, message]) => ({
      param: [`${place}writeGuard`, route, ...(param === '' ? [] : [param])].join('.'),
      message,
    })),
  );
}

/** `param`: path in the rule; empty: the rule itself. */
type Faults = Generator<readonly [param: string, message: string]>;

function* ruleFaults(route: string, rule: GuardRule): Faults {
  if (!ROUTE.test(route)) {
    yield ['', 'must be a method and a path, e.g. POST /api/v1/campaign/create, with * for a last segment'];
    return;
  }
  if (rule.budget === undefined && rule.amounts === undefined) {
    yield ['', 'must have budget or amounts'];
    return;
  }
  yield* budgetFaults(rule);
  yield* decimalFaults(rule);
  yield* fieldFaults(rule);
  yield* allowFaults(rule);
  if (rule.requireIdempotencyKey === true && !route.startsWith('POST '))
    yield ['requireIdempotencyKey', 'must be absent: only a POST can carry an idempotency-key'];
}

function* budgetFaults({ budget }: GuardRule): Faults {
  if (budget === undefined) return;
  const { currencyField, currency, maxPerCall, maxPerDay } = budget;
  if (maxPerCall === undefined && maxPerDay === undefined)
    yield ['budget', 'must have maxPerCall or maxPerDay'];
  if (maxPerCall !== undefined && maxPerDay !== undefined && maxPerCall > maxPerDay)
    yield ['budget.maxPerCall', `must be at most maxPerDay, which is ${maxPerDay}`];
  if (currencyField !== undefined && currency === undefined)
    yield ['budget.currency', 'is required with currencyField'];
}

function* decimalFaults({ budget, amounts = [] }: GuardRule): Faults {
  const limits: [string, number | undefined][] = [
    ['budget.maxPerCall', budget?.maxPerCall],
    ['budget.maxPerDay', budget?.maxPerDay],
    ...amounts.map(({ max }, index): [string, number] => [`amounts.${index}.max`, max]),
  ];
  for (const [param, limit] of limits)
    if (limit !== undefined && !isCountable(limit)) yield [param, 'must have at most 6 decimals'];
}

/** Fields that contradict each other, or that would make every body invalid. */
function* fieldFaults(rule: GuardRule): Faults {
  const fields = fieldsOf(rule);
  for (const [index, { param, field }] of fields.entries()) {
    const names = segmentsOf(field);
    const [first = ''] = names;
    if (!names.every(isPlainName)) yield [param, 'contains a name that is not allowed in guarded bodies'];
    for (const other of fields.slice(0, index)) {
      const fault = pairFault(field, other);
      if (fault !== null) yield [param, fault];
    }
    if (rule.allowFields !== undefined && !rule.allowFields.includes(first))
      yield [param, `must start with a member of allowFields: add ${first}`];
  }
}

function* allowFaults(rule: GuardRule): Faults {
  for (const [index, name] of (rule.allowFields ?? []).entries()) {
    const like = fieldsOf(rule).find(({ field }) => looksLike(name, segmentsOf(field)));
    if (!isPlainName(name)) yield [`allowFields.${index}`, 'is a name that is not allowed in guarded bodies'];
    else if (like !== undefined)
      yield [`allowFields.${index}`, `is too similar to ${like.field}, and would be refused`];
  }
}

function pairFault(field: string, other: NamedField): string | null {
  if (field === other.field) return `is the same as ${other.param}`;
  if (`${field}.`.startsWith(`${other.field}.`) || `${other.field}.`.startsWith(`${field}.`))
    return `conflicts with ${other.param}: one contains the other`;
  return areSimilar(segmentsOf(field), segmentsOf(other.field))
    ? `is too similar to ${other.param}, and would be refused`
    : null;
}

function areSimilar(a: readonly string[], b: readonly string[]): boolean {
  const parting = a.findIndex((name, index) => name !== b[index]);
  const [restA, restB] = [a.slice(parting), b.slice(parting)];
  return looksLike(restA[0] ?? '', restB) || looksLike(restB[0] ?? '', restA);
}
