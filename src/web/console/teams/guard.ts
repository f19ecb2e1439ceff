/** A team's write guard: as the admin API gives it, as a form has it, and the body that a form becomes. Pure. */
import type { Fault } from '../../ui/api.js';
import { linesOf } from './lines.js';

export interface GuardRule {
  readonly budget?: {
    readonly field: string;
    readonly currencyField?: string;
    readonly currency?: string;
    readonly maxPerCall?: number;
    readonly maxPerDay?: number;
  };
  readonly amounts?: readonly { readonly field: string; readonly max: number }[];
  readonly allowFields?: readonly string[];
  readonly requireIdempotencyKey?: boolean;
}

/** Route to rule; a write to another route is refused. */
export type WriteGuard = Readonly<Record<string, GuardRule>>;

/** As typed. */
export interface AmountDraft {
  /** Of this form; it stays where others come and go. */
  readonly key: number;
  readonly field: string;
  readonly max: string;
}

export interface RuleDraft {
  readonly key: number;
  readonly method: string;
  readonly path: string;
  readonly field: string;
  readonly currencyField: string;
  readonly currency: string;
  readonly maxPerCall: string;
  readonly maxPerDay: string;
  readonly amounts: readonly AmountDraft[];
  /** One a line; empty: any. */
  readonly allowFields: string;
  readonly needsKey: boolean;
}

/** `none`: writes are not guarded; `another`: written by another release, which this page leaves as it is. */
export type GuardDraft = 'none' | 'another' | readonly RuleDraft[];

export const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

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

/** Whether this page knows all that a guard says: another release of the gateway may have written it. */
export function isKnown(guard: unknown): guard is WriteGuard {
  return isObject(guard) && Object.values(guard).every(isRule);
}

let keys = 0;

export const newAmount = (field = '', max = ''): AmountDraft => ({ key: ++keys, field, max });

export function newRule(route = 'POST /api/v1/', rule: GuardRule = {}): RuleDraft {
  const { budget, amounts = [], allowFields = [], requireIdempotencyKey = false } = rule;
  const [method = '', path = ''] = route.split(/ (.*)/);
  return {
    key: ++keys,
    method,
    path,
    field: budget?.field ?? '',
    currencyField: budget?.currencyField ?? '',
    currency: budget?.currency ?? '',
    maxPerCall: String(budget?.maxPerCall ?? ''),
    maxPerDay: String(budget?.maxPerDay ?? ''),
    amounts: amounts.map(({ field, max }) => newAmount(field, String(max))),
    allowFields: allowFields.join('\n'),
    needsKey: requireIdempotencyKey,
  };
}

/** @param guard of a team; undefined: it has none */
export function guardDraftOf(guard: unknown): GuardDraft {
  if (guard === undefined) return 'none';
  if (!isKnown(guard)) return 'another';
  return Object.entries(guard).map(([route, rule]) => newRule(route, rule));
}

export const routeOf = ({ method, path }: RuleDraft): string => `${method} ${path.trim()}`;

/** @returns null: no guard. What is typed goes to the gateway as it is, which alone judges it */
export function guardOf(draft: Exclude<GuardDraft, 'another'>): Record<string, unknown> | null {
  if (draft === 'none') return null;
  return Object.fromEntries(draft.map((rule) => [routeOf(rule), ruleOf(rule)]));
}

function ruleOf({ amounts, allowFields, needsKey, ...draft }: RuleDraft): Record<string, unknown> {
  const budget = budgetOf(draft);
  const allowed = linesOf(allowFields);
  return {
    ...(budget === null ? {} : { budget }),
    ...(amounts.length === 0
      ? {}
      : { amounts: amounts.map(({ field, max }) => ({ field: field.trim(), max: numberOf(max) })) }),
    ...(allowed.length === 0 ? {} : { allowFields: allowed }),
    ...(needsKey ? { requireIdempotencyKey: true } : {}),
  };
}

type BudgetDraft = Pick<RuleDraft, 'field' | 'currencyField' | 'currency' | 'maxPerCall' | 'maxPerDay'>;

/** @returns null where nothing of it is filled in */
function budgetOf({ field, currencyField, currency, maxPerCall, maxPerDay }: BudgetDraft) {
  const others = Object.entries({
    currencyField: currencyField.trim(),
    currency: currency.trim(),
    maxPerCall: numberOf(maxPerCall),
    maxPerDay: numberOf(maxPerDay),
  }).filter(([, value]) => value !== '');
  if (field.trim() === '' && others.length === 0) return null;
  return { field: field.trim(), ...Object.fromEntries(others) };
}

/** A text that is no number is not left out: a limit would be gone without a word. */
function numberOf(typed: string): number | string {
  const text = typed.trim();
  const number = Number(text);
  return text === '' || !Number.isFinite(number) ? text : number;
}

/** Of a guard as a body each route stands once, so that two alike have to be told before they are sent. */
export function routesTwice(draft: GuardDraft): Fault[] {
  if (typeof draft === 'string') return [];
  const routes = draft.map(routeOf);
  const twice = new Set(routes.filter((route, index) => routes.indexOf(route) !== index));
  return [...twice].map((route) => ({
    param: `writeGuard.${route}`,
    message: 'stands in two rules: make them one, or choose another path',
  }));
}
