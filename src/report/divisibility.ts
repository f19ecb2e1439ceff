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
  /** While learning: what was agreed on so far. */
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
/** More are never needed to prove, and a record must not grow without end. */
const MAX_AGREEMENTS = 16;

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
  const before = known.state === 'refuted' ? [] : known.agreements;
  const agreements = addAgreements(before, news);
  if (agreements.length === before.length && known.state !== 'refuted') return known;
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

/** Keeps room for a second pair: one pair alone, however many days it agrees on, proves nothing. */
function addAgreements(before: readonly Agreement[], news: readonly Agreement[]): Agreement[] {
  const all = [...before];
  for (const one of news) {
    const known = all.some(({ date, pair }) => date === one.date && pair === one.pair);
    const ofPair = all.filter(({ pair }) => pair === one.pair).length;
    if (!known && ofPair < MAX_AGREEMENTS / 2 && all.length < MAX_AGREEMENTS) all.push(one);
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
