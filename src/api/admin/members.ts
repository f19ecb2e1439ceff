/** Checks of body members beyond the schema. */
import { isIsoDate } from '../../config/values.js';
import { type FieldFault, GatewayError } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';

export function invalidMembers(...errors: FieldFault[]): GatewayError {
  return new GatewayError('invalid_body', { status: 422, errors });
}

export function refuseFaults(faults: readonly FieldFault[]): void {
  if (faults.length > 0) throw invalidMembers(...faults);
}

/**
 * Reads an expiry.
 * @returns ISO time in UTC; null without one
 * @throws GatewayError `invalid_body` unless it is an ISO date in the future
 */
export function readFutureDate(param: string, text: string | null | undefined, nowMs: number): string | null {
  if (text === null || text === undefined) return null;
  if (isIsoDate(text) && Date.parse(text) > nowMs) return new Date(text).toISOString();
  throw invalidMembers(mustBe(param, 'an ISO date in the future, e.g. 2027-11-01 or 2027-11-01T00:00:00Z'));
}
