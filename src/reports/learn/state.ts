/**
 * Whether reports of a kind (equal except for dates and accounts) may be split by day: asked of the platform, never assumed. Splits
 * would be wrong if the numbers of a day depended on the requested range (attribution windows, sampling, caps, campaigns listed
 * only with delivery). Pure.
 */
import Type, { type Static } from 'typebox';
import { type Frozen, type RecordOf, recordForm } from '../../lib/record.js';
import { minuteOf } from '../../lib/words.js';
import type { DayRange } from '../cache/plan.js';
import type { Report } from '../query/canonicalize.js';
import { digest } from '../query/platform-call.js';

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

export type DivisibilityState = 'unknown' | 'proving' | 'proven' | 'refuted';

/** What a proof asked and found. */
const ProofRecord = Type.Object({
  /** When it ended. */
  at: Type.Number(),
  /** ISO days of its longest call that was answered; null: none was. */
  from: Type.Union([Type.String(), Type.Null()]),
  to: Type.Union([Type.String(), Type.Null()]),
  calls: Type.Number(),
  /** A sentence for people. */
  found: Type.String(),
});
export type Proof = Frozen<Static<typeof ProofRecord>>;

const timeOrNull = Type.Union([Type.Number(), Type.Null()]);

/** A registry record. Times are epoch milliseconds. */
export const Divisibility = recordForm(
  Type.Object({
    /** As written; see {@link currentState}. A state of another release proves nothing. */
    state: Type.Unsafe<DivisibilityState>(Type.String()),
    /** Version of the result: days split under another one are invalid. */
    generation: Type.String(),
    /** The last one that ended. Without it a kind is not proven. */
    proof: Type.Optional(ProofRecord),
    /** The end of a proof under way, should its process be killed. */
    provingUntil: Type.Optional(Type.Number()),
    /** Proofs in a row that found too little, and when the next one may begin. */
    tries: Type.Optional(Type.Number()),
    tryAgainAt: Type.Optional(Type.Number()),
    /** Calls of proofs on a day since the epoch; `reserved` of them for a proof under way, should its process be killed. */
    spent: Type.Optional(
      Type.Object({ day: Type.Number(), calls: Type.Number(), reserved: Type.Optional(Type.Number()) }),
    ),
    provenAt: timeOrNull,
    refutedUntil: timeOrNull,
    /** Why it was refuted: a sentence for people. */
    refutedFor: Type.Optional(Type.String()),
    /** Until then reports are fetched as a whole, because an answer could not be split. */
    wholeUntil: Type.Optional(Type.Number()),
    /** Common properties of these reports, for people. */
    about: Type.Optional(
      Type.Object({
        endpoint: Type.String(),
        split: Type.Array(Type.String()),
        spentBased: Type.Union([Type.String(), Type.Null()]),
        /** Names of parameters. */
        passedOn: Type.Array(Type.String()),
      }),
    ),
    /** Number of final days that changed, and the greatest age at which one did. */
    restatements: Type.Number(),
    oldestRestatementDays: Type.Number(),
  }),
);
export type Divisibility = RecordOf<typeof Divisibility>;

export const REFUTED_MS = DAY_MS;
export const WHOLE_MS = DAY_MS;
/** Calls of proofs of a kind on a day. */
export const MAX_CALLS = 8;
/** Longest time of a proof: that of its calls, each with retries. */
export const PROVING_MS = 10 * 60_000;
/** Pause after a call that failed: that says nothing of the kind. */
const RETRY_MS = 5 * 60_000;

export function startLearning(generation: string): Divisibility {
  return {
    state: 'unknown',
    generation,
    provenAt: null,
    refutedUntil: null,
    restatements: 0,
    oldestRestatementDays: 0,
  };
}

/** A refutation ends after a day, a proof under way with its process. */
export function currentState(known: Divisibility, nowMs: number): DivisibilityState {
  if (isProven(known)) return 'proven';
  if (known.state === 'refuted' && isAhead(known.refutedUntil ?? 0, nowMs, REFUTED_MS)) return 'refuted';
  return known.state === 'proving' && isAhead(known.provingUntil ?? 0, nowMs, PROVING_MS)
    ? 'proving'
    : 'unknown';
}

export function isProven({ state, proof }: Divisibility): boolean {
  return state === 'proven' && proof !== undefined;
}

/** Whether a moment is still to come. A clock set back must not prolong the wait for it. */
function isAhead(atMs: number, nowMs: number, longestMs: number): boolean {
  return atMs > nowMs && atMs <= nowMs + longestMs;
}

/** @param known null: nothing is known */
export function callsLeft(known: Divisibility | null, nowMs: number): number {
  const { day, calls } = known?.spent ?? { day: -1, calls: 0 };
  return day === dayOf(nowMs) ? Math.max(0, MAX_CALLS - calls) : MAX_CALLS;
}

/** Least calls of a proof: the whole, its halves, three days. */
const NEEDED_CALLS = 6;

/** Whether a proof may begin now. @param isAsked for by a person: no wait after the last one */
export function mayProve(known: Divisibility | null, nowMs: number, isAsked = false): boolean {
  if (known === null) return true;
  if (currentState(known, nowMs) !== 'unknown') return false;
  // Days with few rows cost one call each time.
  const needed = known.tries ? 1 : NEEDED_CALLS;
  if (callsLeft(known, nowMs) < (isAsked ? 1 : needed)) return false;
  return isAsked || !isAhead(known.tryAgainAt ?? 0, nowMs, DAY_MS);
}

