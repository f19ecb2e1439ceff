/**
 * What is remembered of a write that carries an idempotency key: which request it was, and what became of it. Pure.
 *
 * The form is the note's text: JSON with the answer's bytes in base64. Neither the key nor the request can be read
 * from it; the answer can, as cached reports can.
 */
import { hash } from 'node:crypto';
import type { JsonObject } from '../report/json.js';
import { sortedJson } from '../report/sorted-json.js';

/** An answer as it can be given again, byte for byte. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Fate =
  /** Asked for, by a process that may be gone. */
  | { readonly state: 'open' }
  | { readonly state: 'answered'; readonly answer: KeptAnswer }
  /** The platform may or may not have done it, or did it and the answer is not kept. */
  | { readonly state: 'unknown'; readonly why: string };

export interface IdempotencyRecord {
  /** Who asked first; tells two records of the same request apart. */
  readonly owner: string;
  /** Fingerprint of the request. */
  readonly request: string;
  /** Fingerprint of what it means; absent in records of versions that did not have it. */
  readonly canonical?: string;
  /** When it was first asked for, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly fate: Fate;
}

/** The name of the note; keys are of a team, and any text. */
export function idempotencyNote(team: string, key: string): string {
  return `idempotency:${hash('sha256', JSON.stringify([team, key]), 'base64url')}`;
}

export interface FingerprintOf {
  readonly method: string;
  readonly path: string;
  /** In the spelling that is sent. */
  readonly query: string;
  readonly body: Buffer | null;
}

/** Equal for requests that ask the platform for the same. */
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

export function writeRecord({ fate, ...record }: IdempotencyRecord): string {
  if (fate.state !== 'answered') return JSON.stringify({ ...record, fate });
  const answer = { ...fate.answer, body: fate.answer.body.toString('base64') };
  return JSON.stringify({ ...record, fate: { ...fate, answer } });
}

/** @returns null for a text that is no record */
export function readRecord(text: string): IdempotencyRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value)) return null;
  const { owner, request, atMs, canonical } = value;
  const fate = readFate(value.fate);
  if (typeof owner !== 'string' || typeof request !== 'string' || typeof atMs !== 'number') return null;
  if (fate === null) return null;
  return { owner, request, atMs, fate, ...(typeof canonical === 'string' ? { canonical } : {}) };
}

function readFate(value: unknown): Fate | null {
  if (!isObject(value)) return null;
  if (value.state === 'open') return { state: 'open' };
  if (value.state === 'unknown' && typeof value.why === 'string') return { state: 'unknown', why: value.why };
  if (value.state !== 'answered' || !isObject(value.answer)) return null;
  const { status, headers, body } = value.answer;
  if (typeof status !== 'number' || !isObject(headers) || typeof body !== 'string') return null;
  return {
    state: 'answered',
    answer: { status, headers: headers as Record<string, string>, body: Buffer.from(body, 'base64') },
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
