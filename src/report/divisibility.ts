/**
 * Whether answers of a kind may be cut by day: learned from answers that overlap, never assumed. Pure.
 *
 * A platform whose numbers for a day depend on the range asked for (attribution windows, sampling, caps) would be
 * falsified by cutting; one agreement may be chance, three days from two pairs of answers are not.
 */
import type { CanonicalReport } from './canonicalize.js';
import { digest } from './platform-call.js';

/** One final day with rows that two answers with different ends agree on. */
export interface Agreement {
  readonly date: string;
  /** Identity of the two answers' series and periods. */
  readonly pair: string;
}

export interface Divisibility {
  readonly state: 'learning' | 'proven' | 'refuted';
  /** Segments cut under another generation are void. */
  readonly generation: string;
  /** While learning: what was agreed on so far, as far as the proof needs it. */
  readonly agreements: readonly Agreement[];
  /** Milliseconds since the epoch: when it was proven, or until when it stays refuted. */
  readonly provenAt: number | null;
  readonly refutedUntil: number | null;
  /** Final days that changed after all, and the greatest age in days at which one did. */
  readonly restatements: number;
  readonly oldestRestatementDays: number;
}

export const NEEDED_DAYS = 3;
export const NEEDED_PAIRS = 2;
export const REFUTED_MS = 86_400_000;

export function startLearning(generation: string): Divisibility {
  return {
    state: 'learning',
    generation,
    agreements: [],
    provenAt: null,
    refutedUntil: null,
    restatements: 0,
    oldestRestatementDays: 0,
  };
}

/** The state now: a refutation is over after a day, and learning starts anew. */
export function currentState(known: Divisibility, nowMs: number): Divisibility['state'] {
  return known.state === 'refuted' && nowMs >= (known.refutedUntil ?? 0) ? 'learning' : known.state;
}

/** @returns the same value when nothing new was learned */
export function agree(known: Divisibility, news: readonly Agreement[], nowMs: number): Divisibility {
  if (currentState(known, nowMs) !== 'learning') return known;
  const agreements = addAgreements(known.agreements, news);
  if (agreements.length === known.agreements.length && known.state !== 'refuted') return known;
  const days = new Set(agreements.map(({ date }) => date)).size;
  const pairs = new Set(agreements.map(({ pair }) => pair)).size;
  const proven = days >= NEEDED_DAYS && pairs >= NEEDED_PAIRS;
  return {
    ...known,
    state: proven ? 'proven' : 'learning',
    agreements: proven ? [] : agreements,
    provenAt: proven ? nowMs : null,
    refutedUntil: null,
  };
}

/**
 * Keeps what brings the proof nearer and nothing else, so that the record stays short whatever comes first: many
 * pairs that agree on one day, or one pair that agrees on many.
 */
function addAgreements(before: readonly Agreement[], news: readonly Agreement[]): Agreement[] {
  const all = [...before];
  for (const one of news) {
    const days = new Set(all.map(({ date }) => date));
    const pairs = new Set(all.map(({ pair }) => pair));
    const newDay = days.size < NEEDED_DAYS && !days.has(one.date);
    const newPair = pairs.size < NEEDED_PAIRS && !pairs.has(one.pair);
    if (newDay || newPair) all.push(one);
  }
  return all;
}

/** A day fetched alone equals neither answer: cutting would lie. All segments of the kind are void. */
export function refute(known: Divisibility, generation: string, nowMs: number): Divisibility {
  return {
    ...known,
    state: 'refuted',
    generation,
    agreements: [],
    provenAt: null,
    refutedUntil: nowMs + REFUTED_MS,
  };
}

/** A final day changed, and the platform stands by the change. */
export function noteRestatement(known: Divisibility, ageDays: number): Divisibility {
  return {
    ...known,
    restatements: known.restatements + 1,
    oldestRestatementDays: Math.max(known.oldestRestatementDays, ageDays),
  };
}

/**
 * What is learned together: endpoint, method, split, `spentBased` and unknown parameters with their values, but not
 * whose report it is.
 * @param accountFields names that carry the account
 */
export function divisibilityId(report: CanonicalReport, accountFields: readonly string[]): string {
  const apart = new Set([...accountFields, 'campaignIds']);
  const parts = report.members
    .filter(({ name }) => !apart.has(name))
    .map(({ name, place, pairs, json }) =>
      digest([name, place, json, ...pairs.flatMap((pair) => [pair.name, pair.value])]),
    );
  return digest([report.endpoint, report.method, ...parts]).slice(0, 22);
}

/** Identity of a pair of answers; the order of the two does not matter. */
export function pairId(series: string, one: string, other: string): string {
  return digest([series, ...[one, other].sort()]).slice(0, 12);
}
