import type { Caller } from '../auth/authenticate.js';
import { GatewayError } from '../errors.js';

export interface RangeRequest {
  /** Days of the asked period, both ends included; null when it is open. */
  readonly rangeDays: number | null;
  /** It has an end and no beginning: the platform may begin it on any day. */
  readonly opensEarly?: boolean;
}

/** The period is no longer than the team may ask for. */
export function checkRange({ team }: Caller, { rangeDays, opensEarly = false }: RangeRequest): void {
  const { maxRangeDays } = team.limits;
  if (rangeDays === null || rangeDays <= maxRangeDays) return;
  throw new GatewayError('invalid_query', {
    detail: opensEarly
      ? 'The period has no beginning, so it may be longer than this team may ask for.'
      : `The period of ${rangeDays} days is longer than this team may ask for.`,
    errors: [
      {
        // The contract's name for it, `_period` included.
        param: 'dateTo',
        message: opensEarly
          ? `the period may cover at most ${maxRangeDays} days, and without dateFrom it may begin on any day: give dateFrom too`
          : `the period may cover at most ${maxRangeDays} days, this one covers ${rangeDays}`,
      },
    ],
  });
}
