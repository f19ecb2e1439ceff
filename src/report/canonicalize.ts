/**
 * A report request in its one canonical form: however a query is spelt, equal questions become equal values, and
 * anything that could be read two ways is refused.
 *
 * The platform's request is built from this form and never from the caller's bytes, so that what is not in the
 * cache key cannot reach the platform.
 */
import { type FieldFault, GatewayError } from '../errors.js';
import { accountLookalikes, type GivenParameter, type LookalikeRules } from './account-lookalikes.js';
import { collectAccounts, isAccountName } from './accounts.js';
import { dayNumber } from './days.js';
import { type GatewayOptions, readGatewayOptions } from './gateway-options.js';
import { isJsonArray, type Json, JsonNumber, JsonObject, writeJson } from './json.js';
import { type Kind, nameFault, type ParameterTable } from './parameters.js';
import { resolvePeriod } from './period.js';
import { parseQueryText, type QueryPair } from './query-text.js';
import { isInteger, readJson, readText } from './values.js';

export type Place = 'query' | 'body';

const INNER_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

/** One member of the platform's request, ready to be sent where it came from. */
export interface Member {
  /** As the platform spells it, without `[]`. */
  readonly name: string;
  readonly place: Place;
  /** In a query: the pairs to send. In a body: none. */
  readonly pairs: readonly QueryPair[];
  /** In a body: the value as compact JSON text. In a query: empty. */
  readonly json: string;
}

/** An end of the period; `iso` is null when the caller left it to the platform. */
export interface PeriodEnd {
  readonly iso: string | null;
  readonly place: Place;
}

/** What an account-like parameter said. */
export interface NamedAccount {
  readonly param: string;
  readonly values: readonly string[];
}

export interface CanonicalReport {
  /** Path below `/api/v1/report/`, e.g. `campaigns/get`. */
  readonly endpoint: string;
  /** HEAD is asked as GET. */
  readonly method: 'GET' | 'POST';
  /** Everything but the period, sorted by place and name. */
  readonly members: readonly Member[];
  readonly from: PeriodEnd;
  readonly to: PeriodEnd;
  /** Value of the first account field that was given. */
  readonly account: string | null;
  /** Every account-like value, wherever it stood; policy decides on them. */
  readonly accounts: readonly NamedAccount[];
  /** Whether one of the endpoint's own account fields was given. */
  readonly namesAccount: boolean;
  /** E.g. `['date', 'campaign']`, in the order date, campaign, others. */
  readonly split: readonly string[];
  readonly spentBased: string | null;
}

export interface CanonicalRequest {
  readonly report: CanonicalReport;
  /** Parameters that look like an account, and are not checked as one; looked for when called. */
  readonly lookalikes: () => readonly string[];
  readonly options: GatewayOptions;
  /** The platform's today by which the question was read, as a day number. */
  readonly today: number;
}

export interface ReportRequest {
  readonly endpoint: string;
  readonly method: 'GET' | 'POST';
  /** The query string as received, without `?`. */
  readonly query: string;
  /** The parsed body of a POST. */
  readonly body: JsonObject | null;
}

export interface CanonicalRules extends LookalikeRules {
  readonly table: ParameterTable;
  /** The platform's today for an account (null: unknown), as a day number. */
  todayOf(account: string | null): number;
  /** When a day begins for the platform, for an account; epoch milliseconds. */
  startOfDayOf(account: string | null, day: number): number;
}

/** @throws GatewayError `invalid_query`, with one entry in `errors` for each parameter at fault */
export function canonicalize(request: ReportRequest, rules: CanonicalRules): CanonicalRequest {
  const faults: FieldFault[] = [];
  const given = [
    ...fromQuery(request.query, rules.table, faults),
    ...fromBody(request.body, rules.table, faults),
  ];
  refuseRepeats(given, faults);

  const account = accountOf(given, rules.accountFields);
  const today = rules.todayOf(account);
  const read = given
    .filter((one) => !one.name.startsWith('_'))
    .flatMap((one) => readMember(one, rules.table, today, faults));
  const options = readGatewayOptions(given.filter((one) => one.name.startsWith('_')).map(asPair), faults);
  const place: Place = request.method === 'POST' ? 'body' : 'query';
  const period = periodOf(read, options.period, today, place, faults);
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });

  const members = read
    .map((one) => one.member)
    .filter(({ name }) => name !== 'dateFrom' && name !== 'dateTo');
  return {
    options,
    today,
    lookalikes: () => lookalikesOf(given, rules),
    report: {
      endpoint: request.endpoint,
      method: request.method,
      members: members.sort(byPlaceAndName),
      ...period,
      account,
      accounts: namedAccounts(given, rules),
      namesAccount: account !== null,
      split: splitOf(read),
      spentBased: read.find((one) => one.member.name === 'spentBased')?.texts[0] ?? null,
    },
  };
}

