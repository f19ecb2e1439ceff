/** Filters of a query that name a column, and whether the rows match them. Pure. */
import type { Report } from '../query/canonicalize.js';
import type { Member } from '../query/given-parameters.js';
import type { Flaw } from './flaws.js';
import { isJsonArray, type Json, JsonNumber, parseJson } from './json.js';
import { camelCase, holdsId } from './row-names.js';

/** Plain values: it may go to another thread. */
export interface RowFilter {
  /** In camelCase. */
  readonly column: string;
  readonly values: readonly string[];
  readonly code: Flaw['code'];
}

interface ReadRow {
  readonly values: readonly Json[];
  readonly plan: { readonly columns: readonly string[] };
}

export function rowFilters(
  { members }: Pick<Report, 'members'>,
  accountFields: readonly string[],
): readonly RowFilter[] {
  return members.flatMap((member) => {
    const column = camelCase(member.name).replace(/Ids$/, 'Id');
    const values = valuesOf(member);
    if (values.length === 0 || (holdsId(column) && !values.every(isPlainId))) return [];
    if (accountFields.includes(column)) return { column, values, code: 'rows_of_other_advertisers' };
    return {
      column,
      values,
      code: column === 'campaignId' ? 'rows_of_other_campaigns' : 'rows_outside_filter',
    };
  });
}

/** `5|6`, `!7` and `5-9` may be conditions in the platform's syntax. */
function isPlainId(value: string): boolean {
  return /^\s*\+?[\p{L}\p{N}_-]+\s*$/u.test(value) && !/^\s*\d+-\d+\s*$/.test(value);
}

/** `+2` and `0002` are 2. */
function idOf(text: string): string {
  return /^\+?0*(\d+)$/.exec(text)?.[1] ?? text;
}

function valuesOf({ pairs, json }: Member): string[] {
  if (json === '') return pairs.flatMap(({ value }) => value.split(','));
  const value = parseJson(json);
  return (isJsonArray(value) ? value : [value]).flatMap((one) => textOf(one) ?? []);
}

function textOf(value: Json | undefined): string | null {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' && value !== '' ? value.trim().toLowerCase() : null;
}

/** Rows without the column of a filter match it. */
export function filterFlaws(rows: readonly ReadRow[], filters: readonly RowFilter[]): readonly Flaw[] {
  const codes = new Set(filters.filter((filter) => isIgnored(rows, filter)).map(({ code }) => code));
  return [...codes].map((code) => ({ code }));
}

/** Values other than ids may be spelt differently in rows; if some rows match exactly, they are not. */
function isIgnored(rows: readonly ReadRow[], { column, values }: RowFilter): boolean {
  const isId = holdsId(column);
  const given = values.map((value) => value.trim().toLowerCase());
  const wanted = new Set(isId ? [...given, ...given.map(idOf)] : given);
  const places = new Map<readonly string[], number>();
  const isOf = { wanted: isId, others: false };
  for (const { values: cells, plan } of rows) {
    const at = places.get(plan.columns) ?? plan.columns.indexOf(column);
    places.set(plan.columns, at);
    const text = at < 0 ? null : textOf(cells[at]);
    if (text === null) continue;
    isOf[wanted.has(text) || (isId && wanted.has(idOf(text))) ? 'wanted' : 'others'] = true;
    if (isOf.wanted && isOf.others) return true;
  }
  return false;
}
