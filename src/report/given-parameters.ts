/** The parameters of a report request as they were given, in query and body; names that could be read two ways are refused. */
import type { FieldFault } from '../errors.js';
import { isJsonArray, type Json, JsonObject } from './json.js';
import { nameFault, type ParameterTable } from './parameters.js';
import { parseQueryText } from './query-text.js';

export type Place = 'query' | 'body';

/** One parameter as given: query values in order, or one JSON value. */
export interface Given {
  readonly name: string;
  readonly list: boolean;
  readonly place: Place;
  readonly values: readonly string[];
  readonly json: Json;
}

const INNER_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

export interface GivenRequest {
  /** The query string as received, without `?`. */
  readonly query: string;
  /** The parsed body of a POST. */
  readonly body: JsonObject | null;
}

/** @param faults filled with one entry for each name at fault */
export function readGiven(
  { query, body }: GivenRequest,
  table: ParameterTable,
  faults: FieldFault[],
): Given[] {
  const given = [...fromQuery(query, table, faults), ...fromBody(body, table, faults)];
  refuseRepeats(given, faults);
  return given;
}

/** Whether it is a parameter of the gateway itself, not the platform's. */
export function isOwn({ name }: Given): boolean {
  return name.startsWith('_');
}

function fromQuery(text: string, table: ParameterTable, faults: FieldFault[]): Given[] {
  const byName = new Map<string, { list: boolean; values: string[] }>();
  for (const { name, value } of parseQueryText(text)) {
    const own = name.startsWith('_');
    const fault = own ? null : nameFault(name, table);
    if (fault !== null) faults.push({ param: name, message: fault });
    else {
      // The gateway's own parameters take no lists: `_format[]` is an unknown name.
      const list = !own && name.endsWith('[]');
      const bare = list ? name.slice(0, -2) : name;
      const entry = byName.get(bare) ?? { list, values: [] };
      const isSet = table.kinds.get(bare) === 'set';
      if (byName.has(bare) && !isSet && !(list && entry.list)) {
        faults.push({ param: name, message: 'is given more than once' });
      }
      entry.values.push(value);
      byName.set(bare, entry);
    }
  }
  return [...byName].map(([name, { list, values }]) => ({ name, list, place: 'query', values, json: null }));
}

function fromBody(body: JsonObject | null, table: ParameterTable, faults: FieldFault[]): Given[] {
  if (body === null) return [];
  return body.names.flatMap((name, index): Given[] => {
    const fault = name.startsWith('_')
      ? 'belongs to the gateway and goes into the query'
      : nameFault(name, table);
    const listName =
      fault === null && name.endsWith('[]')
        ? 'takes its list as a JSON array, without [] in the name'
        : fault;
    if (listName !== null) {
      faults.push({ param: name, message: listName });
      return [];
    }
    const json = body.values[index] as Json;
    refuseInnerNames(name, json, faults);
    return [{ name, list: false, place: 'body', values: [], json }];
  });
}

/** Names inside of a value are held to the same grammar: control characters and dots have fooled readers before. */
function refuseInnerNames(param: string, json: Json, faults: FieldFault[]): void {
  if (isJsonArray(json)) for (const item of json) refuseInnerNames(param, item, faults);
  if (!(json instanceof JsonObject)) return;
  json.names.forEach((name, index) => {
    if (!INNER_NAME.test(name) || name in Object.prototype) {
      faults.push({
        param,
        message: `holds the member ${JSON.stringify(name)}, which is not allowed as a name`,
      });
    }
    refuseInnerNames(param, json.values[index] as Json, faults);
  });
}

function refuseRepeats(given: readonly Given[], faults: FieldFault[]): void {
  const seen = new Set<string>();
  for (const { name } of given) {
    if (seen.has(name)) faults.push({ param: name, message: 'is given in both query and body' });
    seen.add(name);
  }
}
