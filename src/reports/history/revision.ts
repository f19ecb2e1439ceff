/**
 * Known states of one day of a series over time: an append-only list, as system time of SQL:2011; the day is the valid time.
 */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import { type CapRules, isCut } from '../rows/freshness.js';

export const RevisionForm = Type.Object({
  /** From `knownFrom`, so unique per day. */
  id: Type.String(),
  /** End of the fetch that first saw it, epoch milliseconds; strictly increasing. */
  knownFrom: Type.Integer(),
  /** End of the last fetch that saw the same. */
  confirmedUntil: Type.Integer(),
  /** Start of the fetch that first saw it. */
  fetchedFrom: Type.Integer(),
  /** Age of the day then, in the account's zone; 0: today. */
  ageDays: Type.Integer(),
  /** Name of the part with its rows; null: the day has none. */
  part: Type.Union([Type.String(), Type.Null()]),
  /** Of the rows, independent of order. */
  digest: Type.String(),
  /** Of the rows in their order, for ETags. */
  hash: Type.String(),
  /** Of the columns; if it differs, the method changed, not necessarily the numbers. */
  schema: Type.String(),
  /** Of the kind; rows of a refuted one are ignored. */
  generation: Type.String(),
  /** Fingerprint of the token of the fetch; null without one. */
  credential: Type.Union([Type.String(), Type.Null()]),
  rowCount: Type.Integer(),
  /** Rows of the smallest answer that had it; see `AnswerSize`. */
  answerRows: Type.Integer(),
  /** The newest purge known before the fetch; see erasures.ts. */
  seq: Type.Integer(),
  /** Halves of its period proved such an answer to be complete. */
  complete: Type.Optional(Type.Literal(true)),
  /** Why it is void; void revisions are listed and otherwise skipped. */
  void: Type.Optional(Type.Literal('cut')),
  /** Empty, and not confirmed by a second fetch. */
  unconfirmed: Type.Optional(Type.Literal(true)),
  /** `knownFrom` of the first revision after it that was removed to save space. */
  thinnedFrom: Type.Optional(Type.Integer()),
  /** For rows known before the day ended: end of the first fetch afterwards with equal rows. */
  closedFrom: Type.Optional(Type.Integer()),
  /** End of the first fetch that saw the day final with this revision; at most one per generation. */
  finalFrom: Type.Optional(Type.Integer()),
  /** End of the first later fetch that could not be recorded. */
  missedFrom: Type.Optional(Type.Integer()),
  /** Revisions before it are unknown: removed for lack of room, or damaged. */
  removedBefore: Type.Optional(Type.Literal(true)),
  /** Written while the report is not recorded; history ignores it, and the next state replaces it. */
  unrecorded: Type.Optional(Type.Literal(true)),
  /** When the platform was first seen without its rows, while that is not accepted. */
  lost: Type.Optional(Type.Object({ fromMs: Type.Integer(), endpoint: Type.String() })),
});

export type Revision = Readonly<Static<typeof RevisionForm>>;

/** Oldest first. */
export type Revisions = readonly Revision[];

/** What changes of days say of their report. */
export const MonthReport = Type.Object({
  /** Of reports, as the learner knows them: `divisibilityId`. */
  kind: Type.String(),
  endpoint: Type.String(),
  /** Canonical, without the period; null: its parameters are in a body. */
  query: Type.Union([Type.String(), Type.Null()]),
  account: Type.Union([Type.String(), Type.Null()]),
  split: Type.Array(Type.String()),
});
export type MonthReport = Frozen<Static<typeof MonthReport>>;

/** What is known of a day besides its rows. */
export interface DayStates {
  /** Accounts that the report names. */
  readonly asked: readonly string[];
  /** Null: not known. */
  readonly report: MonthReport | null;
  readonly revisions: Revisions;
}

/** @returns the same list if none matches */
export function withMark(
  revisions: Revisions,
  isMeant: (one: Revision) => boolean,
  mark: Partial<Revision>,
): Revisions {
  return revisions.some(isMeant)
    ? revisions.map((one) => (isMeant(one) ? { ...one, ...mark } : one))
    : revisions;
}

/**
 * Marks revisions void that came from an answer truncated at a row cap known now.
 * @returns the same list if there are none
 */
export function voidCut(revisions: Revisions, rules: CapRules): Revisions {
  return withMark(revisions, (one) => one.void === undefined && isCut(one, rules), { void: 'cut' });
}

