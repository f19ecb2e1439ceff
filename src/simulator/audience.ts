import type { Campaign } from './catalogue.js';
import { hash } from './hash.js';

/** People of one advertiser, by number; `end` is excluded. */
export interface Run {
  readonly first: number;
  readonly end: number;
}

const TOPIC_PASSERS_BY = 21;

/**
 * The people reached by a campaign on a day: regulars, the same every day, and passers-by, a run that starts elsewhere each
 * day. They are never more than the impressions, and further impressions only add people, so that unions of runs obey
 * the laws of reach.
 */
export function reachedOn(
  seed: number,
  campaign: Campaign,
  day: number,
  impressions: number,
  people: number,
): Run[] {
  const reached = Math.floor((impressions * 100) / campaign.frequency);
  const regulars = Math.floor((reached * campaign.regulars) / 100);
  const passersBy = hash(seed, TOPIC_PASSERS_BY, campaign.id, day) % people;
  return [
    ...around(campaign.firstRegular, regulars, people),
    ...around(passersBy, reached - regulars, people),
  ];
}

/** A run on the circle of all people. */
function around(first: number, length: number, people: number): Run[] {
  if (length >= people) return [{ first: 0, end: people }];
  if (first + length <= people) return [{ first, end: first + length }];
  return [
    { first, end: people },
    { first: 0, end: first + length - people },
  ];
}

/** Counts distinct people; sorts `runs` in place. */
export function countPeople(runs: Run[]): number {
  runs.sort((a, b) => a.first - b.first);
  let counted = 0;
  let seenUpTo = 0;
  for (const { first, end } of runs) {
    if (end <= seenUpTo) continue;
    counted += end - Math.max(first, seenUpTo);
    seenUpTo = end;
  }
  return counted;
}
