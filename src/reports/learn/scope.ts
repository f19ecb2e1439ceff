/** The scope of learning: endpoint, split and advertiser; and the upper bound of a counted share. */
import type { Report } from '../query/canonicalize.js';
import { digest } from '../query/platform-call.js';

export interface Scope {
  readonly endpoint: string;
  /** As `date+campaign`. */
  readonly split: string;
  /** Null: reports without an advertiser. */
  readonly account: string | null;
}

export function scopeOf({ endpoint, split, account }: Report): Scope {
  return { endpoint, split: split.join('+'), account };
}

/** Short, safe as a store key. */
export function scopeId({ endpoint, split, account }: Scope): string {
  return digest([endpoint, split, account === null ? '' : `=${account}`]).slice(0, 22);
}

/** Whether it is the series of its scope whose days are counted: that without a selection and further parameters. */
export function isCounted({ members, passedOn, spentBased }: Report): boolean {
  return passedOn.length === 0 && spentBased === null && !members.some(({ name }) => name === 'campaignIds');
}

/** A rough upper bound of a share, in percent, rounded up to two places: the rule of three where nothing was seen. */
export function percentAtMost(seen: number, of: number): number {
  const most = (seen + 3 + 2 * Math.sqrt(seen)) / of;
  return Math.min(100, Math.ceil(most * 10_000 - 1e-6) / 100);
}