/** Revisions that are not void and of this generation. */
export function validRevisions(revisions: Revisions, generation: string): Revisions {
  return revisions.filter((one) => one.void === undefined && one.generation === generation);
}

/**
 * Selects a revision of a day: the last one known at an instant (epoch milliseconds); the first one after the end of the day;
 * the one that was latest when the day was first seen final; or the newest.
 */
export type Moment = { readonly at: number } | 'first' | 'final' | 'latest';

const NEVER = Number.POSITIVE_INFINITY;

export interface KnownState {
  readonly revision: Revision;
  /** Why it may be incomplete: a later one by that time was removed to save space, or never recorded. */
  readonly lacks: 'thinned' | 'missed' | null;
  /** The day had been seen final. */
  readonly final: boolean;
}

/** @returns null if there is none */
export function knownAt(revisions: Revisions, moment: Moment): KnownState | null {
  // Gaps after the newest revision count as well.
  const atMs = typeof moment === 'object' ? moment.at : Number.MAX_SAFE_INTEGER;
  const revision = isUnknown(revisions, moment) ? undefined : choose(revisions, moment);
  if (revision === undefined) return null;
  if (moment === 'first' || moment === 'final')
    return { revision, lacks: null, final: revision.finalFrom !== undefined };
  const { thinnedFrom = NEVER, missedFrom = NEVER } = revision;
  const lacks = thinnedFrom <= atMs ? 'thinned' : missedFrom <= atMs ? 'missed' : null;
  return { revision, lacks, final: revisions.some(({ finalFrom = NEVER }) => finalFrom <= atMs) };
}

/** Whether it may be one of those that are removed. */
function isUnknown(revisions: Revisions, moment: Moment): boolean {
  return (moment === 'first' || moment === 'final') && revisions[0]?.removedBefore === true;
}

function choose(revisions: Revisions, moment: Moment): Revision | undefined {
  if (moment === 'latest') return revisions.at(-1);
  if (moment === 'first') return revisions.find((one) => firstSeenAfterEnd(one) !== null);
  if (moment === 'final') return revisions.find(({ finalFrom }) => finalFrom !== undefined);
  return revisions.findLast(({ knownFrom }) => knownFrom <= moment.at);
}

/** @returns when it was first seen after the day ended, epoch milliseconds; null if never */
export function firstSeenAfterEnd({ ageDays, knownFrom, closedFrom, unconfirmed }: Revision): number | null {
  // The platform may not have filled an unconfirmed empty day yet.
  if (unconfirmed === true) return null;
  return ageDays > 0 ? knownFrom : (closedFrom ?? null);
}

/** A day as a fetch returned it. */
export interface SeenDay
  extends Pick<
    Revision,
    | 'digest'
    | 'hash'
    | 'schema'
    | 'generation'
    | 'credential'
    | 'rowCount'
    | 'answerRows'
    | 'complete'
    | 'seq'
  > {
  /** Start and end of the fetch, epoch milliseconds. */
  readonly fetchedFrom: number;
  readonly fetchedAt: number;
  readonly ageDays: number;
  /** Empty, and this fetch does not confirm an earlier one. */
  readonly unconfirmed: boolean;
  /** Final when the fetch began. */
  readonly isFinal: boolean;
}

export interface Noted {
  /** appended: other rows, or the former revision does not count · confirmed: the same rows */
  readonly kind: 'appended' | 'confirmed';
  readonly revisions: Revisions;
}

/** How long all revisions of an unfinished day are kept; afterwards only the last one. */
const OPEN_DAY_MS = 48 * 3_600_000;

/** Limit of revisions after the end of the day. */
const CLOSED_DAY_MAX = 64;

/**
 * Marks a missed fetch at the revision that was latest when it ended: another replica may have written since.
 * @param missedFrom its end, epoch milliseconds
 */
export function noteMissed(before: Revisions, missedFrom: number): Revisions {
  const at = before.findLastIndex(({ knownFrom }) => knownFrom <= missedFrom);
  const then = before[at];
  // It was recorded after all; the reply was lost.
  if (then === undefined || then.knownFrom === missedFrom) return before;
  if (then.missedFrom !== undefined && then.missedFrom <= missedFrom) return before;
  return before.with(at, { ...then, missedFrom });
}

