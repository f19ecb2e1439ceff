/** A team's write guard in the admin API and in a form. Pure. */
import type { Fault } from '../../ui/api.js';
import { bodyOf, type FieldSpec, type Values, valuesOf } from '../../ui/form-values.js';
import type { Team } from './team.js';

/** Rules by route; writes to other routes are refused. */
export type WriteGuard = NonNullable<Team['writeGuard']>;
export type GuardRule = WriteGuard[string];

export const BUDGET_FIELDS: readonly FieldSpec[] = [
  {
    name: 'budget.field',
    label: 'Budget field',
    help: 'Path of the amount in the body, such as body.budget.total',
  },
  { name: 'budget.currency', label: 'Currency', help: 'Currency of the limits, such as EUR.' },
  {
    name: 'budget.currencyField',
    label: 'Currency field',
    help: 'Path of the field that must hold this currency, such as body.currency',
  },
];
export const MOST_FIELDS: readonly FieldSpec[] = [
  { name: 'budget.maxPerCall', label: 'Maximum per call', is: 'decimal' },
  {
    name: 'budget.maxPerDay',
    label: 'Maximum per day',
    is: 'decimal',
    help: 'In the platform’s time zone.',
  },
];
export const AMOUNT_FIELDS: readonly FieldSpec[] = [
  { name: 'field', label: 'Amount field', usual: '' },
  { name: 'max', label: 'Maximum', is: 'decimal', usual: '' },
];
export const CONDITION_FIELDS: readonly FieldSpec[] = [
  {
    name: 'allowFields',
    label: 'Allowed fields of the body',
    is: 'lines',
    help: 'One per line, including the first name of each path above. Default: any; amounts without a rule are then not checked.',
  },
  {
    name: 'requireIdempotencyKey',
    label: 'Idempotency key required',
    is: 'box',
    help: 'Calls without one are refused. POST only.',
  },
];
const RULE_FIELDS = [...BUDGET_FIELDS, ...MOST_FIELDS, ...CONDITION_FIELDS];

export interface AmountDraft {
  /** Identity in this form. */
  readonly key: number;
  readonly typed: Values;
}

export interface RuleDraft extends AmountDraft {
  readonly method: string;
  readonly path: string;
  readonly amounts: readonly AmountDraft[];
}

/** `none`: writes are not guarded; `another`: from another release, stays unchanged. */
export type GuardDraft = 'none' | 'another' | readonly RuleDraft[];

type Check = (value: unknown) => boolean;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const made =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(value).every(([name, one]) => members[name]?.(one) === true);

const isRule = made({
  budget: made({
    field: isText,
    currencyField: isText,
    currency: isText,
    maxPerCall: isNumber,
    maxPerDay: isNumber,
  }),
  amounts: listOf(made({ field: isText, max: isNumber })),
  allowFields: listOf(isText),
  requireIdempotencyKey: (value) => typeof value === 'boolean',
});

/** Whether this page knows all members of a guard, which may be from another release. */
export function isKnown(guard: unknown): guard is WriteGuard {
  return isObject(guard) && Object.values(guard).every(isRule);
}

let keys = 0;

export const newAmount = (amount: unknown = { field: 'body.' }): AmountDraft => ({
  key: ++keys,
  typed: valuesOf(AMOUNT_FIELDS, amount),
});

export function newRule(route = 'POST /api/v1/', rule: GuardRule = {}): RuleDraft {
  const [method = '', path = ''] = route.split(/ (.*)/);
  const amounts = (rule.amounts ?? []).map(newAmount);
  return { key: ++keys, method, path, typed: valuesOf(RULE_FIELDS, rule), amounts };
}

/** @param guard undefined: none */
export function guardDraftOf(guard: unknown): GuardDraft {
  if (guard === undefined) return 'none';
  if (!isKnown(guard)) return 'another';
  return Object.entries(guard).map(([route, rule]) => newRule(route, rule));
}

export const routeOf = ({ method, path }: RuleDraft): string => `${method} ${path.trim()}`;

/** @returns null: no guard */
export function guardOf(draft: Exclude<GuardDraft, 'another'>): Record<string, unknown> | null {
  if (draft === 'none') return null;
  return Object.fromEntries(draft.map((rule) => [routeOf(rule), ruleOf(rule)]));
}

function ruleOf({ typed, amounts }: RuleDraft): Record<string, unknown> {
  const { budget, ...body } = bodyOf(RULE_FIELDS, typed);
  return {
    ...(budget === undefined ? {} : { budget: { field: '', ...budget } }),
    ...(amounts.length === 0 ? {} : { amounts: amounts.map((one) => bodyOf(AMOUNT_FIELDS, one.typed)) }),
    ...body,
  };
}

/** Duplicate routes, which the body, keyed by route, cannot have. */
export function routesTwice(draft: GuardDraft): Fault[] {
  if (typeof draft === 'string') return [];
  const routes = draft.map(routeOf);
  const twice = new Set(routes.filter((route, index) => routes.indexOf(route) !== index));
  return [...twice].map((route) => ({
    param: `writeGuard.${route}`,
    message: 'is in two rules: merge them, or choose another path',
  }));
}
