/** The platform's report parameters that are known by name, and the gateway's own. One table each. */

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
  return table.kinds.has(bare) ? 'takes one value, not a list' : `is not known here: ${didYouMean(known)}`;
}
