import { isJsonArray, type Json, JsonObject, writeJson } from './json.js';

/** Compact JSON with the members of every object sorted by name; numbers and lists as they were. */
export function sortedJson(json: Json): string {
  if (isJsonArray(json)) return `[${json.map(sortedJson).join(',')}]`;
  if (!(json instanceof JsonObject)) return writeJson(json);
  const members = json.names.map((name, index): [string, Json] => [name, json.values[index] as Json]);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${sortedJson(value)}`).join(',')}}`;
}
