/** What is wrong with a write guard beyond the form of its members: routes that never match, limits that contradict. Pure. */
import type { FieldFault } from '../../errors.js';
import { isCountable } from './amount.js';
import type { GuardRule, WriteGuard } from './rule.js';

// Names of members that one platform reads as one thing and another as another. Pure.

/** What no reader folds, splits or normalises: no dot or bracket, nothing beyond ASCII, nothing that cannot be seen. */
const PLAIN = /^[A-Za-z0-9_-]+$/;
/** What languages in which platforms are written take for more than a name. */
const MEANT_OTHERWISE = new Set(['__proto__', 'constructor', 'prototype']);

export const PLAIN_NAMES =
  'names of letters a-z, digits, _ and -, and not __proto__, constructor or prototype';

export function isPlainName(name: string): boolean {
  return PLAIN.test(name) && !MEANT_OTHERWISE.has(name);
}

/** `body.budget.total` as the names that lead to it. */
export function segmentsOf(field: string): readonly string[] {
  return field.split('.').slice(1);
}

/**
 * Whether a name may be read as the next step, or the next steps at once, to a field, and is not that step itself:
 * `Budget`, `budget_total` and `budgetTotal` for `budget.total`.
 * @param rest the names that still lead to the field
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

/** A path as the path gate lets it through: another one could never match. */
const ROUTE = /^(POST|PUT|PATCH|DELETE) \/api\/v1(?:\/[A-Za-z0-9._~-]+)*(?:\/[A-Za-z0-9._~-]+|\/\*)$/;

/** @param place of the guard's team in a body or file, e.g. `teams.0.` */
export function guardFaults(guard: WriteGuard | null | undefined, place = ''): FieldFault[] {
  return Object.entries(guard ?? {}).flatMap(([route, rule]) =>
    ruleFaults(route, rule).map(({ param, message }) => ({
      param: [`${place}writeGuard`, route, ...(param === '' ? [] : [param])].join('.'),
      message,
    })),
  );
}

function ruleFaults(route: string, rule: GuardRule): FieldFault[] {
  if (!ROUTE.test(route)) {
    return [
      {
        param: '',
        message: 'must be a method and a path, e.g. POST /api/v1/campaign/create, with * for a last segment',
      },
    ];
  }
  if (rule.budget === undefined && rule.amounts === undefined) {
    return [{ param: '', message: 'must have budget or amounts' }];
  }
  return [
    ...budgetFaults(rule),
    ...countFaults(rule),
    ...fieldFaults(rule),
    ...(rule.requireIdempotencyKey === true && !route.startsWith('POST ')
      ? [
          {
            param: 'requireIdempotencyKey',
            message: 'must be left out: only a POST can carry an idempotency-key',
          },
        ]
      : []),
  ];
}

function budgetFaults({ budget }: GuardRule): FieldFault[] {
  if (budget === undefined) return [];
  const { currencyField, currency, maxPerCall, maxPerDay } = budget;
  const faults: FieldFault[] = [];
  if (maxPerCall === undefined && maxPerDay === undefined)
    faults.push({ param: 'budget', message: 'must have maxPerCall or maxPerDay' });
  if (maxPerCall !== undefined && maxPerDay !== undefined && maxPerCall > maxPerDay)
    faults.push({ param: 'budget.maxPerCall', message: `must be at most maxPerDay, which is ${maxPerDay}` });
  if (currencyField !== undefined && currency === undefined)
    faults.push({ param: 'budget.currency', message: 'must be given, for currencyField is held to it' });
  return faults;
}

function countFaults({ budget, amounts = [] }: GuardRule): FieldFault[] {
  const limits: [string, number | undefined][] = [
    ['budget.maxPerCall', budget?.maxPerCall],
    ['budget.maxPerDay', budget?.maxPerDay],
    ...amounts.map(({ max }, index): [string, number] => [`amounts.${index}.max`, max]),
  ];
  return limits
    .filter(([, value]) => value !== undefined && !isCountable(value))
    .map(([param]) => ({ param, message: 'must have at most 6 decimals' }));
}

interface NamedField {
  readonly param: string;
  readonly field: string;
}

/** Every field that a rule reads. */
export function fieldsOf({ budget, amounts = [] }: GuardRule): NamedField[] {
  return [
    ...(budget === undefined ? [] : [{ param: 'budget.field', field: budget.field }]),
    ...(budget?.currencyField === undefined
      ? []
      : [{ param: 'budget.currencyField', field: budget.currencyField }]),
    ...amounts.map(({ field }, index) => ({ param: `amounts.${index}.field`, field })),
  ];
}

/** Fields that no body could have together, or that every body with them would be refused for. */
function fieldFaults(rule: GuardRule): FieldFault[] {
  const fields = fieldsOf(rule);
  return [
    ...fields.flatMap(({ param, field }, index) => [
      ...nameFaults(param, field),
      ...fields.slice(0, index).flatMap((other) => pairFault(param, field, other)),
      ...allowFault(param, field, rule.allowFields),
    ]),
    ...(rule.allowFields ?? []).flatMap((name, index) => {
      const param = `allowFields.${index}`;
      if (!isPlainName(name)) return [{ param, message: 'is a name that no guarded body may have' }];
      const like = fields.find(({ field }) => looksLike(name, segmentsOf(field)));
      return like === undefined
        ? []
        : [{ param, message: `may be read as ${like.field}, and would be refused` }];
    }),
  ];
}

function nameFaults(param: string, field: string): FieldFault[] {
  return segmentsOf(field).every(isPlainName)
    ? []
    : [{ param, message: 'holds a name that no guarded body may have' }];
}

function pairFault(param: string, field: string, other: NamedField): FieldFault[] {
  if (field === other.field) return [{ param, message: `is ${other.param} already` }];
  if (`${field}.`.startsWith(`${other.field}.`) || `${other.field}.`.startsWith(`${field}.`))
    return [{ param, message: `cannot stand beside ${other.param}: one holds the other` }];
  return mayBeTakenFor(segmentsOf(field), segmentsOf(other.field))
    ? [{ param, message: `may be read as ${other.param}, and would be refused` }]
    : [];
}

function mayBeTakenFor(a: readonly string[], b: readonly string[]): boolean {
  const parting = a.findIndex((name, index) => name !== b[index]);
  const [restA, restB] = [a.slice(parting), b.slice(parting)];
  return looksLike(restA[0] ?? '', restB) || looksLike(restB[0] ?? '', restA);
}

function allowFault(param: string, field: string, allowed: readonly string[] | undefined): FieldFault[] {
  const [first = ''] = segmentsOf(field);
  return allowed === undefined || allowed.includes(first)
    ? []
    : [{ param, message: `needs ${first} in allowFields, or every call would be refused` }];
}
