/** What differs from seed to seed, beside what goes wrong: decided before anything is begun. */
import { HOUR, MINUTE } from '../support/test-clock.js';
import type { Chance } from './chance-of-seed.js';

export const NAMES = ['replica-0', 'replica-1', 'replica-2'] as const;

export interface Shape {
  /** For how long callers ask. Most seeds are short: many of them find more than a few long ones. */
  readonly workMs: number;
  readonly callers: number;
  /** Many callers at once, for few calls, while platform and store are slow. */
  readonly isCrowd: boolean;
  /** Platform calls at once, of all replicas. */
  readonly maxConcurrent: number;
  readonly divisible: 'auto' | 'always' | 'never';
  /** By how much the clock of a replica is too late; below 0: too early. */
  readonly skewMs: ReadonlyMap<string, number>;
  /** What becomes of a replica, or of all of them. */
  readonly end: 'none' | 'stop' | 'kill' | 'lost-registry';
  /** Whether some put writes, pin, and read what is streamed through, where callers come in by Fastify. */
  readonly writes: boolean;
  /** When, after how much of the work, a night passes in which nobody asks; null: in none. */
  readonly night: Night | null;
}

/** Hours in which nobody asks, and an outage at the platform that has become worse when they are over. */
export interface Night {
  /** After how much of the work. */
  readonly share: number;
  readonly ms: number;
  /** The first day that is not there, in days ago: before, and after. */
  readonly outage: readonly [before: number, after: number];
}

/** Days may be known as confirmed when a night has passed. */
const NIGHT = [HOUR + 5 * MINUTE, 2 * HOUR] as const;
/** Clocks of replicas may differ by less than five minutes; by seconds, what is fresh for seconds can still be told. */
const MOST_SKEW_MS = 700;

const DIVISIBLE = ['auto', 'auto', 'always', 'never'] as const;
const DIVISIBLE_AT_NIGHT = ['auto', 'always', 'never', 'never'] as const;

export function shapeOf(chance: Chance): Shape {
  const night = chance.is(0.2) ? nightOf(chance) : null;
  const isLong = night !== null || chance.is(0.05);
  const isCrowd = chance.is(0.15);
  const skews = chance.is(0.3);
  return {
    night,
    isCrowd,
    workMs: isLong ? chance.between(8_000, 10_000) : chance.between(3_000, 5_500),
    callers: isCrowd ? 8 : 3,
    maxConcurrent: isCrowd ? 1 : chance.pick([1, 3, 3, 8]),
    // Whole answers tell of many days at once: an outage that grows is told apart by day.
    divisible: chance.pick(night === null ? DIVISIBLE : DIVISIBLE_AT_NIGHT),
    skewMs: new Map(NAMES.map((name) => [name, skews ? chance.between(-MOST_SKEW_MS, MOST_SKEW_MS) : 0])),
    end: chance.pick(['none', 'none', 'stop', 'kill', 'kill', 'lost-registry'] as const),
    writes: chance.is(0.4),
  };
}

function nightOf(chance: Chance): Night {
  const before = chance.between(2, 4);
  return { share: 0.25, ms: chance.between(...NIGHT), outage: [before, chance.between(before + 1, 8)] };
}

/** By how much a clock is wrong at most. */
export function mostSkewMs({ skewMs }: Shape): number {
  return Math.max(...[...skewMs.values()].map(Math.abs));
}

/** @returns the teams, and which advertisers each may see at first */
export function teamsOf({
  writes,
}: Pick<Shape, 'writes'>): readonly (readonly [string, readonly number[] | '*'])[] {
  return [['one', [1]], ['two', [2]], ['all', '*'], ...(writes ? [['spends', '*'] as const] : [])];
}
