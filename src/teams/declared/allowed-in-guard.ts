/** What a place in a team's write guard may hold, in words. */
import { MOST_UNITS } from '../write-guard/amount.js';

const FIELD = 'a place in the body, e.g. body.budget.total';
const AMOUNT = `a number from 0 to ${MOST_UNITS}`;
const FIELD_NAMES =
  'a list of at most 200 names of members (a letter, then letters, digits, _ or -), each once';

/** By name, `*` standing for the index in a list. */
const RULE: Readonly<Record<string, string>> = {
  '': 'a mapping of budget, amounts, allowFields, requireIdempotencyKey',
  budget: 'a mapping of field, currencyField, currency, maxPerCall, maxPerDay',
  'budget.field': FIELD,
  'budget.currencyField': FIELD,
  'budget.currency': 'the code of a currency, e.g. EUR',
  'budget.maxPerCall': AMOUNT,
  'budget.maxPerDay': AMOUNT,
  amounts: 'a list of 1 to 20 mappings of field and max',
  'amounts.*': 'a mapping of field and max',
  'amounts.*.field': FIELD,
  'amounts.*.max': AMOUNT,
  allowFields: FIELD_NAMES,
  'allowFields.*': 'the name of a member: a letter, then letters, digits, _ or -',
  requireIdempotencyKey: 'true or false',
};

/** @param path below a route of the guard, e.g. `['budget', 'field']` */
export function allowedInGuard(path: readonly string[]): string {
  const name = path.map((part) => (/^[0-9]+$/.test(part) ? '*' : part)).join('.');
  if (Object.hasOwn(RULE, name)) return RULE[name] as string;
  const above = path
    .slice(0, -1)
    .join('.')
    .replace(/\.[0-9]+$/, '.*');
  return `no member of this name; there is ${RULE[Object.hasOwn(RULE, above) ? above : '']}`;
}
