/** The columns that the conditions of a filter name. Pure. */
import { sortedBy } from '../ui/sort.js';
import type { ReportColumn } from './columns.js';
import { likeness } from './likeness.js';

/** A word, or the signs of a comparison. */
export const WORD = /^(?:[^\s<>=≤≥≠~]+?(?=[,;]*(?:$|\s|!?[<>=≤≥≠~]))|[<>=≤≥≠~]+)/;
export const COMPARED = /^\s*(!?[<>=≤≥≠~]+)\s*/;
/** Behind the name of a column; elsewhere they are texts. */
const VERB = /^\s+((?:not\s+)?(?:contains|starts\s+with|between|in))(?:\s+|(?=\())/i;
/** The comparison that a text begins with. */
export const comparedAt = (text: string) => COMPARED.exec(text) ?? VERB.exec(text);

/** Shorter beginnings of a name are texts. */
const FEWEST_LETTERS = 3;

/** What people write for one measure. */
const ALIKE_NAMES = [/^(spent|spend|spending|costs?)$/i, /^(impressions|imps?)$/i, /^(conversions|convs?)$/i];

/**
 * The column whose name, as its head or the platform has it, or another word for it, or the beginning of its head, stands
 * before a comparison.
 */
export function columnAt(
  text: string,
  columns: readonly ReportColumn[],
): { readonly of: ReportColumn; readonly label: string } | null {
  const lower = text.toLowerCase();
  const labels = columns.flatMap((of) => [of.title, of.name].map((label) => ({ of, label })));
  const found = labels.filter(
    ({ label }) => lower.startsWith(label.toLowerCase()) && comparedAt(text.slice(label.length)) !== null,
  );
  const [longest] = found.sort((a, b) => b.label.length - a.label.length);
  if (longest !== undefined) return longest;
  const [label = ''] = WORD.exec(text) ?? [];
  if (label.length < FEWEST_LETTERS || comparedAt(text.slice(label.length)) === null) return null;
  // An id stands behind its name, without a head.
  const hasName = ({ name }: ReportColumn) =>
    name.endsWith('Id') && columns.some((other) => other.name === name.replace(/Id$/, 'Name'));
  const alike = ALIKE_NAMES.find((names) => names.test(label));
  const same = columns.filter(({ name }) => alike?.test(name));
  const begun = columns.filter(
    (one) => one.title.toLowerCase().startsWith(label.toLowerCase()) && !hasName(one),
  );
  const [of, ...more] = same.length > 0 ? same : begun;
  return of === undefined || more.length > 0 ? null : { of, label };
}

export const NO_BRACKETS =
  'Brackets are not possible; write the conditions one after another with “and”: all of them apply.';

/** Less alike names are others. */
const LEAST_LIKE = 0.5;

/** Why there is no such column, or not only one. @param signs behind the name */
export function unknownIn(name: string, signs: string, columns: readonly ReportColumn[]): string {
  const known = columns.map(({ title }) => title).join(', ');
  if (name.startsWith('(')) return NO_BRACKETS;
  if (name === '') return `A column is missing before “${signs}”; columns are ${known}.`;
  const many = columns.filter(({ title }) => title.toLowerCase().startsWith(name.toLowerCase())).length > 1;
  if (many) return `Several columns begin with “${name}”; columns are ${known}.`;
  const [near] = sortedBy(columns, ({ title }) => likeness(name, title), true);
  const isNear = near !== undefined && likeness(name, near.title) > LEAST_LIKE;
  return `No column is called “${name}”${isNear ? `: did you mean ${near.title}? Columns` : '; columns'} are ${known}.`;
}
