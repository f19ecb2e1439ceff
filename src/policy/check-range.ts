import type { Caller } from '../auth/authenticate.js';
import { GatewayError } from '../errors.js';

export interface RangeClaims {
  /** Days of the asked period, both ends included; null when it is open. */
  readonly rangeDays: number | null;
  /** The parameter that set its end. */
  readonly rangeParam: string;
}

/** The period is no longer than the team may ask for. */
export function checkRange({ team }: Caller, { rangeDays, rangeParam }: RangeClaims): void {
  const { maxRangeDays } = team.limits;
  if (rangeDays === null || rangeDays <= maxRangeDays) return;
  throw new GatewayError('invalid_query', {
    detail: `The period of ${rangeDays} days is longer than this team may ask for.`,
    errors: [
      {
        param: rangeParam,
        message: `the period may cover at most ${maxRangeDays} days, this one covers ${rangeDays}`,
      },
    ],
  });
}
