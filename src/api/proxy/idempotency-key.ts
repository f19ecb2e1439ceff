/** The idempotency key of a request. */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../errors.js';

const HEADER = 'idempotency-key';
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * @returns null when there is none
 * @throws GatewayError `invalid_request` for two of them, or one that is not 1 to 255 printable ASCII characters
 */
export function readIdempotencyKey({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | null {
  // `headers` joins two of them into one that nobody sent.
  const given = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === HEADER,
  );
  const [key, second] = given;
  if (key === undefined) return null;
  if (second === undefined && KEY.test(key)) return key;
  throw new GatewayError('invalid_request', {
    detail: `${HEADER} must be given once, as 1 to 255 printable ASCII characters.`,
  });
}
