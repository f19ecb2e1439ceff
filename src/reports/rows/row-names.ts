/** The names of a row's members in an answer: camelCase, distinct, and the one that holds the date. */

/** `_x` → `X` for a lower-case ASCII letter x, and nothing else: `campaign_id` → `campaignId`, `top_10` stays. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Every member gets its camelCase name, unless another member is spelt so or an earlier one has it already: then it keeps
 * its own name. That is always free, for no camelCase name holds a `_` before a lower-case letter.
 *
 * @param names of all rows, in the order in which they first show
 * @returns the column of each, all distinct
 */
export function columnsBySource(names: Iterable<string>): ReadonlyMap<string, string> {
  const distinct = new Set(names);
  const taken = new Set(distinct);
  return new Map(
    [...distinct].map((name) => {
      const column = taken.has(camelCase(name)) ? name : camelCase(name);
      taken.add(column);
      return [name, column];
    }),
  );
}

/** @returns where the date stands in a row with these names, -1 when nowhere; `field` in either spelling. */
export function dateIndex(names: readonly string[], field: string): number {
  const exact = names.indexOf(field);
  if (exact >= 0) return exact;
  const column = camelCase(field);
  return names.findIndex((name) => camelCase(name) === column);
}

/** Which member holds the date: the configured one, else `date`, else `day`. */
export function dateFieldOf(names: readonly string[], configured: string | undefined): string {
  return configured ?? (dateIndex(names, 'date') >= 0 ? 'date' : 'day');
}

const TEXT_ENDING = /(?:name|title|label|domain|url|code|zip|currency)$/i;
/** `Id` as a word of its own: `campaign_id`, `campaignId`, `ID`; not `bid`, `paid`, `valid`. */
const ENDS_IN_ID = /(?:^|[^A-Za-z])[iI][dD]$|[a-z0-9]I[dD]$/;
/** Names that are run together are known ones only. */
const KNOWN_ID =
  /(?:campaign|advertiser|user|account|client|customer|agency|owner|parent|creative|placement|site|app)id$/i;

/** Whether strings under this name are text even when they look like a number: ids, names, codes. */
export function holdsText(name: string, column: string): boolean {
  return [name, column].some((one) => TEXT_ENDING.test(one) || ENDS_IN_ID.test(one) || KNOWN_ID.test(one));
}

/** Whether a column holds ids: it says which row it is, and is no quantity. */
export function holdsId(column: string): boolean {
  return ENDS_IN_ID.test(column) || KNOWN_ID.test(column);
}

/** Last words of names, beside those above, whose values are no quantities though they look like one. */
const VERSIONS = new Set('version versions ver os build release firmware model ip revision'.split(' '));
const MEASURES = new Set(
  `spent spend cost costs bid bids budget price revenue income profit amount paid fee fees cpm cpc cpa cpv cpi cpl ecpm
  ctr cr vtr rate roi roas reach impressions clicks views conversions installs leads actions sessions users frequency
  total sum avg average min max percent percentage share score value duration seconds`.split(/\s+/),
);

/** Whether a column's last word is one of versions, where `10.1` and `10.10` are two. */
export function isVersion(column: string): boolean {
  return VERSIONS.has(lastWord(column));
}

/** Whether a column's last word is one of quantities, where `10.1` and `10.10` are the same. */
export function isMeasure(column: string): boolean {
  return MEASURES.has(lastWord(column));
}

/** Last words of names whose values may be added up over rows: each event, and each cent, belongs to one row. */
const ADDITIVE = new Set(
  `impressions clicks views conversions installs leads actions sessions bids purchases orders signups
  spent spend cost costs revenue income profit amount paid fee fees`.split(/\s+/),
);
const MONEY = new Set('spent spend cost costs revenue income profit amount paid fee fees'.split(' '));
/** Words that make something else of them: counted once for all rows, already a mean, or running on. */
const NOT_ADDITIVE =
  /(?:^| )(?:uniques?|distinct|reach|reached|avg|average|mean|median|min|max|rate|ratio|share|per|percent|percentage|frequency|cumulative|lifetime|running|remaining|estimated|ctr|cpm|cpc|cpa|ecpm|index|rank)(?: |$)/;

/**
 * Whether the numbers of a column may be added up over rows. Known names alone: a sum of people, rates or ids would be
 * believed.
 */
export function isAdditive(column: string): boolean {
  const words = wordsOf(column);
  return ADDITIVE.has(words.at(-1) ?? '') && !NOT_ADDITIVE.test(words.join(' '));
}

/** Measures that refusals hold too: `{"limit_total": 5, "retry_after_seconds": 3}`. */
const OF_ANYTHING = new Set(
  'budget rate total sum avg average min max percent percentage share score value duration seconds'.split(
    ' ',
  ),
);

/** Whether a column, by one of its words, is a figure of advertising: `spentTotal` is, `total` alone is not. */
export function isReportFigure(column: string): boolean {
  return wordsOf(column).some((word) => MEASURES.has(word) && !OF_ANYTHING.has(word));
}

/** Whether what is added up is money, which is of one currency or of none. */
export function isMoney(column: string): boolean {
  return MONEY.has(wordsOf(column).at(-1) ?? '');
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

function lastWord(name: string): string {
  return (/(?:[A-Z]?[a-z]+|[A-Z]+)$/.exec(name)?.[0] ?? '').toLowerCase();
}
