/** Names of columns: camelCase and distinct; which contains the date, ids, text or measures. */

/** `_x` → `X` for lower-case ASCII letters only: `campaign_id` → `campaignId`, `top_10` stays. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Distinct columns: the camelCase name, or the own name if that is taken. The own name is always free, because no camelCase name
 * has a `_` before a lower-case letter.
 * @param names of all rows, in order of first occurrence
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

/** @param field in either spelling. @returns -1 if absent */
export function dateIndex(names: readonly string[], field: string): number {
  const exact = names.indexOf(field);
  if (exact >= 0) return exact;
  const column = camelCase(field);
  return names.findIndex((name) => camelCase(name) === column);
}

/** The configured member, else `date`, else `day`. */
export function dateFieldOf(names: readonly string[], configured: string | undefined): string {
  return configured ?? (dateIndex(names, 'date') >= 0 ? 'date' : 'day');
}

const TEXT_ENDING = /(?:name|title|label|domain|url|code|zip|currency)$/i;
/** `Id` as a word of its own: `campaign_id`, `campaignId`, `ID`; not `bid`, `paid`, `valid`. */
const ENDS_IN_ID = /(?:^|[^A-Za-z])[iI][dD]$|[a-z0-9]I[dD]$/;
/** In lower case only known names count. */
const KNOWN_ID =
  /(?:campaign|advertiser|user|account|client|customer|agency|owner|parent|creative|placement|site|app)id$/i;

/** Whether values are text even if they look like numbers: ids, names, codes. */
export function holdsText(name: string, column: string): boolean {
  return [name, column].some((one) => TEXT_ENDING.test(one) || ENDS_IN_ID.test(one) || KNOWN_ID.test(one));
}

export function holdsId(column: string): boolean {
  return ENDS_IN_ID.test(column) || KNOWN_ID.test(column);
}

/** Last words of names, beside those above, whose values look like quantities and are none. */
const VERSIONS = new Set('version versions ver os build release firmware model ip revision'.split(' '));
const MEASURES = new Set(
  `spent spend cost costs bid bids budget price revenue income profit amount paid fee fees cpm cpc cpa cpv cpi cpl ecpm
  ctr cr vtr rate roi roas reach impressions clicks views conversions installs leads actions sessions users frequency
  total sum avg average min max percent percentage share score value duration seconds`.split(/\s+/),
);

/** `10.1` and `10.10` differ. */
export function isVersion(column: string): boolean {
  return VERSIONS.has(lastWord(column));
}

/** `10.1` and `10.10` are equal. */
export function isMeasure(column: string): boolean {
  return MEASURES.has(lastWord(column));
}

/** Last words of names whose values may be added up: each event, and each cent, belongs to one row. */
const ADDITIVE = new Set(
  `impressions clicks views conversions installs leads actions sessions bids purchases orders signups
  spent spend cost costs revenue income profit amount paid fee fees`.split(/\s+/),
);
const MONEY = new Set('spent spend cost costs revenue income profit amount paid fee fees'.split(' '));
/** Words for values that must not be added up: distinct counts, means, running totals. */
const NOT_ADDITIVE =
  /(?:^| )(?:uniques?|distinct|reach|reached|avg|average|mean|median|min|max|rate|ratio|share|per|percent|percentage|frequency|cumulative|lifetime|running|remaining|estimated|ctr|cpm|cpc|cpa|ecpm|index|rank)(?: |$)/;

/** Whether values may be added up over rows. Known names only: a sum of people, rates or ids would be wrong. */
export function isAdditive(column: string): boolean {
  const words = wordsOf(column);
  return ADDITIVE.has(words.at(-1) ?? '') && !NOT_ADDITIVE.test(words.join(' '));
}

/** Measures that occur in refusals too: `{"limit_total": 5, "retry_after_seconds": 3}`. */
const OF_ANYTHING = new Set(
  'budget rate total sum avg average min max percent percentage share score value duration seconds'.split(
    ' ',
  ),
);

/** Whether a word of the name is a figure of advertising: `spentTotal` is one, `total` is not. */
export function isReportFigure(column: string): boolean {
  return wordsOf(column).some((word) => MEASURES.has(word) && !OF_ANYTHING.has(word));
}

/** Words at the end of names for times, which may be numbers. */
const MOMENTS = new Set('at date time timestamp year quarter month week weekday day hour minute'.split(' '));

export function holdsMoment(column: string): boolean {
  return MOMENTS.has(wordsOf(column).at(-1) ?? '');
}

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
