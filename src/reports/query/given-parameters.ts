/** Reads the parameters of a report request from query and body. Ambiguous names are refused. */
import { type FieldFault, GatewayError } from '../../errors.js';
import { isRepeated, isUnknown, mustBe } from '../../lib/field-faults.js';
import { clipName } from '../../lib/http/problem.js';
import { isJsonArray, type Json, JsonNumber, JsonObject, sortedJson } from '../rows/json.js';
import {
  GATEWAY_PARAMETERS,
  isSplit,
  type Kind,
  nameFault,
  type ParameterTable,
  readJson,
  readText,
} from './parameters.js';

export interface QueryPair {
  readonly name: string;
  readonly value: string;
}

const MAX_PAIRS = 256;
const BAD_ENCODING = 'is not valid percent-encoded UTF-8 without control characters';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Decodes `a=1&b=2` strictly. `+` is a space (application/x-www-form-urlencoded), percent sequences are UTF-8, `;` is an
 * ordinary character.
 * @throws GatewayError `invalid_query` for invalid encoding, control characters, or more than 256 parameters
 */
export function parseQueryText(text: string): QueryPair[] {
  if (text === '') return [];
  const pieces = text.split('&');
  const faults: FieldFault[] = [];
  const pairs: QueryPair[] = [];
  if (pieces.length > MAX_PAIRS) {
    faults.push({ param: '', message: `has more than ${MAX_PAIRS} parameters` });
  }
  for (const piece of pieces.slice(0, MAX_PAIRS)) {
    if (piece === '') continue;
    const cut = piece.indexOf('=');
    const name = decode(cut < 0 ? piece : piece.slice(0, cut));
    const value = cut < 0 ? '' : decode(piece.slice(cut + 1));
    if (name === null || value === null) faults.push({ param: name ?? '', message: BAD_ENCODING });
    else pairs.push({ name, value });
  }
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
  return pairs;
}

function decode(text: string): string | null {
  // RFC 3986, section 2: other bytes must be percent-encoded.
  if (!/^[\x21-\x7e]*$/.test(text)) return null;
  if (!/[%+]/.test(text)) return text;
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    return CONTROL.test(decoded) ? null : decoded;
  } catch {
    return null;
  }
}

/** One fixed spelling: all but the unreserved characters of RFC 3986 are encoded. */
export function writeQueryText(pairs: readonly QueryPair[]): string {
  return pairs.map(({ name, value }) => `${encode(name)}=${encode(value)}`).join('&');
}

/** Unreserved: mostly all there is. */
const UNRESERVED = /^[A-Za-z0-9\-._~]*$/;

