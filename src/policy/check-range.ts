import type { Caller } from '../auth/authenticate.js';
import { GatewayError } from '../errors.js';

export interface RangeClaims {
  /** Days of the asked period, both ends included; null when it is open. */
  readonly rangeDays: number | null;
}

/** The period is no longer than the team may ask for. */
export function checkRange({ team }: Caller, { rangeDays }: RangeClaims): void {
  const { maxRangeDays } = team.limits;
  if (rangeDays === null || rangeDays <= maxRangeDays) return;
  throw new GatewayError('invalid_query', {
    detail: `The period of ${rangeDays} days is longer than this team may ask for.`,
    errors: [
      {
        // The contract's name for it, `_period` included.
        param: 'dateTo',
        message: `the period may cover at most ${maxRangeDays} days, this one covers ${rangeDays}`,
      },
    ],
  });
}
