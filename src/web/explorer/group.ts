/** Groups rows for a chart: a line for each of the largest groups, and one for all others together. Pure. */
import { mixesMoney, tidy, whyNoSum } from './columns.js';
import type { Row } from './parse.js';

/** The number of colours. */
const MOST_LINES = 9;
const MOST_TITLE = 48;

/** Ids and names of a row, without its day. */
function subjectOf(row: Row, split: readonly string[]): { key: string; title: string } {
  const parts = split
    .filter((one) => one !== 'date')
    .map((one) => {
      const id = row[`${one}Id`] ?? row[one];
      const name = row[`${one}Name`] ?? id;
      return { id: String(id ?? ''), name: String(name ?? '') };
    });
  return { key: parts.map(({ id }) => id).join('\u0000'), title: parts.map(({ name }) => name).join(' · ') };
}

/** The same, separated by currency. */
export function ofItsCurrency(row: Row, split: readonly string[]): { key: string; title: string } {
  const { key, title } = subjectOf(row, split);
  const currency = typeof row.currency === 'string' ? row.currency : '';
  return {
    key: `${key}\u0000${currency}`,
    title: [title, currency].filter((part) => part !== '').join(' · '),
  };
}

const clipped = (title: string): string =>
  title.length > MOST_TITLE ? `${[...title].slice(0, MOST_TITLE - 1).join('')}…` : title;

/**
 * @param days of the period; a day without a row is null
 * @returns the largest first, each currency separately; only summable columns have a line for the other groups.
 *   `left`: groups without a line; `outside`: rows whose date is not in the period
 */
export function groupRows(
  rows: readonly Row[],
  days: readonly string[],
  split: readonly string[],
  metric: string,
) {
  const mixed = mixesMoney(metric, rows);
  const places = new Map(days.map((day, index) => [day, index]));
  const groups = new Map<string, { title: string; size: number; values: (number | null)[] }>();
  let outside = 0;
  for (const row of rows) {
    const place = places.get(String(row.date));
    const value = row[metric];
    if (place === undefined) outside += 1;
    if (place === undefined || typeof value !== 'number') continue;
    const { key, title } = mixed ? ofItsCurrency(row, split) : subjectOf(row, split);
    const group = groups.get(key) ?? { title, size: 0, values: days.map(() => null) };
    groups.set(key, group);
    group.values[place] = (group.values[place] ?? 0) + value;
    group.size += value;
  }
  const stacked = !mixed && whyNoSum(metric) === null;
  const sorted = [...groups].sort(([, a], [, b]) => b.size - a.size);
  const largest = sorted.slice(0, MOST_LINES);
  const others = sorted.slice(MOST_LINES).map(([, group]) => group.values);
  const lines = unlike(largest.map(([key, group]) => ({ key, ...group })));
  if (others.length > 0 && stacked)
    lines.push({
      title: `${others.length} others`,
      values: days.map((_, index) => sumAt(others, index)),
    });
  return {
    lines: lines.map(({ title, values }) => ({
      title,
      values: values.map((value) => (value === null ? null : tidy(value))),
    })),
    stacked,
    left: stacked ? 0 : others.length,
    outside,
  };
}

function sumAt(lists: readonly (readonly (number | null)[])[], index: number): number | null {
  const values = lists.map((list) => list[index] ?? null).filter((value) => value !== null);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** Adds ids to equal names. */
function unlike(groups: readonly { key: string; title: string; values: readonly (number | null)[] }[]) {
  const titles = groups.map(({ title }) => clipped(title) || 'all');
  return groups.map(({ key, values }, index) => {
    const title = titles[index] ?? '';
    const alike = titles.filter((other) => other === title).length > 1;
    return { title: alike ? `${title} (${key.replaceAll('\u0000', ', ')})` : title, values };
  });
}
