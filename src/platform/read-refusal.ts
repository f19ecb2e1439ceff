/** The platform's message about a refused request, scrubbed. */
import Type from 'typebox';
import { recordForm } from '../lib/record.js';
import { holdsToken, scrubText } from './scrub.js';

const MAX_BYTES = 1024;
const READ_BYTES = 65_536;
/** Of a body that is longer, the first message, or its beginning. */
const FIRST_MESSAGE = /^\s*\{.*?"(?:message|error)"\s*:\s*"((?:[^"\\]|\\(?:u[\da-f]{4}|[^u])){0,16384})/is;

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
  const text = body.toString('utf8', 0, READ_BYTES);
  const [, first] = (body.length > READ_BYTES && FIRST_MESSAGE.exec(text)) || [];
  const parsed = Said.parse(first === undefined ? text : `{"message":"${first}"}`);
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
