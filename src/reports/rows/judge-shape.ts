/**
 * Whether the found rows are a report: errors identify themselves, and answers that may be errors are doubtful. A doubtful
 * answer is served with a warning if there is nothing better, and never cached.
 */

import {
  findDoubt,
  findErrorSign,
  findRefusal,
  findWordedCode,
  isCallMetadata,
  isState,
  startsWithDay,
} from './flaws.js';
import { type Json, JsonNumber, JsonObject } from './json.js';
import { camelCase, holdsId, holdsText, isReportFigure } from './row-names.js';
import { type FoundRows, PREFERRED, RowsError, type RowsInput } from './rows.js';

const FIGURE = /^[-+]?\p{Sc}?\s?\.?\d/u;
/** A figure and nothing else: no date, no id. */
const ONLY_FIGURE = /^\s*[-+]?\p{Sc}?\s?[\d.,' ]*\d\s?[%\p{Sc}]?\s*$/u;

/** About earlier answers of an endpoint. */
export interface KnownShape {
  /** Paths of the rows in earlier reports with the same endpoint, method and split; an unusual name is accepted there. */
  readonly places: readonly string[];
  /** Columns of earlier answers, or of the configuration, in camelCase. Empty: unknown. */
  readonly columns: readonly string[];
}

export const NOTHING_KNOWN: KnownShape = { places: [], columns: [] };

/** @returns why the answer may not be a report, else null. @throws RowsError if it is an error, or lacks a required column */
export function judgeShape(
  document: Json,
  found: FoundRows,
  { rule, byDate }: RowsInput,
  known: KnownShape,
): string | null {
  const { rows, single, at } = found;
  const columns = new Set(known.columns);
  const shapes = [...new Set(rows.map(({ names }) => names))];
  const hasRows = single ? rows.some(hasNumber) : shapes.some((names) => isOfRow(names, columns));
  const sign =
    findErrorSign(document, found.value, hasRows) ?? (hasRows ? null : signOfFirst(document, found));
  if (sign !== null) throw new RowsError(`${JSON.stringify(sign.slice(0, 40))} says it is an error`);
  const missing = missingColumn(shapes, rule.requiredColumns ?? []);
  if (missing !== null) throw new RowsError(`a row lacks the required column ${JSON.stringify(missing)}`);
  if ((rule.requiredColumns ?? []).length > 0) return null;
  if (single && rule.rowsPath === undefined && isJob(rows[0] as JsonObject, columns))
    throw refused(
      'it is one object with nothing but ids, states and texts, such as a job that builds the report',
    );
  const strange = rows.length === 0 ? null : doubtInColumns(document, found, shapes.flat(), columns);
  // A configured path leaves no doubt.
  if (rule.rowsPath !== undefined) return null;
  if (rows.length === 0) return doubtInNothing(document, found, known.places);
  if (!hasRows) return 'no row contains a figure';
  if (!shareColumn(shapes)) return 'the rows have no column in common';
  if (strange !== null) return strange;
  if (found.beside && !known.places.includes(at)) return 'another list has a more common name';
  const isEmptyOfFacts = byDate && !rows.some((row) => row.values.some(startsWithDay) || hasNumber(row));
  return isEmptyOfFacts ? 'no row contains a day or a number, although a split by date was requested' : null;
}

/** Whether no member can be a figure. Columns that an operator names are believed; those of earlier reports include a figure. */
function isJob({ names, values }: JsonObject, known: ReadonlySet<string>): boolean {
  const isNamed = names.some((name) => known.has(camelCase(name)) && !holdsId(name) && !isState(name));
  if (isNamed && ![...known].some(isReportFigure)) return false;
  return names.every((name, at) => !mayBeFigure(name, values[at] as Json));
}

function mayBeFigure(name: string, value: Json): boolean {
  const column = camelCase(name);
  if (isReportFigure(column)) return true;
  if (holdsText(name, column) || isState(name) || typeof value === 'boolean') return false;
  if (typeof value === 'string') return ONLY_FIGURE.test(value);
  return value instanceof JsonNumber || !isCallMetadata(name);
}

/** A refusal has other members than the report. A list of rows is rarely one. @throws RowsError if it is a refusal */
function doubtInColumns(
  document: Json,
  { rows, single, value }: FoundRows,
  names: readonly string[],
  known: ReadonlySet<string>,
): string | null {
  const isKnown = (name: string) => known.has(name) || known.has(camelCase(name));
  if (known.size > 0 && !names.some(isKnown)) throw refused('it has no known column of this endpoint');
  if (!single) return null;
  const refusal = findRefusal(rows[0] as JsonObject);
  const word =
    refusal === null || known.has(camelCase(refusal)) ? null : JSON.stringify(refusal.slice(0, 40));
  if (known.size > 0) {
    if (word !== null) return `its only row has ${word}, as refusals do`;
    const isFigure = (name: string) => !holdsId(name) && !isCallMetadata(name);
    return names.some((name) => isKnown(name) && isFigure(name))
      ? null
      : 'its only row has no known column except ids';
  }
  if (word !== null) throw refused(`it is one object with ${word} and no list of rows`);
  if (isScalarData(document)) throw refused('"data" is neither a list nor an object');
  if (findErrorSign(document, value, false) !== null)
    return 'a code next to its only row does not indicate success';
  return names.some((name) => isReportFigure(camelCase(name)))
    ? null
    : 'its only row has no common report figure';
}

function refused(why: string): RowsError {
  return new RowsError(`${why}; if it is a report, name a column of it in report.endpoints.*.knownColumns`);
}

function isScalarData(document: Json): boolean {
  const data = document instanceof JsonObject ? document.get('data') : undefined;
  return data !== undefined && (data === null || typeof data !== 'object' || data instanceof JsonNumber);
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

/** An object with call metadata only is no row, unless all members are known columns. */
function isOfRow(names: readonly string[], known: ReadonlySet<string>): boolean {
  if (names.some((name) => !isCallMetadata(name))) return true;
  return names.length > 0 && names.every((name) => known.has(camelCase(name)));
}

function hasNumber({ names, values }: JsonObject): boolean {
  return values.some((value, at) => {
    const isNumber = value instanceof JsonNumber || (typeof value === 'string' && FIGURE.test(value));
    return (isNumber || value === null) && !isCallMetadata(names[at] as string);
  });
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
