/** Which advertisers the rows of an answer name, and by which names. Pure. */

import { plainName } from '../query/parameters.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { ROW_SEPARATOR } from '../rows/entry.js';

/** The longest name that is kept, in UTF-16 units. */
export const MAX_NAME = 200;
/** Rows are read behind the answer, on the thread that answers: more bytes of one answer are not looked at. */
const MAX_BYTES = 262_144;

/**
 * @param accountFields members that hold the id by which teams are limited; no other id counts, for it may be of another kind
 * @returns each id once, with the last name that stands beside it in a row, or null
 */
export function namesIn(
  entries: readonly Entry<RowsHeader>[],
  accountFields: readonly string[],
): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  let leftBytes = MAX_BYTES;
  for (const { header, body } of entries) {
    const members = membersOf(header.columns, accountFields);
    if (members.length === 0 || header.rowCount === 0) continue;
    for (const row of rowsWithin(body, leftBytes)) readRow(row, members, found);
    leftBytes -= body.length;
    if (leftBytes <= 0) break;
  }
  return found;
}

/** Whether rows with these columns can say an advertiser's name. */
export function tellsNames(columns: readonly string[], accountFields: readonly string[]): boolean {
  return membersOf(columns, accountFields).some(({ name, isBoth }) => isBoth || name !== null);
}

/** Where a row says an advertiser: a member with its id and maybe one with its name, or one that holds both. */
interface Members {
  readonly id: string;
  readonly name: string | null;
  readonly isBoth: boolean;
}

function membersOf(columns: readonly string[], accountFields: readonly string[]): Members[] {
  const columnOf = (plain: string) => columns.find((column) => plainName(column) === plain) ?? null;
  return accountFields.flatMap((field) => {
    const plain = plainName(field);
    const stem = plain.replace(/id$/, '');
    const id = columnOf(plain);
    const whole = stem === plain ? null : columnOf(stem);
    return [
      ...(id === null ? [] : [{ id, name: columnOf(`${stem}name`), isBoth: false }]),
      ...(whole === null ? [] : [{ id: whole, name: null, isBoth: true }]),
    ];
  });
}

/** Whole rows alone, as many as lie within so many bytes. */
function rowsWithin(body: Buffer, bytes: number): readonly string[] {
  if (body.length <= bytes) return body.toString().split(ROW_SEPARATOR);
  const end = body.lastIndexOf(ROW_SEPARATOR, bytes);
  return end <= 0 ? [] : body.toString('utf8', 0, end).split(ROW_SEPARATOR);
}

function readRow(text: string, members: readonly Members[], found: Map<string, string | null>): void {
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>;
  for (const { id, name, isBoth } of members) {
    const value = row[id];
    if (!isBoth) note(value, name === null ? undefined : row[name], found);
    else if (typeof value === 'object' && value !== null) {
      const whole = value as { readonly id?: unknown; readonly name?: unknown };
      note(whole.id, whole.name, found);
    }
  }
}

/** Rows were normalised before: what is a number there, JSON holds exactly. */
function note(id: unknown, name: unknown, found: Map<string, string | null>): void {
  const text = typeof id === 'number' ? String(id) : id;
  if (typeof text !== 'string' || !isAdvertiserId(text)) return;
  found.set(text, nameOf(name) ?? found.get(text) ?? null);
}

/** As a team's list of advertisers can hold it. */
export function isAdvertiserId(text: string): boolean {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

/** For people: without what is not to be seen or cannot be written, and never longer than {@link MAX_NAME}. */
function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = value
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME)
    .replaceAll(/\p{Cs}/gu, '\ufffd');
  return name === '' ? null : name;
}
