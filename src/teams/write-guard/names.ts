/** Names of members that one platform reads as one thing and another as another. Pure. */

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
