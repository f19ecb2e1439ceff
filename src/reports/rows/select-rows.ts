/** Selects the rows of some campaigns from those of all; never summed or guessed. Pure. */
import { hash } from 'node:crypto';
import type { Report } from '../query/canonicalize.js';
import type { Member } from '../query/given-parameters.js';
import { decodeFacts } from './column-types.js';
import { bodyHash, type Entry, ROW_SEPARATOR, type RowsHeader } from './entry.js';
import { holdsText, isMeasure, isVersion } from './row-names.js';

const MEMBER = 'campaignIds';
const COLUMN = 'campaignId';

/** A report of some campaigns, and the same report of all of them. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly of: Report;
}

/** @returns null for what is no report by date and campaign, of named campaigns, for a period */
export function selectionOf(report: Report): Selection | null {
  const { members, split, from, to } = report;
  const member = members.find(({ name }) => name === MEMBER);
  if (member === undefined || from === null || to === null) return null;
  if (!split.includes('date') || !split.includes('campaign')) return null;
  const rest = members.filter((one) => one !== member);
  return { ids: new Set(idsIn(member)), of: { ...report, members: rest } };
}

function idsIn({ pairs, json }: Member): string[] {
  return json === '' ? pairs.map(({ value }) => value) : (JSON.parse(json) as unknown[]).map(String);
}

/** A day with the rows of some campaigns. */
export interface SelectedDay {
  readonly day: Entry<RowsHeader>;
  /** Ids that were found. */
  readonly found: ReadonlySet<string>;
  /** Whether some rows were left out: else the selection tells nothing. */
  readonly isPart: boolean;
}

/**
 * @param day with the rows of all campaigns, its columns typed by all of them
 * @returns the day as the platform's answer for these campaigns alone would be kept; null where that cannot be told
 */
export function selectRows(day: Entry<RowsHeader>, ids: ReadonlySet<string>): SelectedDay | null {
  const { header, body } = day;
  if (header.splitFrom === null || header.paging !== null) return null;
  if (header.rowCount === 0) return { day, found: new Set(), isPart: false };
  const rows = body
    .toString()
    .split(ROW_SEPARATOR)
    .map((text) => ({ text, row: JSON.parse(text) as Readonly<Record<string, unknown>> }));
  if (rows.some(({ row }) => idOf(row) === null)) return null;
  const selected = rows.filter(({ row }) => ids.has(idOf(row) as string));
  if (!selected.every(({ row }) => isTypedAlone(header, row))) return null;
  const texts = selected.map(({ text }) => text);
  const selectedBody = Buffer.from(texts.join(ROW_SEPARATOR));
  return {
    found: new Set(selected.map(({ row }) => idOf(row) as string)),
    isPart: selected.length < rows.length,
    day: {
      body: selectedBody,
      header: {
        ...header,
        ...columnsOf(header, selected),
        rowCount: selected.length,
        hash: bodyHash(selectedBody),
        splitFrom: { ...header.splitFrom, sortedHash: sortedHashOf(texts) },
      },
    },
  };
}

function idOf({ [COLUMN]: id }: Readonly<Record<string, unknown>>): string | null {
  return typeof id === 'number' || typeof id === 'string' ? String(id) : null;
}

/**
 * Whether each cell would be of the same type without the rows that are left out: a column may hold texts because of a
 * row that is not selected. Of ids and names in a column of texts it is taken that all of them came as texts.
 */
function isTypedAlone({ columns, types = [] }: RowsHeader, row: Readonly<Record<string, unknown>>): boolean {
  return columns.every((column, at) => {
    const { text, idle } = decodeFacts(types[at] ?? '');
    const value = row[column] ?? null;
    if (text) {
      if (value === null || typeof value !== 'string') return false;
      return holdsText(column, column) || (value !== '' && Number.isNaN(Number(value)));
    }
    return !idle || (isMeasure(column) && !isVersion(column));
  });
}

/** The columns that the selected rows have, in the order that all rows show. */
function columnsOf(
  { columns, sources, types = [] }: RowsHeader,
  selected: readonly { readonly row: Readonly<Record<string, unknown>> }[],
): Pick<RowsHeader, 'columns' | 'sources' | 'types'> {
  const present = new Set(selected.flatMap(({ row }) => Object.keys(row)));
  const kept = columns.flatMap((column, at) => (present.has(column) ? [at] : []));
  return {
    columns: kept.map((at) => columns[at] as string),
    sources: sources === undefined ? undefined : kept.map((at) => sources[at] as string),
    types: kept.map((at) => types[at] ?? ''),
  };
}

/** As a day's rows are named when they are split from an answer: without regard to their order. */
export function sortedHashOf(texts: readonly string[]): string {
  return hash('sha256', texts.toSorted().join('\n'), 'base64url').slice(0, 22);
}