function encode(text: string): string {
  if (UNRESERVED.test(text)) return text;
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export type Place = 'query' | 'body';

/** One parameter: query values in order, or one JSON value. */
export interface RequestParameter {
  readonly name: string;
  readonly list: boolean;
  readonly place: Place;
  readonly values: readonly string[];
  readonly json: Json;
}

const INNER_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

export interface RawParameters {
  /** The query string as received, without `?`. */
  readonly query: string;
  /** The parsed body of a POST. */
  readonly body: JsonObject | null;
}

/** @param faults receives one entry for each invalid name */
export function readRequestParameters(
  { query, body }: RawParameters,
  table: ParameterTable,
  faults: FieldFault[],
): RequestParameter[] {
  const given = [...fromQuery(query, table, faults), ...fromBody(body, table, faults)];
  refuseRepeats(given, faults);
  return given;
}

/** Whether it is a parameter of the gateway. */
export function isOwn({ name }: RequestParameter): boolean {
  return name.startsWith('_');
}

function fromQuery(text: string, table: ParameterTable, faults: FieldFault[]): RequestParameter[] {
  const byName = new Map<string, { list: boolean; values: string[] }>();
  for (const { name, value } of parseQueryText(text)) {
    const own = name.startsWith('_');
    const fault = own ? null : nameFault(name, table);
    if (fault !== null) faults.push(fault);
    else {
      // The gateway's own parameters take no lists: `_format[]` is an unknown name.
      const list = !own && name.endsWith('[]');
      const bare = list ? name.slice(0, -2) : name;
      const entry = byName.get(bare) ?? { list, values: [] };
      const isSet = table.kinds.get(bare) === 'set';
      if (byName.has(bare) && !isSet && !(list && entry.list)) {
        faults.push(isRepeated(name));
      }
      entry.values.push(value);
      byName.set(bare, entry);
    }
  }
  return [...byName].map(([name, { list, values }]) => ({ name, list, place: 'query', values, json: null }));
}

function fromBody(body: JsonObject | null, table: ParameterTable, faults: FieldFault[]): RequestParameter[] {
  if (body === null) return [];
  return body.names.flatMap((name, index): RequestParameter[] => {
    const fault = name.startsWith('_')
      ? misplaced(name, body.values[index] as Json)
      : (nameFault(name, table) ??
        (name.endsWith('[]') ? mustBe(name, 'a JSON array, without [] in the name') : null));
    if (fault !== null) {
      faults.push(fault);
      return [];
    }
    const json = body.values[index] as Json;
    refuseInnerNames(name, json, faults);
    return [{ name, list: false, place: 'body', values: [], json }];
  });
}

/** @param name of a parameter of the gateway, in a body */
function misplaced(name: string, json: Json): FieldFault {
  if (!GATEWAY_PARAMETERS.some((known) => known === name)) return isUnknown(name, GATEWAY_PARAMETERS);
  const [value = ''] = scalarTexts(json);
  const sent = /^[\w.,:-]{1,40}$/.test(value) ? `?${name}=${value}` : name;
  return {
    param: name,
    message: 'is a gateway parameter and belongs in the query string',
    help: `Send ${sent} in the address, not in the body.`,
  };
}

/** Names inside a value follow the same grammar, because parsers differ on control characters and dots. */
function refuseInnerNames(param: string, json: Json, faults: FieldFault[]): void {
  if (isJsonArray(json)) for (const item of json) refuseInnerNames(param, item, faults);
  if (!(json instanceof JsonObject)) return;
  json.names.forEach((name, index) => {
    if (!INNER_NAME.test(name) || name in Object.prototype) {
      const message = `contains the member ${JSON.stringify(name)}, whose name is not allowed`;
      faults.push({ param, message });
    }
    refuseInnerNames(param, json.values[index] as Json, faults);
  });
}

function refuseRepeats(given: readonly RequestParameter[], faults: FieldFault[]): void {
  const seen = new Set<string>();
  for (const { name } of given) {
    const help = `Send ${clipName(name)} in the query or in the body, not in both.`;
    if (seen.has(name)) faults.push({ param: name, message: 'is given in both query and body', help });
    seen.add(name);
  }
}

/** A parameter of the platform's request. */
export interface Member {
  /** Without `[]`. */
  readonly name: string;
  readonly place: Place;
  /** In a query: the pairs to send. In a body: none. */
  readonly pairs: readonly QueryPair[];
  /** In a body: the value as compact JSON text. In a query: empty. */
  readonly json: string;
}

export interface ReadMember {
  readonly member: Member;
  /** Canonical values of a known parameter, the texts of an unknown one. */
  readonly texts: readonly string[];
}

/** @param today day number. @param faults receives faults. @returns none if it is invalid, or has no value */
export function readMember(
  one: RequestParameter,
  table: ParameterTable,
  today: number,
  faults: FieldFault[],
): ReadMember[] {
  const kind = table.kinds.get(one.name);
  if (kind === undefined) return [readUnknown(one)];
  const read = one.place === 'query' ? readText(kind, one.values, today) : readJson(kind, one.json, today);
  if ('allowed' in read) {
    faults.push(mustBe(one.name, read.allowed));
    return [];
  }
  if (read.texts.length === 0) return [];
  return [{ texts: read.texts, member: knownMember(one, kind, read.texts) }];
}

function knownMember({ name, place }: RequestParameter, kind: Kind, texts: readonly string[]): Member {
  if (place === 'body') return { name, place, pairs: [], json: knownJson(kind, texts) };
  return queryMember(name, kind === 'set', texts);
}

function queryMember(name: string, isList: boolean, values: readonly string[]): Member {
  const sent = isList ? `${name}[]` : name;
  return { name, place: 'query', pairs: values.map((value) => ({ name: sent, value })), json: '' };
}

function knownJson(kind: Kind, texts: readonly string[]): string {
  const [first] = texts as [string];
  if (kind === 'set') return `[${texts.join(',')}]`;
  if (kind === 'flag') return 'true';
  return kind === 'int' ? first : JSON.stringify(first);
}

function readUnknown({ name, list, place, values, json }: RequestParameter): ReadMember {
  if (place === 'body') {
    return { texts: scalarTexts(json), member: { name, place, pairs: [], json: sortedJson(json) } };
  }
  return { texts: values, member: queryMember(name, list, values) };
}

function scalarTexts(json: Json): string[] {
  if (json instanceof JsonNumber) return [json.text];
  return typeof json === 'string' || typeof json === 'boolean' ? [String(json)] : [];
}

/** All parameters `by…` that are on. */
export function splitOf(read: readonly ReadMember[]): string[] {
  const names = read
    .filter(({ texts }) => texts.length > 0 && texts[0] !== '0' && texts[0] !== 'false' && texts[0] !== '')
    .flatMap(({ member: { name } }) =>
      isSplit(name) ? `${name.charAt(2).toLowerCase()}${name.slice(3)}` : [],
    );
  const rank = (name: string) => (name === 'date' ? 0 : name === 'campaign' ? 1 : 2);
  return names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
