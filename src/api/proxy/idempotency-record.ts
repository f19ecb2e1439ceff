/**
 * The idempotency key of a write, and its record: fingerprints of the request, and the outcome. Pure.
 *
 * A record is stored as JSON, with the bytes of the answer in base64. It reveals neither key nor request, but the answer, as a
 * cached report does. Members of other releases are kept.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { recordForm } from '../../lib/record.js';
import { type JsonObject, sortedJson } from '../../reports/rows/json.js';

const StoredAnswer = Type.Object({
  status: Type.Number(),
  headers: Type.Record(Type.String(), Type.String()),
  /** Base64. */
  body: Type.String(),
});

const StoredOutcome = Type.Union([
  Type.Object({ state: Type.Literal('open') }),
  Type.Object({ state: Type.Literal('answered'), answer: StoredAnswer }),
  Type.Object({ state: Type.Literal('unknown'), why: Type.String() }),
]);

const StoredRecord = recordForm(
  Type.Object({
    owner: Type.String(),
    request: Type.String(),
    canonical: Type.Optional(Type.String()),
    atMs: Type.Number(),
    /** The outcome: releases that share a store know it by this name. */
    fate: StoredOutcome,
  }),
);

/** An answer that can be repeated byte for byte. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type IdempotencyOutcome =
  /** Sent or about to be sent, by a process that may have ended. */
  | { readonly state: 'open' }
  | { readonly state: 'answered'; readonly answer: KeptAnswer }
  /** The platform may or may not have executed it, or executed it and the answer is not kept. */
  | { readonly state: 'unknown'; readonly why: string };

export interface IdempotencyRecord {
  /** Random id of the first request; distinguishes two records of equal requests. */
  readonly owner: string;
  readonly request: string;
  /** See {@link canonicalFingerprint}; absent in records of older releases. */
  readonly canonical?: string;
  /** Time of the first request, epoch milliseconds. */
  readonly atMs: number;
  readonly outcome: IdempotencyOutcome;
}

export interface KeyedRequest {
  /** In its present life. */
  readonly team: string;
  readonly key: string;
  readonly request: string;
  /** See {@link canonicalFingerprint}. */
  readonly canonical?: string;
}

const HEADER = 'idempotency-key';
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * @returns null without one
 * @throws GatewayError `invalid_request` for two keys, or one that is not 1 to 255 printable ASCII characters
 */
export function readIdempotencyKey({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | null {
  // `headers` would join two values into one.
  const given = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === HEADER,
  );
  const [key, second] = given;
  if (key === undefined) return null;
  if (second === undefined && KEY.test(key)) return key;
  throw new GatewayError('invalid_request', {
    detail: `${HEADER} must be 1 to 255 printable ASCII characters, and not repeated.`,
  });
}

/** Keys belong to a team and may be any text, so the name is a digest. */
export function idempotencyDocument(team: string, key: string): string {
  return `idempotency:${hash('sha256', JSON.stringify([team, key]), 'base64url')}`;
}

export interface FingerprintOf {
  readonly method: string;
  readonly path: string;
  /** As sent. */
  readonly query: string;
  readonly body: Buffer | null;
}

/** Equal for requests that send the platform the same bytes. */
export function fingerprint({ method, path, query, body }: FingerprintOf): string {
  const head = Buffer.from(`${JSON.stringify([method, path, query])}\n`);
  return hash('sha256', Buffer.concat([head, body ?? Buffer.alloc(0)]), 'base64url');
}

export interface MeaningOf extends Omit<FingerprintOf, 'body'> {
  readonly body: JsonObject | null;
  readonly contentType: string | undefined;
  readonly ifMatch: string | undefined;
}

/** Equal for requests that mean the same: white space and the order of members do not matter. */
export function canonicalFingerprint({ method, path, query, body, contentType, ifMatch }: MeaningOf): string {
  const type = contentType?.toLowerCase().replace(/\s/g, '') ?? null;
  const text = body === null ? null : sortedJson(body);
  return hash('sha256', JSON.stringify([method, path, query, type, ifMatch ?? null, text]), 'base64url');
}

export function writeRecord({ outcome, ...record }: IdempotencyRecord): string {
  if (outcome.state !== 'answered') return JSON.stringify({ ...record, fate: outcome });
  const answer = { ...outcome.answer, body: outcome.answer.body.toString('base64') };
  return JSON.stringify({ ...record, fate: { ...outcome, answer } });
}

export function readRecord(text: string): IdempotencyRecord | null {
  const stored = StoredRecord.parse(text);
  if (stored === null) return null;
  const { fate, ...record } = stored;
  if (fate.state !== 'answered') return { ...record, outcome: fate };
  const answer = { ...fate.answer, body: Buffer.from(fate.answer.body, 'base64') };
  return { ...record, outcome: { ...fate, answer } };
}
