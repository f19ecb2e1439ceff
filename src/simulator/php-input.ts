import { unescape as percentDecode } from 'node:querystring';
import { parseOrNull } from '../lib/json.js';

/** Parameters by PHP name. Lists and maps of a query (`a[]`, `a[x]`) are arrays. */
export type PhpInput = ReadonlyMap<string, unknown>;

// `advertiser.id` arrives as `advertiser_id` in PHP.
const ALIASES = new Map(
  ['advertiserId', 'userId', 'byDate', 'byCampaign', 'dateFrom', 'dateTo', 'spentBased', 'campaignIds'].map(
    (name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name],
  ),
);

/**
 * Parses a query or form like PHP's `parse_str`: names lose leading spaces and end at a NUL, their dots and spaces become
 * underscores, the last duplicate wins, and brackets make lists.
 */
export function parseForm(form: string): Map<string, unknown> {
  const input = new Map<string, unknown>();
  for (const pair of form.split('&')) {
    const equals = pair.indexOf('=');
    const rawName = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    const bracket = rawName.indexOf('[');
    const isList = bracket > 0 && rawName.indexOf(']', bracket) > 0;
    const name = plainName(isList ? rawName.slice(0, bracket) : rawName);
    if (name === '') continue;
    const known = input.get(name);
    if (!isList) input.set(name, value);
    else if (Array.isArray(known)) known.push(value);
    else input.set(name, [value]);
  }
  return input;
}

/**
 * The framework's input: the body (JSON of any method, or a form) over the query. A JSON body that is not an object
 * counts as none.
 * @param query without its question mark
 */
export function readInput(query: string, contentType: string, body: string): PhpInput {
  const input = query === '' ? new Map<string, unknown>() : parseForm(query);
  if (body === '') return input;
  for (const [name, value] of readBody(contentType.toLowerCase(), body)) input.set(name, value);
  return input;
}

function readBody(contentType: string, body: string): Map<string, unknown> {
  if (isJson(contentType)) {
    const members = Object.entries(parseObject(body));
    return new Map(members.map(([name, value]) => [plainName(name), value]));
  }
  return contentType.startsWith('application/x-www-form-urlencoded') ? parseForm(body) : new Map();
}

/** As the framework decides. */
export function isJson(contentType: string): boolean {
  return contentType.includes('/json') || contentType.includes('+json');
}

/** @returns the members of a JSON object; none for any other text, like the framework */
export function parseObject(text: string): Record<string, unknown> {
  const value = parseOrNull(text);
  return typeof value === 'object' ? { ...value } : {};
}

function decode(text: string): string {
  return /[%+]/.test(text) ? percentDecode(text.replaceAll('+', ' ')) : text;
}

function plainName(raw: string): string {
  const nul = raw.indexOf('\0');
  const name = (nul < 0 ? raw : raw.slice(0, nul)).replace(/^ +/, '').replace(/[. []/g, '_');
  return ALIASES.get(name) ?? name;
}
