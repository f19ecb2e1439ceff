/** What a write is held to. */
import type { Check } from '../../teams/write-guard/check-write.js';
import type { GuardRule } from '../../teams/write-guard/rule.js';

export type Guarding =
  | { readonly kind: 'read' }
  /** A write that no rule is for, and that may be sent. */
  | { readonly kind: 'open' }
  /** A write that no rule is for, and that therefore may not be sent. */
  | { readonly kind: 'closed'; readonly check: Check }
  | { readonly kind: 'ruled'; readonly route: string; readonly rule: GuardRule };

/** What a rule allows a day. */
export interface DayLimit {
  readonly route: string;
  /** Millionths, as all amounts here. */
  readonly max: number;
  readonly currency: string | undefined;
}

/** What a write takes of its day. */
export interface Charge extends Omit<DayLimit, 'max'> {
  /** null where the rule has no budget. */
  readonly amount: number | null;
  /** null where the day has no limit. */
  readonly max: number | null;
}
