/** Selects the rows of some campaigns from those of all; never summed or guessed. Pure. */
import type { Report } from '../query/canonicalize.js';
import { decodeFacts } from './column-types.js';
import { bodyHash, type Entry, ROW_SEPARATOR, type RowsHeader } from './entry.js';
import { holdsText, isMeasure, isVersion } from './row-names.js';

const MEMBER = 'campaignIds';
const COLUMN = 'campaignId';

/** Campaign ids of a report, and the same report of all campaigns. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly of: Report;
}

/** @returns null unless the report is by date and campaign, for a period, and names campaigns */
export function selectionOf(report: Report): Selection | null {
  const { members, split, from, to } = report;
  const member = members.find(({ name }) => name === MEMBER);
  if (member === undefined || from === null || to === null) return null;
  if (!split.includes('date') || !split.includes('campaign')) return null;
  const rest = members.filter((one) => one !== member);
  const { json, pairs } = member;
  const ids = json === '' ? pairs.map(({ value }) => value) : (JSON.parse(json) as unknown[]).map(String);
  return { ids: new Set(ids), of: { ...report, members: rest } };
}

export interface SelectedDay {
  /** The day with the selected rows. */
  readonly day: Entry<RowsHeader>;
  /** Ids with rows. */
  readonly found: ReadonlySet<string>;
  /** Whether rows were left out; else the selection proves nothing. */
  readonly isPart: boolean;
}

type Row = Readonly<Record<string, unknown>>;

/**
 * @param day with the rows of all campaigns
 * @returns the entry that the platform's answer for these campaigns would give; null if that is uncertain
 */
export function selectRows(day: Entry<RowsHeader>, ids: ReadonlySet<string>): SelectedDay | null {
  const { header, body } = day;
  if (header.splitFrom === null || header.paging !== null) return null;
  if (header.rowCount === 0) return { day, found: new Set(), isPart: false };
  const rows = body
    .toString()
    .split(ROW_SEPARATOR)
    .map((text) => ({ text, row: JSON.parse(text) as Row }));
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

function idOf({ [COLUMN]: id }: Row): string | null {
  return typeof id === 'number' || typeof id === 'string' ? String(id) : null;
}

/**
 * Whether each cell would have the same type without the other rows: a column may be text because of them. Ids and names in a
 * text column are assumed to be texts.
 */
function isTypedAlone({ columns, types = [] }: RowsHeader, row: Row): boolean {
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

/** Columns of the selected rows, in the order of all rows. */
function columnsOf(
  { columns, sources, types = [] }: RowsHeader,
  selected: readonly { readonly row: Row }[],
): Pick<RowsHeader, 'columns' | 'sources' | 'types'> {
  const present = new Set(selected.flatMap(({ row }) => Object.keys(row)));
  const kept = columns.flatMap((column, at) => (present.has(column) ? [at] : []));
  return {
    columns: kept.map((at) => columns[at] as string),
    sources: sources === undefined ? undefined : kept.map((at) => sources[at] as string),
    types: kept.map((at) => types[at] ?? ''),
  };
}

/** Digest of rows in any order, to compare a day of two answers: that of a body with the rows in order. */
export function sortedHashOf(texts: readonly string[]): string {
  return bodyHash(Buffer.from(texts.toSorted().join(ROW_SEPARATOR)));
}