/** @returns the same value if no proof may begin */
export function beginProof(known: Divisibility, nowMs: number, isAsked = false): Divisibility {
  if (!mayProve(known, nowMs, isAsked)) return known;
  const left = callsLeft(known, nowMs);
  const spent = { day: dayOf(nowMs), calls: MAX_CALLS, reserved: left };
  return { ...known, state: 'proving', refutedUntil: null, provingUntil: nowMs + PROVING_MS, spent };
}

/** How a proof ended. unknown: it found too little · failed: the platform did not answer, which says nothing */
export interface ProofResult extends Omit<Proof, 'at'> {
  readonly verdict: 'proven' | 'refuted' | 'unknown' | 'failed';
}

/**
 * @param generation of a refuted kind
 * @returns the same value if the kind is no longer being proven: callers' answers have refuted it
 */
export function endProof(
  known: Divisibility,
  { verdict, ...asked }: ProofResult,
  generation: string,
  nowMs: number,
): Divisibility {
  if (known.state !== 'proving') return known;
  const { provingUntil: _until, ...rest } = known;
  const before = MAX_CALLS - callsLeft(known, nowMs) - (known.spent?.reserved ?? 0);
  const spent = { day: dayOf(nowMs), calls: Math.max(0, before) + asked.calls };
  const ended: Divisibility = { ...rest, state: 'unknown', spent, proof: { ...asked, at: nowMs } };
  if (verdict === 'proven')
    return { ...ended, state: 'proven', tries: 0, tryAgainAt: nowMs, provenAt: nowMs };
  if (verdict === 'refuted') return refute(ended, generation, asked.found, nowMs);
  if (verdict === 'failed') return { ...ended, tryAgainAt: nowMs + RETRY_MS };
  const tries = (known.tries ?? 0) + 1;
  return { ...ended, tries, tryAgainAt: nowMs + Math.min(24, 2 ** (tries - 1)) * HOUR_MS };
}

/** An answer could not be split: reports are fetched as a whole for a day. */
export function askAsWhole(known: Divisibility, nowMs: number): Divisibility {
  return { ...known, wholeUntil: nowMs + WHOLE_MS };
}

/** @returns null if reports need not be fetched as a whole */
export function wholeUntil(known: Divisibility | null, nowMs: number): number | null {
  const until = known?.wholeUntil ?? 0;
  return isAhead(until, nowMs, WHOLE_MS) ? until : null;
}

/** The numbers of a day depend on the requested range. The new generation invalidates all split days. */
export function refute(
  known: Divisibility,
  generation: string,
  refutedFor: string,
  nowMs: number,
): Divisibility {
  const { provingUntil: _until, ...rest } = known;
  return {
    ...rest,
    state: 'refuted',
    generation,
    provenAt: null,
    refutedUntil: nowMs + REFUTED_MS,
    refutedFor,
    tries: 0,
  };
}

/** A final day changed, confirmed by the platform. */
export function noteRestatement(known: Divisibility, ageDays: number): Divisibility {
  return {
    ...known,
    restatements: known.restatements + 1,
    oldestRestatementDays: Math.max(known.oldestRestatementDays, ageDays),
  };
}

/** For people: what the state means, why it is so, and what is missing. @param known null: nothing is known */
export function inWords(known: Divisibility | null, nowMs: number): string {
  const state = known === null ? 'unknown' : currentState(known, nowMs);
  const found = known?.proof?.found;
  if (state === 'proven') return `Cached by day. ${found ?? ''}`.trimEnd();
  if (state === 'proving')
    return 'Cached as one period for now. The gateway is testing whether single days add up: it fetches a period of past days, and parts of it.';
  if (state === 'refuted')
    return `Cached as one period until ${minuteOf(known?.refutedUntil ?? nowMs)}. ${known?.refutedFor ?? ''}`.trimEnd();
  if (found === undefined || known === null || known.state === 'refuted')
    return 'Cached as one period for now. The gateway has not yet tested whether single days add up: it does so soon after it fetches such a report, or on "dsp-gateway learn".';
  const again = Math.max(nowMs, known.tryAgainAt ?? nowMs);
  return `Cached as one period for now. ${found} It is tested again with a report after ${minuteOf(again)}.`;
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS);

/**
 * The range to fetch if two answers disagree on days: it contains them, and begins and ends neither where the answers do, nor on a
 * disputed day.
 * @param ends of the answers
 * @param today the platform may refuse later days
 * @returns null if there is none
 */
export function independentRange(
  disputed: readonly number[],
  ends: { readonly from: ReadonlySet<number>; readonly to: ReadonlySet<number> },
  today: number,
): DayRange | null {
  let from = Math.min(...disputed) - 1;
  let to = Math.max(...disputed) + 1;
  while (ends.from.has(from)) from -= 1;
  while (ends.to.has(to)) to += 1;
  return to > today ? null : { from, to };
}

/** Identity of a kind: endpoint, method, split, `spentBased` and unknown parameters with their values; no account, no campaigns. */
export function divisibilityId(report: Report, accountFields: readonly string[]): string {
  const known = ids.get(report);
  if (known?.accountFields === accountFields) return known.id;
  const id = makeId(report, accountFields);
  ids.set(report, { accountFields, id });
  return id;
}

/** Memoized: needed several times for each answer. */
const ids = new WeakMap<Report, { readonly accountFields: readonly string[]; readonly id: string }>();

function makeId(report: Report, accountFields: readonly string[]): string {
  const apart = new Set([...accountFields, 'campaignIds']);
  const parts = report.members
    .filter(({ name }) => !apart.has(name))
    .map(({ name, place, pairs, json }) =>
      digest([name, place, json, ...pairs.flatMap((pair) => [pair.name, pair.value])]),
    );
  return digest([report.endpoint, report.method, ...parts]).slice(0, 22);
}
