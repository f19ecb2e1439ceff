/** The platform's report parameters that are known by name, and the gateway's own. One table each. */

import type { FieldFault } from '../../errors.js';
import { nearName } from '../../lib/near-name.js';
import { isJsonArray, type Json, JsonNumber } from '../rows/json.js';
import { dayNumber, isoDay } from './days.js';

/**
 * int: `[1-9][0-9]{0,15}` · flag: 1/true on, 0/false/empty off, off equals absent · date: a real calendar day ·
 * set: integers whose order and repetition mean nothing · text: opaque, empty equals absent
 */
export type Kind = 'int' | 'flag' | 'date' | 'set' | 'text';

/** Source: the platform document, "Campaign report"; `campaignIds` was seen in the wild. */
const PLATFORM_PARAMETERS: Readonly<Record<string, Kind>> = {
  byDate: 'flag',
  byCampaign: 'flag',
  dateFrom: 'date',
  dateTo: 'date',
  spentBased: 'text',
  campaignIds: 'set',
};

export const GATEWAY_PARAMETERS = [
  '_format',
  '_totals',
  '_days',
  '_period',
  '_asOf',
  '_vintage',
  '_final',
  '_fields',
  '_bom',
] as const;
export type GatewayParameter = (typeof GATEWAY_PARAMETERS)[number];

/** Known parameters by their exact name, and by their plain form, so that near misses are told apart from unknowns. */
export interface ParameterTable {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly byPlainName: ReadonlyMap<string, string>;
}

/** @param accountFields names that carry the account, e.g. `advertiserId` and `userId` */
export function parameterTable(accountFields: readonly string[]): ParameterTable {
  const kinds = new Map<string, Kind>(Object.entries(PLATFORM_PARAMETERS));
  for (const name of accountFields) kinds.set(name, 'int');
  return { kinds, byPlainName: new Map([...kinds.keys()].map((name) => [plainName(name), name])) };
}