/** One parameter as given: query values in order, or one JSON value. */
interface Given {
  readonly name: string;
  readonly list: boolean;
  readonly place: Place;
  readonly values: readonly string[];
  readonly json: Json;
}

interface Read {
  readonly member: Member;
  /** Canonical texts of a known parameter, the plain texts of an unknown one. */
  readonly texts: readonly string[];
}

function fromQuery(text: string, table: ParameterTable, faults: FieldFault[]): Given[] {
  const byName = new Map<string, { list: boolean; values: string[] }>();
  for (const { name, value } of parseQueryText(text)) {
    const own = name.startsWith('_');
    const fault = own ? null : nameFault(name, table);
    if (fault !== null) faults.push({ param: name, message: fault });
    else {
      // The gateway's own parameters take no lists: `_format[]` is an unknown name.
      const list = !own && name.endsWith('[]');
      const bare = list ? name.slice(0, -2) : name;
      const entry = byName.get(bare) ?? { list, values: [] };
      const isSet = table.kinds.get(bare) === 'set';
      if (byName.has(bare) && !isSet && !(list && entry.list)) {
        faults.push({ param: name, message: 'is given more than once' });
      }
      entry.values.push(value);
      byName.set(bare, entry);
    }
  }
  return [...byName].map(([name, { list, values }]) => ({ name, list, place: 'query', values, json: null }));
}

function fromBody(body: JsonObject | null, table: ParameterTable, faults: FieldFault[]): Given[] {
  if (body === null) return [];
  return body.names.flatMap((name, index): Given[] => {
    const fault = name.startsWith('_')
      ? 'belongs to the gateway and goes into the query'
      : nameFault(name, table);
    const listName =
      fault === null && name.endsWith('[]')
        ? 'takes its list as a JSON array, without [] in the name'
        : fault;
    if (listName !== null) {
      faults.push({ param: name, message: listName });
      return [];
    }
    const json = body.values[index] as Json;
    refuseInnerNames(name, json, faults);
    return [{ name, list: false, place: 'body', values: [], json }];
  });
}

/** Names inside of a value are held to the same grammar: control characters and dots have fooled readers before. */
function refuseInnerNames(param: string, json: Json, faults: FieldFault[]): void {
  if (isJsonArray(json)) for (const item of json) refuseInnerNames(param, item, faults);
  if (!(json instanceof JsonObject)) return;
  json.names.forEach((name, index) => {
    if (!INNER_NAME.test(name) || name in Object.prototype) {
      faults.push({
        param,
        message: `holds the member ${JSON.stringify(name)}, which is not allowed as a name`,
      });
    }
    refuseInnerNames(param, json.values[index] as Json, faults);
  });
}

function refuseRepeats(given: readonly Given[], faults: FieldFault[]): void {
  const seen = new Set<string>();
  for (const { name } of given) {
    if (seen.has(name)) faults.push({ param: name, message: 'is given in both query and body' });
    seen.add(name);
  }
}

function asPair({ name, values }: Given): QueryPair {
  return { name, value: values[0] ?? '' };
}

function readMember(one: Given, table: ParameterTable, today: number, faults: FieldFault[]): Read[] {
  const kind = table.kinds.get(one.name);
  if (kind === undefined) return [readUnknown(one)];
  const read = one.place === 'query' ? readText(kind, one.values, today) : readJson(kind, one.json, today);
  if ('fault' in read) {
    faults.push({ param: one.name, message: read.fault });
    return [];
  }
  if (read.texts.length === 0) return [];
  return [{ texts: read.texts, member: knownMember(one, kind, read.texts) }];
}

function knownMember({ name, place }: Given, kind: Kind, texts: readonly string[]): Member {
  if (place === 'body') return { name, place, pairs: [], json: knownJson(kind, texts) };
  const sent = kind === 'set' ? `${name}[]` : name;
  return { name, place, pairs: texts.map((value) => ({ name: sent, value })), json: '' };
}

function knownJson(kind: Kind, texts: readonly string[]): string {
  const [first] = texts as [string];
  if (kind === 'set') return `[${texts.join(',')}]`;
  if (kind === 'flag') return 'true';
  return kind === 'int' ? first : JSON.stringify(first);
}

function readUnknown({ name, list, place, values, json }: Given): Read {
  if (place === 'body') {
    return { texts: scalarTexts(json), member: { name, place, pairs: [], json: sortedJson(json) } };
  }
  const sent = list ? `${name}[]` : name;
  return {
    texts: values,
    member: { name, place, pairs: values.map((value) => ({ name: sent, value })), json: '' },
  };
}

