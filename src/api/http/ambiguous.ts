/** Requests that the next reader might take for others: another version of HTTP, no host, two of them, or a body where none belongs. */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../errors.js';

/** @returns why a request cannot be read in one way only, or null */
export function ambiguityOf(raw: IncomingMessage): GatewayError | null {
  // Node's parser takes a request line without a version for HTTP/0.9, and knows 2.0.
  if (raw.httpVersion !== '1.1' && raw.httpVersion !== '1.0')
    return ambiguous('The request line names no version, or one that is not spoken here; send HTTP/1.1.');
  const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) return ambiguous('The request names two hosts.');
  const isOld = raw.httpVersion === '1.0';
  const coding = raw.headers['transfer-encoding'];
  if (hosts === 0 && !isOld) return ambiguous('The request names no host.');
  if (isOld && coding !== undefined)
    return ambiguous('HTTP/1.0 has no transfer-encoding (RFC 9112, section 6.1); send content-length.');
  // Node undoes the chunks alone: of `gzip, chunked` the platform would be sent the gzip, and not be told.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return ambiguous(
      'The body has a transfer-encoding beside chunked, which is not undone here; send it plain.',
    );
  const { expect } = raw.headers;
  if (!isOld && expect !== undefined && expect.toLowerCase() !== '100-continue')
    return ambiguous('The expectation cannot be met; 100-continue can.', 417);
  if (raw.method !== 'GET' && raw.method !== 'HEAD') return null;
  const length = raw.headers['content-length'];
  if (coding === undefined && (length === undefined || length === '0')) return null;
  return ambiguous(`A ${raw.method} takes no body.`);
}

/** What follows on the connection may be anything. */
function ambiguous(detail: string, status = 400): GatewayError {
  return new GatewayError('invalid_request', { status, detail, headers: { connection: 'close' } });
}
