/** Tables of the known report parameters of the platform, and of the gateway's own; and checks of names and values. */

import type { FieldFault } from '../../errors.js';
import { isUnknown } from '../../lib/field-faults.js';
import { didYouMean, editsInDoubt, isWithin, nearName, plainName } from '../../lib/near-name.js';
import { isJsonArray, type Json, JsonNumber } from '../rows/json.js';
import { dayNumber, isoDay } from './days.js';

/**
 * Type of a value. int: `[1-9][0-9]{0,15}` · flag: see {@link flagOf}, off equals absent · date: a calendar day ·
 * set: integers, order and duplicates are ignored · text: opaque, empty equals absent
 */
export type Kind = 'int' | 'flag' | 'date' | 'set' | 'text';

/** Source: the platform document, "Campaign report"; `campaignIds` is undocumented. */
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

/** Known parameters by exact name, and by plain name to detect misspelt ones. */
export interface ParameterTable {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly byPlainName: ReadonlyMap<string, string>;
}

/** @param accountFields e.g. `advertiserId` and `userId` */
export function parameterTable(accountFields: readonly string[]): ParameterTable {
  const kinds = new Map<string, Kind>(Object.entries(PLATFORM_PARAMETERS));
  for (const name of accountFields) kinds.set(name, 'int');
  return { kinds, byPlainName: new Map([...kinds.keys()].map((name) => [plainName(name), name])) };
}

const NAME = /^[A-Za-z][A-Za-z0-9_]*(\[\])?$/;

/** Null: the name is not refused. Known names must be spelt exactly: for the platform `advertiser.id` is `advertiserId`. */
export function nameFault(param: string, table: ParameterTable): FieldFault | null {
  if (!NAME.test(param)) {
    const message = 'is not a parameter name: a letter, then letters, digits or _, at most one [] at the end';
    return { param, message };
  }
  if (table.kinds.has(param)) return null;
  const bare = param.endsWith('[]') ? param.slice(0, -2) : param;
  // Such as `constructor`.
  if (bare in Object.prototype) return { param, message: 'is not allowed as a parameter name' };
  const known = table.byPlainName.get(plainName(param));
  if (known === undefined) return null;
  if (table.kinds.get(bare) === 'set') return null;
  if (!table.kinds.has(bare)) return isUnknown(param, [known]);
  return { param, message: 'takes one value, not a list', help: `Send ${bare} once, without [].` };
}

/** `texts` is empty if the value equals "absent"; `allowed`: what it must be instead. */
type ReadValue = { readonly texts: readonly string[] } | { readonly allowed: string };

const INT = /^[1-9][0-9]{0,15}$/;
/** The earliest day that can be requested. */
export const FIRST_DAY = dayNumber('2000-01-01') as number;
const DAYS_AHEAD = 366;
const MAX_SET = 10_000;

/** E.g. an account id. */
export function isInteger(text: string): boolean {
  return INT.test(text);
}

const ALLOWED = {
  int: 'a whole number without sign or leading zero, at most 16 digits',
  flag: '1 or true (on), 0, false or empty (off)',
  set: 'a list of whole numbers, at least one',
  text: 'text',
};

/** @param today day number in the platform's time zone */
export function readText(kind: Kind, values: readonly string[], today: number): ReadValue {
  if (kind === 'set') return readSet(values.flatMap((value) => value.split(',')));
  const value = values[0] as string;
  switch (kind) {
    case 'int':
      return isInteger(value) ? { texts: [value] } : { allowed: ALLOWED.int };
    case 'flag':
      return readFlag(value);
    case 'date':
      return readDate(value, today);
    case 'text':
      return { texts: value === '' ? [] : [value] };
  }
}

/** For a member of a JSON body: numbers equal digit texts, booleans equal flags. */
export function readJson(kind: Kind, value: Json, today: number): ReadValue {
  if (kind === 'set')
    return readSet(
      (isJsonArray(value) ? value : [value]).flatMap((one) => scalarText(one)?.split(',') ?? null),
    );
  if (value === null)
    return kind === 'flag' || kind === 'text' ? { texts: [] } : { allowed: allowedFor(kind, today) };
  if (kind === 'flag' && typeof value === 'boolean') return readFlag(String(value));
  const text = scalarText(value);
  const wrongType = text === null || ((kind === 'date' || kind === 'text') && typeof value !== 'string');
  return wrongType ? { allowed: allowedFor(kind, today) } : readText(kind, [text], today);
}

function allowedFor(kind: Kind, today: number): string {
  return kind === 'date' ? allowedDay(today) : ALLOWED[kind];
}

/** The text of a number or string. */
export function scalarText(value: Json): string | null {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : null;
}

function readFlag(value: string): ReadValue {
  const isOn = flagOf(value);
  return isOn === null ? { allowed: ALLOWED.flag } : { texts: isOn ? ['1'] : [] };
}

/** @returns null for other texts */
export function flagOf(value: string): boolean | null {
  if (value === '1' || value === 'true') return true;
  return value === '' || value === '0' || value === 'false' ? false : null;
}

function readDate(value: string, today: number): ReadValue {
  const day = dayNumber(value);
  const inRange = day !== null && day >= FIRST_DAY && day <= today + DAYS_AHEAD;
  return inRange ? { texts: [value] } : { allowed: allowedDay(today) };
}

