/**
 * Parameters that the gateway does not know, and which known one they are probably meant for: a report that is asked for
 * by `from` and `to` is another report than the caller thinks, for the platform ignores what it does not know. Pure.
 */
import type { FieldFault } from '../errors.js';
import { nearName } from '../near-name.js';
import type { Format } from './output-options.js';
import { didYouMean, GATEWAY_PARAMETERS, type ParameterTable, plainName } from './parameters.js';

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
export function isLenient(defaultFormat: Format): boolean {
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
export function vouchedFor(endpoint: string, { endpoints }: NameRules): readonly string[] {
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
    ({ name }) => !rules.table.kinds.has(name) && !vouchedFor(endpoint, rules).includes(name),
  );
  if (unvouched.length === 0) return [];
  const known = [...rules.table.kinds.keys(), ...vouchedFor(endpoint, rules)];
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
    if (meant.length > 0 && (!lenient || names.unknownParameters === 'refuse'))
      return [{ param: name, message: `is not known here: ${didYouMean(...meant)}` }];
    return names.unknownParameters === 'refuse'
      ? [{ param: name, message: `is not known here; allowed are ${allowed}` }]
      : [];
  });
}
