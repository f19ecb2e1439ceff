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

// Exact upper bound of Clopper and Pearson.

const CHANCE = 0.05;
const STEPS = 50;

/** @returns the share, 0 to 1, that is not exceeded with 95 % confidence; 1 without samples */
export function upperBound(seen: number, of: number): number {
  if (seen >= of) return 1;
  let [low, high] = [seen / of, 1];
  for (let step = 0; step < STEPS; step += 1) {
    const middle = (low + high) / 2;
    if (chanceOfAtMost(seen, of, middle) > CHANCE) low = middle;
    else high = middle;
  }
  return high;
}

/** P(X ≤ most) of a binomial distribution. In logarithms: terms underflow for hundreds of samples. */
function chanceOfAtMost(most: number, of: number, share: number): number {
  let term = of * Math.log1p(-share);
  let sum = Math.exp(term);
  for (let seen = 1; seen <= most; seen += 1) {
    term += Math.log((of - seen + 1) / seen) + Math.log(share) - Math.log1p(-share);
    sum += Math.exp(term);
  }
  return sum;
}

/** In percent, rounded up to two places. */
export function percentAtMost(seen: number, of: number): number {
  return Math.min(100, Math.ceil(upperBound(seen, of) * 10_000 - 1e-6) / 100);
}
