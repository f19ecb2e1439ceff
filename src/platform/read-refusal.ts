/** The platform's message about a refused request, scrubbed. */
import Type from 'typebox';
import { recordForm } from '../lib/record.js';
import { holdsToken, scrubText } from './scrub.js';

const MAX_BYTES = 1024;

export interface Refusal {
  readonly status: number;
  /** The platform's message, scrubbed, at most 1 KiB; null when it gave none that is text. */
  readonly message: string | null;
  /** Its faults by field, if they fit into the rest of the 1 KiB. */
  readonly errors?: unknown;
}

/** Values are checked below. */
const Said = recordForm(
  Type.Object({
    message: Type.Optional(Type.Unknown()),
    error: Type.Optional(Type.Unknown()),
    errors: Type.Optional(Type.Unknown()),
  }),
);

/** @param token kept out of the message */
export function readRefusal(status: number, contentType: string, body: Buffer, token: string): Refusal {
  const text = body.toString('utf8', 0, 65_536);
  const parsed = Said.parse(text);
  if (parsed === null) {
    const plain = /^text\/plain\b/i.test(contentType) ? scrubText(text.trim(), [token], MAX_BYTES) : '';
    return { status, message: plain === '' ? null : plain };
  }
  const said = typeof parsed.message === 'string' ? parsed.message : parsed.error;
  const message = typeof said === 'string' ? scrubText(said, [token], MAX_BYTES) : null;
  const errors = readErrors(parsed.errors, token, MAX_BYTES - Buffer.byteLength(message ?? ''));
  return { status, message, ...(errors === null ? {} : { errors }) };
}

function readErrors(errors: unknown, token: string, maxBytes: number): unknown {
  if (typeof errors !== 'object' || errors === null) return null;
  const text = JSON.stringify(errors);
  return Buffer.byteLength(text) <= maxBytes && !holdsToken(Buffer.from(text), token) ? errors : null;
}
