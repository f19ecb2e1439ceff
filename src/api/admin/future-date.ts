import { isIsoDate } from '../../config/values.js';
import { GatewayError } from '../../errors.js';

/**
 * Reads an expiry in a body.
 * @returns ISO time in UTC; null without one
 * @throws GatewayError `invalid_body` unless it is an ISO date in the future
 */
export function readFutureDate(param: string, text: string | null | undefined, nowMs: number): string | null {
  if (text === null || text === undefined) return null;
  if (!isIsoDate(text) || Date.parse(text) <= nowMs) {
    throw new GatewayError('invalid_body', {
      status: 422,
      errors: [
        { param, message: 'must be an ISO date in the future, e.g. 2027-11-01 or 2027-11-01T00:00:00Z' },
      ],
    });
  }
  return new Date(text).toISOString();
}
