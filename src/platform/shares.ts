/** A team's share of platform calls, as the client knows it. */
import type { GatewayError } from '../errors.js';

/** How many calls a team may cause. */
export interface Shares {
  /** `upstream_budget_exhausted` when nothing is left of a team's share, as far as is known; else null. */
  exhausted(team: string): Promise<GatewayError | null>;
  /** Charges a call that is about to be made. @throws GatewayError `upstream_budget_exhausted` */
  take(team: string): Promise<Charge>;
}

export interface Charge {
  /** Of a call that was not made after all; to be called once. */
  putBack(): void;
}