function scalarTexts(json: Json): string[] {
  if (json instanceof JsonNumber) return [json.text];
  return typeof json === 'string' || typeof json === 'boolean' ? [String(json)] : [];
}

/** Compact JSON with the members of every object sorted by name; numbers and lists as they were. */
export function sortedJson(json: Json): string {
  if (isJsonArray(json)) return `[${json.map(sortedJson).join(',')}]`;
  if (!(json instanceof JsonObject)) return writeJson(json);
  const members = json.names.map((name, index): [string, Json] => [name, json.values[index] as Json]);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${sortedJson(value)}`).join(',')}}`;
}

function accountOf(given: readonly Given[], fields: readonly string[]): string | null {
  for (const field of fields) {
    const one = given.find(({ name }) => name === field);
    const text = one === undefined ? null : scalar(one);
    // What is no id is refused as such; until then nothing may be looked up by it.
    if (text !== null && isInteger(text)) return text;
  }
  return null;
}

function scalar({ place, values, json }: Given): string | null {
  if (place === 'query') return values[0] ?? null;
  if (json instanceof JsonNumber) return json.text;
  return typeof json === 'string' ? json : null;
}

function namedAccounts(given: readonly Given[], rules: CanonicalRules): NamedAccount[] {
  return given.flatMap((one): NamedAccount[] => {
    const itself = rules.accountFields.includes(one.name) || isAccountName(one.name, rules.accountPattern);
    if (one.place === 'query') return itself ? [{ param: one.name, values: one.values }] : [];
    // With its name, for `{"advertiser": {"id": 2}}` names an account by both.
    const inside = collectAccounts(new JsonObject([one.name], [one.json]), rules.accountPattern);
    const values = [...new Set([...(itself ? jsonTexts(one.json) : []), ...inside])];
    return values.length > 0 ? [{ param: one.name, values }] : [];
  });
}

function lookalikesOf(given: readonly Given[], rules: CanonicalRules): string[] {
  const isOpen = (name: string) => (rules.table.kinds.get(name) ?? 'text') === 'text';
  const open = given.filter(({ name }) => !name.startsWith('_') && isOpen(name));
  const parameters = open.flatMap(({ name, place, values, json }): GivenParameter[] =>
    (place === 'body' ? [json] : values).map((value) => ({ name, value, asks: true })),
  );
  return accountLookalikes(parameters, rules);
}

function jsonTexts(json: Json): string[] {
  if (isJsonArray(json)) return json.flatMap(jsonTexts);
  if (json instanceof JsonNumber) return [json.text];
  return [typeof json === 'string' ? json : writeJson(json)];
}

/** Known splits by their flags, and whatever else says `by…` and is on. */
function splitOf(read: readonly Read[]): string[] {
  const names = read
    .filter(({ texts }) => texts.length > 0 && texts[0] !== '0' && texts[0] !== 'false' && texts[0] !== '')
    .flatMap(({ member }) => /^by([A-Z].*)$/.exec(member.name)?.[1] ?? [])
    .map((name) => name.charAt(0).toLowerCase() + name.slice(1));
  const rank = (name: string) => (name === 'date' ? 0 : name === 'campaign' ? 1 : 2);
  return names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function periodOf(
  read: readonly Read[],
  word: string | null,
  today: number,
  place: Place,
  faults: FieldFault[],
): { from: PeriodEnd; to: PeriodEnd } {
  const from = periodEnd(read, 'dateFrom', place);
  const to = periodEnd(read, 'dateTo', place);
  if (word !== null) {
    const resolved = resolvePeriod(word, today);
    if (from.iso !== null || to.iso !== null) {
      faults.push({ param: '_period', message: 'stands instead of dateFrom and dateTo, not beside them' });
    }
    return resolved === null
      ? { from, to }
      : { from: { iso: resolved.from, place }, to: { iso: resolved.to, place } };
  }
  if (
    from.iso !== null &&
    to.iso !== null &&
    (dayNumber(from.iso) as number) > (dayNumber(to.iso) as number)
  ) {
    faults.push({ param: 'dateTo', message: 'must not be before dateFrom' });
  }
  return { from, to };
}

function periodEnd(read: readonly Read[], name: string, place: Place): PeriodEnd {
  const found = read.find(({ member }) => member.name === name);
  return found === undefined
    ? { iso: null, place }
    : { iso: found.texts[0] as string, place: found.member.place };
}

function byPlaceAndName(a: Member, b: Member): number {
  const [left, right] = [`${a.place} ${a.name}`, `${b.place} ${b.name}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