/** @param seen by a fetch that began after all that are noted. The part of an appended revision is null: the caller names it */
export function noteFetch(before: Revisions, seen: SeenDay): Noted {
  const latest = before.at(-1);
  if (latest === undefined) return append(before, seen);
  // After a new proof, older revisions are void: append again.
  if (latest.void !== undefined) return append(before, seen);
  if (latest.digest !== seen.digest || latest.generation !== seen.generation) return append(before, seen);
  const confirmedUntil = Math.max(latest.confirmedUntil, seen.fetchedAt);
  const isConfirmedNow = latest.unconfirmed === true && !seen.unconfirmed;
  const { unconfirmed, lost: _, ...known } = latest;
  const mark = unconfirmed && !isConfirmedNow ? { unconfirmed } : {};
  const confirmed = { ...known, ...sizeOf(latest, seen), confirmedUntil, ...mark };
  const earlier = before.slice(0, -1);
  return { kind: 'confirmed', revisions: [...earlier, stamped(earlier, confirmed, seen)] };
}

/** Of two answers with equal rows of the day: if one of them was not truncated, the day is whole. */
function sizeOf(latest: Revision, seen: SeenDay): Pick<Revision, 'answerRows' | 'complete'> {
  const answerRows = Math.min(latest.answerRows, seen.answerRows);
  return latest.complete || seen.complete ? { answerRows, complete: true } : { answerRows };
}

/** Sets `closedFrom` and `finalFrom` of the latest revision. */
function stamped(
  before: Revisions,
  latest: Revision,
  { fetchedAt, ageDays, isFinal, unconfirmed }: SeenDay,
): Revision {
  // An unconfirmed empty day may still be filled.
  if (unconfirmed) return latest;
  const seenFrom = Math.max(fetchedAt, latest.knownFrom);
  const isClosing = ageDays > 0 && latest.ageDays <= 0 && latest.closedFrom === undefined;
  const isFirstFinal =
    isFinal && choose(validRevisions([...before, latest], latest.generation), 'final') === undefined;
  return {
    ...latest,
    ...(isClosing ? { closedFrom: seenFrom } : {}),
    ...(isFirstFinal ? { finalFrom: seenFrom } : {}),
  };
}

/** Each member by its name: what the rest of a spread is added to is slow in V8, and takes 7 KB. */
function append(before: Revisions, seen: SeenDay): Noted {
  // Clocks of replicas differ; revisions keep the order of fetches.
  const knownFrom = Math.max(seen.fetchedAt, (before.at(-1)?.knownFrom ?? 0) + 1);
  const added: Revision = {
    id: knownFrom.toString(36),
    knownFrom,
    confirmedUntil: knownFrom,
    part: null,
    fetchedFrom: seen.fetchedFrom,
    ageDays: seen.ageDays,
    digest: seen.digest,
    hash: seen.hash,
    generation: seen.generation,
    schema: seen.schema,
    credential: seen.credential,
    rowCount: seen.rowCount,
    answerRows: seen.answerRows,
    seq: seen.seq,
    ...(seen.complete && { complete: seen.complete }),
    ...(seen.unconfirmed && { unconfirmed: seen.unconfirmed }),
  };
  return { kind: 'appended', revisions: thin([...before, stamped(before, added, seen)]) };
}

/** Removes excess revisions, and marks the gap at the preceding one. */
function thin(revisions: Revisions): Revisions {
  if (revisions.length === 1) return revisions;
  const nowMs = (revisions.at(-1) as Revision).knownFrom;
  const lastOpen = revisions.findLast(({ ageDays }) => ageDays <= 0);
  const closed = revisions.filter(({ ageDays }) => ageDays > 0);
  // The first, the final and the latest revision are never removed.
  const { generation } = revisions.at(-1) as Revision;
  const counting = validRevisions(revisions, generation);
  const stays = (['first', 'final', 'latest'] as const).map((moment) => choose(counting, moment));
  const mayGo = closed.filter((one) => !stays.includes(one) && one.removedBefore !== true);
  const excess = new Set(mayGo.slice(0, Math.max(0, closed.length - CLOSED_DAY_MAX)));
  const goes = (one: Revision) =>
    one.ageDays > 0 ? excess.has(one) : one !== lastOpen && one.knownFrom < nowMs - OPEN_DAY_MS;
  const kept: Revision[] = [];
  for (const one of revisions) {
    const last = kept.at(-1);
    if (!goes(one)) kept.push(one);
    else if (last !== undefined && last.thinnedFrom === undefined)
      kept[kept.length - 1] = { ...last, thinnedFrom: one.knownFrom };
  }
  return kept;
}