/** What a sloppy reader might take a name for: case, `_ . - [ ]`, white space and control characters do not count. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_.\-[\]\s\p{Cc}]/gu, '');
}

/** @param meant at least one */
export function didYouMean(...meant: readonly string[]): string {
  return `did you mean ${meant.map((name) => `\`${name}\``).join(' or ')}?`;
}

const NAME = /^[A-Za-z][A-Za-z0-9_]*(\[\])?$/;

/**
 * Why a name cannot be sent to the platform, or null when it can. Known names must be spelt exactly, for the
 * platform reads `advertiser.id` and `advertiserId` as one.
 */
export function nameFault(name: string, table: ParameterTable): string | null {
  if (!NAME.test(name))
    return 'is not a parameter name: a letter, then letters, digits or _, at most one [] at the end';
  const bare = name.endsWith('[]') ? name.slice(0, -2) : name;
  // `constructor` and its like mean something else to half of all readers.
  if (bare in Object.prototype) return 'is not allowed as a parameter name';
  const known = table.byPlainName.get(plainName(name));
  if (known === undefined || known === name) return null;
  if (table.kinds.get(bare) === 'set') return null;
  return table.kinds.has(bare) ? 'takes one value, not a list' : `is unknown: ${didYouMean(known)}`;
}

/** `texts` is empty when the value means "absent"; a fault says what is allowed. */
type ReadValue = { readonly texts: readonly string[] } | { readonly fault: string };

const INT = /^[1-9][0-9]{0,15}$/;
/** The earliest day that may be asked for. */
export const FIRST_DAY = dayNumber('2000-01-01') as number;
const DAYS_AHEAD = 366;
const MAX_SET = 10_000;

/** Whether a text is an integer in its one spelling, e.g. an account id. */
export function isInteger(text: string): boolean {
  return INT.test(text);
}

const ALLOWED = {
  int: 'must be a whole number without sign or leading zero, at most 16 digits',
  flag: 'must be 1 or true (on), 0, false or empty (off)',
  set: 'must be a list of whole numbers, at least one',
  text: 'must be text',
};

/** @param today day number in the platform's time zone; dates may lie up to 366 days ahead of it */
export function readText(kind: Kind, values: readonly string[], today: number): ReadValue {
  if (kind === 'set') return readSet(values.flatMap((value) => value.split(',')));
  const value = values[0] as string;
  switch (kind) {
    case 'int':
      return isInteger(value) ? { texts: [value] } : { fault: ALLOWED.int };
    case 'flag':
      return readFlag(value);
    case 'date':
      return readDate(value, today);
    case 'text':
      return { texts: value === '' ? [] : [value] };
  }
}

/** The same for a member of a JSON body: numbers and digit texts, booleans and flags are one. */
export function readJson(kind: Kind, value: Json, today: number): ReadValue {
  if (kind === 'set')
    return readSet((isJsonArray(value) ? value : [value]).map(scalarText).flatMap(splitCommas));
  if (value === null)
    return kind === 'flag' || kind === 'text' ? { texts: [] } : { fault: fault(kind, today) };
  if (kind === 'flag' && typeof value === 'boolean') return readFlag(String(value));
  const text = scalarText(value);
  const wrongType = text === null || ((kind === 'date' || kind === 'text') && typeof value !== 'string');
  return wrongType ? { fault: fault(kind, today) } : readText(kind, [text], today);
}

function fault(kind: Kind, today: number): string {
  return kind === 'date' ? dateFault(today) : ALLOWED[kind];
}

function scalarText(value: Json): string | null {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : null;
}

function splitCommas(text: string | null): (string | null)[] {
  return text === null ? [null] : text.split(',');
}

function readFlag(value: string): ReadValue {
  if (value === '1' || value === 'true') return { texts: ['1'] };
  if (value === '' || value === '0' || value === 'false') return { texts: [] };
  return { fault: ALLOWED.flag };
}

function readDate(value: string, today: number): ReadValue {
  const day = dayNumber(value);
  const inRange = day !== null && day >= FIRST_DAY && day <= today + DAYS_AHEAD;
  return inRange ? { texts: [value] } : { fault: dateFault(today) };
}

function dateFault(today: number): string {
  return `must be a calendar day as YYYY-MM-DD, from 2000-01-01 to ${isoDay(today + DAYS_AHEAD)}`;
}

/** Sorted by value, each once: a set has no order. */
function readSet(values: readonly (string | null)[]): ReadValue {
  if (values.length === 0 || values.length > MAX_SET) return { fault: ALLOWED.set };
  const texts = new Set<string>();
  for (const value of values) {
    if (value === null || !isInteger(value)) return { fault: ALLOWED.set };
    texts.add(value);
  }
  return { texts: [...texts].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)) };
}

/** What is said of the names of a declared endpoint. */
export interface EndpointNames {
  /** Names an operator vouches for: the platform reads them, and they name no account. */
  readonly knownParameters: readonly string[];
  /** What is done with a name that nobody knows. */
  readonly unknownParameters: 'pass' | 'refuse';
}

export interface NameRules {
  readonly table: ParameterTable;
  /** Declared endpoints by their path; on others the platform may read any name. */
  readonly endpoints: ReadonlyMap<string, EndpointNames>;
}

export interface UnknownName {
  /** As it is sent, with the `[]` of a list. */
  readonly name: string;
  /** Known names it is probably meant for. */
  readonly meant: readonly string[];
}

/** An app that takes the platform's own bytes was written for the platform: what it sends was always answered somehow. */
export function isLenient(defaultFormat: string): boolean {
  return defaultFormat === 'raw';
}

/** By their plain form. What other platforms call a thing, and what an app was told for it elsewhere. */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ...['from', 'start', 'since', 'dateStart', 'startDate', 'fromDate'].map(aliasOf('dateFrom')),
  ...['to', 'end', 'until', 'dateEnd', 'endDate', 'toDate'].map(aliasOf('dateTo')),
  ...['byDay', 'byDays'].map(aliasOf('byDate')),
  aliasOf('byDate', 'byCampaign')('groupBy'),
  ...GATEWAY_PARAMETERS.map((name) => aliasOf(name)(name)),
  // `days=7` is more likely about the period than about the age of each day.
  aliasOf('_period', '_days')('days'),
]);

function aliasOf(...meant: string[]) {
  return (alias: string): [string, readonly string[]] => [plainName(alias), meant];
}

/** Names that an operator vouches for at an endpoint. */
export function declaredNames(endpoint: string, { endpoints }: NameRules): readonly string[] {
  return endpoints.get(endpoint)?.knownParameters ?? [];
}

/**
 * @param given names without the gateway's own
 * @returns those that are not known there, in the order given
 */
export function unknownNames(
  given: readonly { readonly name: string; readonly list: boolean }[],
  endpoint: string,
  rules: NameRules,
): UnknownName[] {
  const unvouched = given.filter(
    ({ name }) => !rules.table.kinds.has(name) && !declaredNames(endpoint, rules).includes(name),
  );
  if (unvouched.length === 0) return [];
  const known = [...rules.table.kinds.keys(), ...declaredNames(endpoint, rules)];
  return unvouched.map(({ name, list }) => ({
    name: list ? `${name}[]` : name,
    meant: meantFor(name, known),
  }));
}

function meantFor(name: string, known: readonly string[]): readonly string[] {
  const plain = plainName(name);
  const same = known.find((one) => plainName(one) === plain);
  if (same !== undefined) return [same];
  const alias = ALIASES.get(plain);
  if (alias !== undefined) return alias;
  const candidates = [...known, ...GATEWAY_PARAMETERS];
  const near = nearName(
    plain,
    candidates.map(plainName).filter((one) => !isAnotherThing(plain, one)),
  );
  // The first of one plain form: a known name in another spelling is refused, whoever vouches for it.
  return candidates.filter((one) => plainName(one) === near).slice(0, 1);
}

/** `campaignId` beside `campaignIds`, `dateFrom2` beside `dateFrom`: one letter off, and meant so. */
function isAnotherThing(a: string, b: string): boolean {
  return a === `${b}s` || b === `${a}s` || a.replace(/\D/g, '') !== b.replace(/\D/g, '');
}

/**
 * Why a report is not asked for by these names.
 * @param lenient for an app that speaks to the platform itself: what it always sent goes on as it did, with a warning
 */
export function unknownNameFaults(
  unknown: readonly UnknownName[],
  endpoint: string,
  rules: NameRules,
  lenient: boolean,
): FieldFault[] {
  const names = rules.endpoints.get(endpoint);
  if (names === undefined) return [];
  const allowed = [...rules.table.kinds.keys(), ...names.knownParameters].join(', ');
  return unknown.flatMap(({ name, meant }): FieldFault[] => {
    const [nearest] = meant;
    if (nearest !== undefined && (!lenient || names.unknownParameters === 'refuse')) {
      const help = `Use ${nearest}, or have ${name} allowed under report.knownParameters.`;
      return [{ param: name, message: `is unknown: ${didYouMean(...meant)}`, help }];
    }
    return names.unknownParameters === 'refuse'
      ? [{ param: name, message: `is unknown; allowed: ${allowed}` }]
      : [];
  });
}
