/** Parses a JSON body strictly: the platform must read it as the gateway did. */
import type { Static, TSchema } from 'typebox';
import { type FieldFault, GatewayError } from '../../errors.js';
import { faultsOf } from '../../lib/faults.js';
import { mustBe } from '../../lib/field-faults.js';
import { clip } from '../../lib/http/problem.js';
import { JsonError, JsonObject, parseJson } from '../../reports/rows/json.js';

export interface BodyLimits {
  /** Members of all objects in it together. */
  readonly maxMembers: number;
  /** Items of all lists in it together. */
  readonly maxItems: number;
}

/**
 * @param limits default: none
 * @returns the body's object; an empty body is an empty object
 * @throws GatewayError `invalid_body` unless it is one JSON object in UTF-8 without duplicate members
 */
export function parseJsonBody(bytes: Buffer, limits?: BodyLimits): JsonObject {
  if (bytes.length === 0) return new JsonObject([], []);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new GatewayError('invalid_body', { detail: 'The body is not UTF-8.', cause: error });
  }
  try {
    const value = parseJson(text, limits);
    if (value instanceof JsonObject) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const allowed =
      limits === undefined || !error.isTooLarge
        ? ''
        : ` (at most ${limits.maxMembers} members and ${limits.maxItems} list items are taken)`;
    throw new GatewayError('invalid_body', {
      // The path in the message may be as long as the body is deep.
      detail: `The body is not acceptable JSON: ${clip(error.message, 100)}${allowed}.`,
      cause: error,
    });
  }
  throw new GatewayError('invalid_body', { detail: 'The body must be one JSON object.' });
}

/** @returns the body as its schema says. @throws GatewayError `invalid_body` with each fault, and as {@link parseJsonBody} */
export function readBody<S extends TSchema>(schema: S, bytes: Buffer, limits: BodyLimits): Static<S> {
  parseJsonBody(bytes, limits);
  const body: unknown = bytes.length === 0 ? {} : JSON.parse(bytes.toString());
  const errors = bodyFaults(schema, body);
  if (errors.length > 0) throw new GatewayError('invalid_body', { errors });
  return body as Static<S>;
}

/** Each fault of a body by its schema, with the allowed values. */
export function bodyFaults(schema: TSchema, body: unknown): FieldFault[] {
  return faultsOf(schema, body).map(({ path, kind, allowed }) => {
    const param = path.join('.');
    if (kind === 'unknown') return { param, message: `is ${allowed}` };
    const fault = mustBe(param, allowed);
    return kind === 'wrong' ? fault : { ...fault, message: `is missing; ${fault.message}` };
  });
}

/** @throws GatewayError `unsupported_media_type` unless the content type is JSON and the body is not compressed */
export function requireJson(contentType: string | undefined, contentEncoding: string | undefined): void {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw new GatewayError('unsupported_media_type', {
      detail: 'The content-type must be application/json.',
    });
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported_media_type', { detail: 'The body must not be compressed.' });
  }
}
