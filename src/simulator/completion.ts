import { type Moment, STEPS_PER_DAY } from './days.js';
import { hash } from './hash.js';

/** How the numbers of past days become complete. */
export interface Completion {
  readonly kind: 'linear' | 'curves';
  /** Linear: number of days before today that are incomplete. */
  readonly restateDays: number;
}

const TOPIC = { curve: 31, gap: 32, step: 33 };
/** The largest missing part of a day, in 1/10000. */
const INCOMPLETE = 1_200;
/** The last day on which a day's numbers change, for ten neighbouring advertisers. */
const LAST_STEPS = [3, 3, 3, 3, 3, 3, 3, 7, 14, 28] as const;
/** Age at which most of any advertiser's day is known. */
const EARLY_DAYS = 3;
/** Missing part of a curve by age, in 1/10000, without late steps. */
const EARLY = [700, 300, 90] as const;

/** Age in days of the last change of an advertiser's days under curves. */
export function lastStepOf(seed: number, advertiserId: number): number {
  const place = (advertiserId + hash(seed, TOPIC.curve)) % LAST_STEPS.length;
  return LAST_STEPS[place] ?? EARLY_DAYS;
}

/** The known part of a day's final numbers, in 1/10000. @param day today or earlier */
export function completionOf(
  { kind, restateDays }: Completion,
  seed: number,
  { today, step }: Moment,
  advertiserId: number,
  day: number,
): number {
  const age = today - day;
  const linear = age > restateDays ? 0 : (INCOMPLETE * (restateDays + 1 - age)) / (restateDays + 1);
  const missing = kind === 'curves' ? missingByCurve(seed, advertiserId, day, age) : linear;
  const known = 10_000 - Math.floor(missing);
  return age === 0 ? Math.floor((known * (step + 1)) / (STEPS_PER_DAY + 1)) : known;
}

/** The sum of future steps: first large ones, then small ones, a few days apart. */
function missingByCurve(seed: number, advertiserId: number, day: number, age: number): number {
  const last = lastStepOf(seed, advertiserId);
  let missing = EARLY[age] ?? 0;
  const gap = 3 + (hash(seed, TOPIC.gap, advertiserId) % 3);
  for (let at = last; at > EARLY_DAYS && at > age; at -= gap) {
    missing += 10 + (hash(seed, TOPIC.step, advertiserId, day * 64 + at) % 31);
  }
  return missing;
}
