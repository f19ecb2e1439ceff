/** The names of a row's members in an answer: camelCase, distinct, and the one that holds the date. */

/** `_x` → `X` for a lower-case ASCII letter x, and nothing else: `campaign_id` → `campaignId`, `top_10` stays. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The column names of a row, in its own order and all distinct.
 *
 * Every member gets its camelCase name, unless another member is spelt so in the source or an earlier one was
 * turned into it: then it keeps its own, which is always free, for no camelCase name holds a `_` before a
 * lower-case letter.
 *
 * @param names distinct
 */
export function columnNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  return names.map((name) => {
    const column = camelCase(name);
    if (taken.has(column)) return name;
    taken.add(column);
    return column;
  });
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

const TEXT_ENDING = /(?:id|name|title|label|domain|url|code|zip|currency)$/i;

/** Whether strings under this name are text even when they look like a number: ids, names, codes. */
export function holdsText(name: string, column: string): boolean {
  return TEXT_ENDING.test(name) || TEXT_ENDING.test(column);
}