function allowedDay(today: number): string {
  return `a calendar day as YYYY-MM-DD, from 2000-01-01 to ${isoDay(today + DAYS_AHEAD)}`;
}

/** Distinct, sorted by value. */
function readSet(values: readonly (string | null)[]): ReadValue {
  if (values.length === 0 || values.length > MAX_SET) return { allowed: ALLOWED.set };
  const texts = new Set<string>();
  for (const value of values) {
    if (value === null || !isInteger(value)) return { allowed: ALLOWED.set };
    texts.add(value);
  }
  return { texts: [...texts].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)) };
}

/** What a team with a list of advertisers may send as the value of a parameter; see {@link declarationOf}. */
export type DeclaredKind = 'flag' | 'int' | 'set' | 'date' | 'word' | 'zone';

/** `filter.status:set` of the setting `knownParameters`: the member `status` of `filter` is a set. Without a kind: a word. */
export function declarationOf(entry: string): { readonly path: string; readonly kind: DeclaredKind } {
  const [path = '', kind = 'word'] = entry.split(':');
  return { path, kind: kind as DeclaredKind };
}

/** Configuration of a declared endpoint. */
export interface EndpointNames {
  /** Parameters that the platform knows, and that name no account; see {@link declarationOf}. */
  readonly knownParameters: readonly string[];
  readonly unknownParameters: 'pass' | 'refuse';
}

export interface NameRules {
  readonly table: ParameterTable;
  /** By path; other endpoints may have any parameters. */
  readonly endpoints: ReadonlyMap<string, EndpointNames>;
}

export interface UnknownName {
  /** With the `[]` of a list. */
  readonly name: string;
  /** Known names that were probably meant. */
  readonly meant: readonly string[];
}

/** Names that other platforms use, in plain form. */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ...['from', 'start', 'since', 'dateStart', 'startDate', 'fromDate'].map(aliasOf('dateFrom')),
  ...['to', 'end', 'until', 'dateEnd', 'endDate', 'toDate'].map(aliasOf('dateTo')),
  ...['byDay', 'byDays'].map(aliasOf('byDate')),
  aliasOf('byDate', 'byCampaign')('groupBy'),
  ...GATEWAY_PARAMETERS.map((name) => aliasOf(name)(name)),
  // `days=7` more likely means the period.
  aliasOf('_period', '_days')('days'),
]);

function aliasOf(...meant: string[]) {
  return (alias: string): [string, readonly string[]] => [plainName(alias), meant];
}

/** Parameters that an operator declares for an endpoint. */
export function declaredNames(endpoint: string, { endpoints }: NameRules): readonly string[] {
  return namesIn(endpoints.get(endpoint)?.knownParameters ?? []);
}

/** `filter` of `filter.status:set`. */
export function namesIn(entries: readonly string[]): readonly string[] {
  return [...new Set(entries.map((entry) => declarationOf(entry).path.replace(/\..*/, '')))];
}

/** @param given without the gateway's own parameters */
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
  const split = known.find((one) => isSlipOfSplit(name, one));
  if (split !== undefined) return [split];
  const candidates = [...known, ...GATEWAY_PARAMETERS];
  const near = nearName(
    plain,
    candidates.map(plainName).filter((one) => !isAnotherThing(plain, one)),
    editsInDoubt,
  );
  // The first of those with the same plain name.
  return candidates.filter((one) => plainName(one) === near).slice(0, 1);
}

/** `byDat`, `byCampaigns`: with the split ignored, the rows are of another shape. A shorter split is too near to others. */
function isSlipOfSplit(name: string, split: string): boolean {
  return (
    isSplit(name) &&
    isSplit(split) &&
    split.length >= 6 &&
    isSameNumber(name, split) &&
    isWithin(plainName(name), plainName(split), 1)
  );
}

/** Whether a name is that of a split: `by…` with an upper-case letter after `by`. */
export function isSplit(name: string): boolean {
  return /^by[A-Z][A-Za-z0-9_]*$/.test(name);
}

/** `campaignId` and `campaignIds`, `dateFrom2` and `dateFrom` differ on purpose. */
function isAnotherThing(a: string, b: string): boolean {
  return a === `${b}s` || b === `${a}s` || !isSameNumber(a, b);
}

function isSameNumber(a: string, b: string): boolean {
  return a.replace(/\D/g, '') === b.replace(/\D/g, '');
}

/** @param lenient passes on names that resemble known ones, with a warning */
export function unknownNameFaults(
  unknown: readonly UnknownName[],
  endpoint: string,
  rules: NameRules,
  lenient: boolean,
): FieldFault[] {
  const names = rules.endpoints.get(endpoint);
  if (names === undefined) return [];
  const known = [...rules.table.kinds.keys(), ...namesIn(names.knownParameters)];
  return unknown.flatMap(({ name, meant }): FieldFault[] => {
    const [nearest] = meant;
    if (nearest !== undefined && (!lenient || names.unknownParameters === 'refuse')) {
      const help = `Send ${nearest} instead of ${name}; if the platform has ${name} too, ask your operator to declare it in report.endpoints."${endpoint}".knownParameters.`;
      return [{ param: name, message: `is unknown: ${didYouMean(...meant)}`, help }];
    }
    return names.unknownParameters === 'refuse' ? [isUnknown(name, known)] : [];
  });
}
