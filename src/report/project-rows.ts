/** Some columns of rows (`_fields`): each row becomes a smaller one. None is merged, dropped or moved. Pure. */
import type { FieldFault } from '../errors.js';
import { nearName } from '../near-name.js';
import { type JsonArray, JsonObject, parseJson, writeJson } from './json.js';
import { didYouMean, plainName } from './parameters.js';

/**
 * @param rowsText rows as compact JSON, joined by `separator`
 * @param fields names of columns, in the order in which they are to stand; a row has those that it has
 */
export function projectRows(rowsText: string, fields: readonly string[], separator: string): string {
  if (rowsText === '') return '';
  const rows = parseJson(`[${rowsText}]`, { maxDepth: 1_000 }) as JsonArray;
  const prefixes = fields.map((field) => `${JSON.stringify(field)}:`);
  const places = new Map<readonly string[], readonly number[]>();
  return rows
    .map((row) => {
      if (!(row instanceof JsonObject)) throw new TypeError('a row is not an object');
      const { names, values } = row;
      const at = places.get(names) ?? fields.map((field) => names.indexOf(field));
      places.set(names, at);
      const members = at.flatMap((place, index) => {
        const value = values[place];
        return value === undefined ? [] : [`${prefixes[index]}${writeJson(value)}`];
      });
      return `{${members.join()}}`;
    })
    .join(separator);
}

const MOST_FIELDS = 256;

/** @returns names of columns, in their order; faults are added to `faults` */
export function readFields(text: string, faults: FieldFault[]): readonly string[] {
  const fields = text.split(',');
  const twice = fields.find((field, at) => fields.indexOf(field) < at);
  const message = fields.includes('')
    ? 'must be names of columns with a comma between them, as date,spent'
    : fields.length > MOST_FIELDS
      ? `names more than ${MOST_FIELDS} columns`
      : twice === undefined
        ? null
        : `names ${twice} twice`;
  if (message !== null) faults.push({ param: '_fields', message });
  return fields;
}

/** Known columns that a message names. */
const MOST_NAMED = 15;

/**
 * @param columns of the answer's rows; none where it has no rows, and so nothing that a name could be held against
 * @param seen columns that other answers of the same report had: one that is there at times only is no fault
 */
export function fieldFaults(
  fields: readonly string[],
  columns: readonly string[],
  seen: ReadonlySet<string>,
): FieldFault[] {
  if (columns.length === 0) return [];
  const unknown = fields.filter((field) => !columns.includes(field) && !seen.has(field));
  const known = columns.slice(0, MOST_NAMED).join(', ') + (columns.length > MOST_NAMED ? ' and others' : '');
  return unknown.map((field) => {
    const meant =
      columns.find((column) => plainName(column) === plainName(field)) ?? nearName(field, columns);
    const hint = meant === undefined ? '' : `: ${didYouMean(meant)}`;
    return {
      param: '_fields',
      message: `${field} is no column of this report${hint}${hint === '' ? '.' : ''} There are ${known}`,
    };
  });
}
