/** Checks a write against every rule of its team's guard. Pure. */
import { hash } from 'node:crypto';
import { isJsonArray, type Json, JsonNumber, JsonObject, writeJson } from '../../reports/rows/json.js';
import { limitOf, showAmount, toMillionths } from './amount.js';
import { fieldsOf, type GuardRule, isPlainName, looksLike, PLAIN_NAMES, segmentsOf } from './rule.js';

/** The result of one rule. */
export interface Check {
  /** E.g. `budget.maxPerCall`. */
  readonly rule: string;
  readonly passed: boolean;
  /** Value in the request, for people. */
  readonly value: string;
  /** Allowed value, for people. */
  readonly limit: string;
}

export interface WriteFacts {
  /** Names of query parameters to be sent. */
  readonly query: readonly string[];
  /** The body, or the reason why it is not an unambiguous JSON object. */
  readonly body: JsonObject | string;
  readonly hasIdempotencyKey: boolean;
}

/** Characters of a shown value, and of a number in one. */
const [MAX_SHOWN, MAX_NUMBER] = [100, 30];

/** @returns the checks, and the amount of the rule's budget, millionths; null if there is none, or it is unreadable */
export function checkWrite(rule: GuardRule, { query, body, hasIdempotencyKey }: WriteFacts) {
  // Platforms merge query and body, and either may win.
  const checks = [check('query', query.length === 0, list(query), 'only parameters of the gateway')];
  if (rule.requireIdempotencyKey === true) {
    const given = hasIdempotencyKey ? 'given' : 'none';
    checks.push(check('requireIdempotencyKey', hasIdempotencyKey, given, 'an idempotency-key'));
  }
  if (typeof body === 'string') {
    checks.push(check('body', false, body.replace(/\.$/, ''), 'one JSON object'));
    return { checks, amount: null };
  }
  checks.push(check('body', true, 'a JSON object', 'one JSON object'), namesCheck(rule, body));
  const { allowFields, budget, amounts = [] } = rule;
  if (allowFields !== undefined) checks.push(allowedCheck(allowFields, body));
  if (budget !== undefined) checks.push(...budgetChecks(budget, body));
  for (const [index, amount] of amounts.entries())
    checks.push(amountCheck(`amounts.${index}.max`, body, amount));
  const amount = budget === undefined ? null : amountAt(body, budget.field);
  return { checks, amount: typeof amount === 'number' ? amount : null };
}

export function check(rule: string, passed: boolean, value: string, limit: string): Check {
  return { rule, passed, value: clip(escaped(value)), limit };
}

function clip(text: string, most = MAX_SHOWN): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Names as JSON, which escapes them. */
function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map(quoted).join(', ');
}

const quoted = (text: string): string => escaped(JSON.stringify(text));

/** Request values are shown in ASCII, so that no letter can pass for another. */
function escaped(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** All names in the body are unambiguous, and none is similar to one on the path to an amount. */
function namesCheck(rule: GuardRule, body: JsonObject): Check {
  const odd = [...oddNames(body)];
  if (odd.length > 0) return check('names', false, list(odd), PLAIN_NAMES);
  const alike = fieldsOf(rule).flatMap(({ field }) =>
    lookalikes(body, segmentsOf(field)).map((name) => ({ name, field })),
  );
  const [first] = alike;
  if (first === undefined) return check('names', true, 'plain', PLAIN_NAMES);
  const names = alike.map(({ name }) => name);
  return check('names', false, list(names), `no name similar to ${first.field}`);
}

function* oddNames(value: Json): Generator<string> {
  if (isJsonArray(value)) for (const item of value) yield* oddNames(item);
  if (!(value instanceof JsonObject)) return;
  for (const name of value.names) if (!isPlainName(name)) yield name;
  for (const member of value.values) yield* oddNames(member);
}

/** Names that are similar to those on the path to a field. */
function lookalikes(value: Json | undefined, rest: readonly string[]): string[] {
  const [next, ...further] = rest;
  if (!(value instanceof JsonObject) || next === undefined) return [];
  return [...value.names.filter((name) => looksLike(name, rest)), ...lookalikes(value.get(next), further)];
}

function allowedCheck(allowFields: readonly string[], body: JsonObject): Check {
  const others = body.names.filter((name) => !allowFields.includes(name));
  const shown = list(others.length === 0 ? body.names : others);
  return check('allowFields', others.length === 0, shown, allowFields.join(', ') || 'none');
}

function budgetChecks(budget: NonNullable<GuardRule['budget']>, body: JsonObject): Check[] {
  const { field, currencyField, currency, maxPerCall } = budget;
  return [
    ...(currencyField === undefined ? [] : [currencyCheck(body, currencyField, currency ?? '')]),
    maxPerCall === undefined
      ? amountCheck('budget.field', body, { field })
      : amountCheck('budget.maxPerCall', body, { field, max: maxPerCall, currency }),
  ];
}

function currencyCheck(body: JsonObject, field: string, currency: string): Check {
  const found = find(body, field);
  const shown = found.value === undefined ? found.why : `${field} is ${show(found.value)}`;
  return check('budget.currency', found.value === currency, shown, currency);
}

interface Limited {
  readonly field: string;
  /** Absent: any amount. */
  readonly max?: number;
  readonly currency?: string | undefined;
}

function amountCheck(rule: string, body: JsonObject, { field, max, currency }: Limited): Check {
  const amount = amountAt(body, field);
  const limit = max === undefined ? Number.POSITIVE_INFINITY : limitOf(max);
  const most = max === undefined ? null : showAmount(limit, currency);
  if (typeof amount === 'string')
    return check(rule, false, amount, most === null ? 'an amount' : `an amount of 0 to ${most}`);
  const shown = `${field} is ${showAmount(amount, currency)}`;
  return check(rule, amount <= limit, shown, most === null ? 'an amount' : `at most ${most}`);
}

/** @returns millionths, or the reason why there is no amount */
function amountAt(body: JsonObject, field: string): number | string {
  const { value, why } = find(body, field);
  if (value === undefined) return why;
  if (!(value instanceof JsonNumber)) return `${field} is ${show(value)}, not a number`;
  const amount = toMillionths(value.text);
  if (amount !== null) return amount;
  return `${field} is ${show(value)}, which is ${value.text.startsWith('-') ? 'negative' : 'too large'}`;
}

/** Only through objects: a list on the path is ambiguous. */
function find(body: JsonObject, field: string): { readonly value: Json | undefined; readonly why: string } {
  let value: Json = body;
  let place = 'body';
  for (const name of segmentsOf(field)) {
    if (!(value instanceof JsonObject))
      return { value: undefined, why: `${place} is ${show(value)}, not an object` };
    const next = value.get(name);
    place = `${place}.${name}`;
    if (next === undefined) return { value: undefined, why: `${place} is missing` };
    value = next;
  }
  return { value, why: '' };
}

function show(value: Json): string {
  if (isJsonArray(value)) return 'a list';
  if (value instanceof JsonObject) return 'an object';
  return typeof value === 'string' ? quoted(value) : clip(writeJson(value), MAX_NUMBER);
}

/**
 * Equal for byte-identical writes of one team, so that the checked write is the one that is sent.
 * @param target path and query to be sent
 */
export function checksumOf({
  team,
  method,
  target,
  body,
}: {
  readonly team: string;
  readonly method: string;
  readonly target: string;
  readonly body: Buffer | null;
}): string {
  const head = Buffer.from(`${JSON.stringify([team, method, target])}\n`);
  return `sha256:${hash('sha256', Buffer.concat([head, body ?? Buffer.alloc(0)]), 'base64url')}`;
}
