import { isIsoDate } from '../../config/values.js';
import { GatewayError } from '../../errors.js';

/**
 * An expiry as given in a body.
 * @returns ISO time in UTC, or null when none was given
 * @throws GatewayError `invalid_body` for anything but an ISO date in the future
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
