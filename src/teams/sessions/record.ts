/**
 * What is stored of a session, and what only whoever holds its cookie can make of it. Pure but for the random id.
 *
 * The store has neither the id, nor the token or key that signed in: it has a digest of the id, and what signed in as a MAC
 * under the id. So a copy of the store opens nothing and confirms no guess, not even one of a short token.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { randomBuffer } from '../../lib/chance.js';
import { type RecordOf, recordForm } from '../../lib/record.js';

/** Ends after so long whatever is done with it. */
export const LIFETIME_MS = 12 * 3_600_000;
/** Ends after so long without a request. */
export const IDLE_MS = 3_600_000;

export const SessionRecord = recordForm(
  Type.Object({
    /** Name of the admin token, or id of the team's key. */
    holder: Type.String(),
    /** What signed in, as {@link bind} makes it. */
    bound: Type.String(),
    /** As the browser named it when it signed in; and its origin. */
    host: Type.String(),
    origin: Type.String(),
    createdAtMs: Type.Number(),
    /** The last request, to a minute. */
    seenAtMs: Type.Number(),
  }),
);
export type SessionRecord = RecordOf<typeof SessionRecord>;

export function newSessionId(): string {
  return randomBuffer(32).toString('base64url');
}

export function sessionDocument(cookie: string, id: string): string {
  return `session:${cookie}:${hash('sha256', id, 'base64url')}`;
}

/** @param proof what signed in: a token, or the stored hash of a key's secret */
export function bind(id: string, proof: string): string {
  return mac(id, `holder ${proof}`);
}

/** What a page says with each change, which no other page can know: it is in an answer, and in no cookie. */
export function csrfOf(id: string): string {
  return mac(id, 'csrf');
}

function mac(id: string, text: string): string {
  return createHmac('sha256', id).update(text).digest('base64url');
}

/** In constant time for texts of one length. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export function endsAtMs({ createdAtMs }: SessionRecord): number {
  return createdAtMs + LIFETIME_MS;
}

export function isOver(record: SessionRecord, nowMs: number): boolean {
  return !(nowMs < endsAtMs(record) && nowMs < record.seenAtMs + IDLE_MS);
}
