/**
 * Whether the found rows are a report. A failure says so by a member beside the rows; else figures decide, which are columns of
 * numbers: rows of a known endpoint share one that is known. A doubtful answer is passed on with a warning if there is nothing
 * better, and never cached.
 */

import { bodyHash } from './entry.js';
import { findDoubt, findErrorSign, findRefusal, findWordedCode, isCallMetadata, isState } from './flaws.js';
import { type Json, JsonNumber, type JsonObject } from './json.js';
import type { RowFilter } from './row-filters.js';
import { camelCase, holdsId, holdsMoment, holdsText, isReportFigure } from './row-names.js';
import { type FoundRows, PREFERRED, RowsError, type RowsInput } from './rows.js';

/** A figure and nothing else: no date, no id. */
const ONLY_FIGURE = /^\s*[-+]?\p{Sc}?\s?[\d.,' ]*\d\s?[%\p{Sc}]?\s*$/u;

/** About earlier answers of an endpoint. */
export interface KnownShape {
  /** Paths of the rows in earlier reports with the same endpoint, method and split; an unusual name is accepted there. */
  readonly places: readonly string[];
  /** Of good answers with any split, or of the configuration, in camelCase. Empty: none, beside the usual ones of advertising. */
  readonly figures: readonly string[];
}

/** The one doubt that further answers of an endpoint end. */
export const NO_FIGURE = 'none of its columns is known as a figure';

export const NOTHING_KNOWN: KnownShape = { places: [], figures: [] };

/** @returns why the answer may not be a report, else null. @throws RowsError if it is none, or lacks a required column */
export function judgeShape(
  document: Json,
  found: FoundRows,
  { rule }: RowsInput,
  { places, figures }: KnownShape,
): string | null {
  const { rows, single, at } = found;
  const shapes = [...new Set(rows.map(({ names }) => names))];
  const columns = shapes.flat().map(camelCase);
  const isShared = sharesFigure(columns, new Set(figures));
  // Without a figure one object may be anything.
  const hasRows = isShared || (!single && columns.some((column) => !isCallMetadata(column)));
  const sign =
    findErrorSign(document, found.value, hasRows) ?? (hasRows ? null : signOfFirst(document, found));
  if (sign !== null) throw new RowsError(`${JSON.stringify(sign.slice(0, 40))} says it is an error`);
  const required = rule.requiredColumns ?? [];
  const missing = missingColumn(shapes, required);
  if (missing !== null) throw new RowsError(`a row lacks the required column ${JSON.stringify(missing)}`);
  // A configured path leaves no doubt.
  if (required.length > 0 || (rule.rowsPath !== undefined && (single || rows.length === 0))) return null;
  if (rows.length === 0) return doubtInNothing(document, found, places);
  const doubt = single ? doubtInOne(document, found, figures, isShared) : null;
  if (!isShared && figures.length > 0)
    throw refused(
      'it has no known figure of this endpoint',
      bodyHash(Buffer.from(columns.toSorted().join())),
    );
  if (rule.rowsPath !== undefined || doubt !== null) return doubt;
  if (!isShared) return NO_FIGURE;
  if (!shareColumn(shapes)) return 'the rows have no column in common';
  return found.beside && !places.includes(at) ? 'another list has a more common name' : null;
}

/** Members about the call do not count, unless there are no others and all are known. */
function sharesFigure(columns: readonly string[], known: ReadonlySet<string>): boolean {
  const isFigure = (column: string) =>
    isReportFigure(column) || (known.has(column) && !isCallMetadata(column));
  return columns.some(isFigure) || (columns.length > 0 && columns.every((column) => known.has(column)));
}

/** @returns why the only row may be no report. @throws RowsError if it is a refusal, or a job that builds the report */
function doubtInOne(
  document: Json,
  { rows, value }: FoundRows,
  figures: readonly string[],
  isShared: boolean,
): string | null {
  const row = rows[0] as JsonObject;
  const isKnown = (name: string) => figures.includes(camelCase(name));
  const refusal = findRefusal(row);
  if (refusal !== null && !isKnown(refusal)) {
    const word = JSON.stringify(refusal.slice(0, 40));
    if (isShared) return `its only row has ${word}, as refusals do`;
    throw refused(`it is one object with ${word} and no list of rows`);
  }
  if (!isShared && !row.names.some((name, at) => mayBeFigure(name, row.values[at] as Json)))
    throw refused(
      'it is one object with nothing but ids, states and texts, such as a job that builds the report',
    );
  return findErrorSign(document, value, false) !== null && !row.names.some(isKnown)
    ? 'a code next to its only row does not indicate success'
    : null;
}

/** Null, a list and an object may hold figures in another answer. */
function mayBeFigure(name: string, value: Json): boolean {
  if (isReportFigure(camelCase(name))) return true;
  if (holdsNoFigure(name)) return false;
  return isNumber(value) || (typeof value === 'object' && !isCallMetadata(name));
}

function isNumber(value: Json): boolean {
  return value instanceof JsonNumber || (typeof value === 'string' && ONLY_FIGURE.test(value));
}

function holdsNoFigure(name: string): boolean {
  const column = camelCase(name);
  return holdsText(name, column) || holdsMoment(column) || isState(name);
}

/** @param shape of rows that are refused for their columns */
function refused(why: string, shape: string | null = null): RowsError {
  return new RowsError(
    `${why}; if it is a report, name a column of it in report.endpoints.*.knownColumns`,
    shape,
  );
}

/** A sign in the first row, `[{"error": …}]`; without rows a code of letters. */
function signOfFirst(document: Json, { rows, value }: FoundRows): string | null {
  return rows[0] === undefined ? findWordedCode(document, value) : findErrorSign(rows[0], null, false);
}

function doubtInNothing(
  document: Json,
  { at, beside, value }: FoundRows,
  places: readonly string[],
): string | null {
  const doubt = findDoubt(document, value);
  if (doubt !== null) return `there are no rows, and ${JSON.stringify(doubt.slice(0, 40))} may say why`;
  const [name = ''] = at.split('.').slice(-1);
  const isUsual = at === '' || PREFERRED.includes(name) || places.includes(at);
  return isUsual && !beside ? null : 'there are no rows, and the list has an unusual name';
}

function shareColumn([first = [], ...others]: readonly (readonly string[])[]): boolean {
  return first.some((name) => others.every((names) => names.includes(name)));
}

function missingColumn(shapes: readonly (readonly string[])[], required: readonly string[]): string | null {
  if (required.length === 0) return null;
  for (const names of shapes) {
    const columns = new Set(names.map(camelCase));
    const missing = required.find((name) => !columns.has(camelCase(name)));
    if (missing !== undefined) return missing;
  }
  return null;
}

/** A row by its columns, which it shares with others. */
interface PlannedRow {
  readonly values: readonly Json[];
  readonly date: string | null;
  readonly plan: {
    readonly names: readonly string[];
    readonly columns: readonly string[];
    /** Index of the date; -1: none. */
    readonly dateAt: number;
  };
}

/** Of rows without a flaw: whether they have days of the period, or ids that were asked for. */
export function showsQuestion(
  rows: readonly PlannedRow[],
  { byDate, filters = [] }: { readonly byDate: boolean; readonly filters?: readonly RowFilter[] },
): boolean {
  if (byDate && rows.some(({ date }) => date !== null)) return true;
  const plans = [...new Set(rows.map(({ plan }) => plan))];
  return filters.some(
    ({ column }) => holdsId(column) && plans.some(({ columns }) => columns.includes(column)),
  );
}

/** @returns columns that are not known yet, with a number in the first row of that shape; no ids, dates, names and states */
export function figuresIn(
  rows: readonly PlannedRow[],
  { figures }: KnownShape = NOTHING_KNOWN,
): readonly string[] {
  const firsts = new Map(rows.toReversed().map((row) => [row.plan, row]));
  const found = [...firsts.values()].flatMap(({ plan: { names, columns, dateAt }, values }) =>
    columns.filter((column, at) => {
      if (at === dateAt || figures.includes(column) || !isNumber(values[at] as Json)) return false;
      const name = names[at] as string;
      return isReportFigure(column) || !(holdsNoFigure(name) || isCallMetadata(name));
    }),
  );
  return [...new Set(found)];
}
