/** Rows as a chart shows them: a line for each of the largest, and one for all others together. Pure. */

import { mixesMoney, tidy, whyNoSum } from './columns.js';
import type { Row } from './parse.js';

export interface GroupedLine {
  readonly title: string;
  readonly values: readonly (number | null)[];
}

interface Grouped {
  readonly lines: GroupedLine[];
  readonly stacked: boolean;
  /** Groups without a line. */
  readonly left: number;
  /** Rows whose date is no day of the period. */
  readonly outside: number;
}

/** As many as have a colour of their own. */
const MOST_LINES = 9;
const MOST_TITLE = 48;

/** What a row is about beside its day: its id, with its name where it has one. */
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

/** The same, told apart by currency. */
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
 * @param days of the period; a day without a row of a subject is null
 * @returns the largest first; money of two currencies has a line for each. What may not be added up has no line for the rest
 */
export function groupRows(
  rows: readonly Row[],
  days: readonly string[],
  split: readonly string[],
  metric: string,
): Grouped {
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

/** Two of one name are told apart by their ids. */
function unlike(
  groups: readonly { key: string; title: string; values: readonly (number | null)[] }[],
): GroupedLine[] {
  const titles = groups.map(({ title }) => clipped(title) || 'all');
  return groups.map(({ key, values }, index) => {
    const title = titles[index] ?? '';
    const alike = titles.filter((other) => other === title).length > 1;
    return { title: alike ? `${title} (${key.replaceAll('\u0000', ', ')})` : title, values };
  });
}
