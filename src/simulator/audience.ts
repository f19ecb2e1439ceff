import type { Campaign } from './catalogue.js';
import { hash } from './hash.js';

/** People of one advertiser, numbered from 0: those from `first` up to, not including, `end`. */
export interface Run {
  readonly first: number;
  readonly end: number;
}

const TOPIC_PASSERS_BY = 21;

/**
 * The people whom a campaign reached on a day: the first of its regulars, who are the same people every day, and
 * passers-by, a run of neighbours that starts elsewhere each day.
 *
 * Never more people than impressions, and more impressions of the same day only ever add people. Counting the people
 * of a union of runs therefore obeys every law of reach: it grows with time, is below the impressions, and is below
 * the sum of its parts as soon as somebody is reached twice.
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

/** A run on the circle of all people: past the last person it goes on at the first. */
function around(first: number, length: number, people: number): Run[] {
  if (length >= people) return [{ first: 0, end: people }];
  if (first + length <= people) return [{ first, end: first + length }];
  return [
    { first, end: people },
    { first: 0, end: first + length - people },
  ];
}

/** @returns how many different people the runs hold. The runs are put in order in place. */
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
