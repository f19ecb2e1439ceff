/** Whether an answer of any address says that it is an error, though its status does not. Pure. */
import { findErrorSign, findTrouble } from './error-signs.js';
import { isJsonArray, type Json, JsonObject, parseJson } from './json.js';
import { JsonError } from './json-error.js';

/** What is no JSON says nothing: an address that is not a report's may answer in any form. */
export function saysError(body: Buffer): boolean {
  const document = parsed(body.toString());
  const held = document instanceof JsonObject ? document.values.flatMap(listIn) : listIn(document);
  const hasRows = held.some((value) => value instanceof JsonObject);
  return findErrorSign(document, null, hasRows) !== null || (!hasRows && findTrouble(document));
}

function listIn(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : [];
}

function parsed(text: string): Json {
  try {
    return parseJson(text, { allowBom: true });
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
