/**
 * What was known of one day of a series, and since when: a list in the sense of SQL:2011's system time, to which is only
 * ever appended. The day itself is the valid time.
 */
import Type, { type Static } from 'typebox';
import { recordForm } from '../../lib/record.js';

const RevisionForm = Type.Object({
  /** Names its rows in the store. Made of `knownFrom`, so that none is used twice for a day. */
  id: Type.String(),
  /** End of the fetch that first saw it, epoch milliseconds; later than that of the revision before. */
  knownFrom: Type.Integer(),
  /** End of the last fetch that saw the same, within {@link CONFIRMED_EVERY_MS}. */
  confirmedUntil: Type.Integer(),
  /** Start of the fetch that first saw it: by it fetches are in order, whichever ends first. */
  fetchedFrom: Type.Integer(),
  /** How many days old the day was then, in its account's zone; 0: today. */
  ageDays: Type.Integer(),
  /** Of the rows, without regard to their order. */
  digest: Type.String(),
  /** Of what the columns were: where it differs, the method changed, and maybe not the numbers. */
  schema: Type.String(),
  /** Of the kind's divisibility; rows split under one that was refuted since are not believed. */
  generation: Type.String(),
  /** Fingerprint of the token it was asked with; null where there was none. */
  credential: Type.Union([Type.String(), Type.Null()]),
  rowCount: Type.Integer(),
  /** Rows of the whole answer that it was split from. */
  answerRows: Type.Integer(),
  /** The newest purge known before the platform was asked; see erasures.ts. */
  seq: Type.Integer(),
  /** Why it is believed no more; it is listed, and skipped by everything else. */
  void: Type.Optional(Type.Literal('cut')),
  /** What its rows take in the store. */
  bytes: Type.Integer(),
  /** No rows, and no second look has said so yet. */
  unconfirmed: Type.Optional(Type.Literal(true)),
  /** When the first of the revisions between it and the next was known that were removed to save room. */
  thinnedFrom: Type.Optional(Type.Integer()),
  /** Of rows that were known while the day was not over: end of the first fetch that saw the same afterwards. */
  closedFrom: Type.Optional(Type.Integer()),
  /** End of the first fetch that saw the day final, when it was the latest: at most one a generation. */
  finalFrom: Type.Optional(Type.Integer()),
  /** End of the first fetch after it that could not be written down: the store was away. */
  missedFrom: Type.Optional(Type.Integer()),
  /** Since when the platform answers this endpoint without its rows, while that is not believed. */
  lost: Type.Optional(Type.Object({ fromMs: Type.Integer(), endpoint: Type.String() })),
});

export type Revision = Readonly<Static<typeof RevisionForm>>;

/** In order, the oldest first. */
export type Revisions = readonly Revision[];

/** What is kept of a day beside its rows. */
export interface Heads {
  readonly asked: readonly string[];
  readonly revisions: Revisions;
}

/** How exact `confirmedUntil` is: a day that is seen each minute is not written each minute. */
const CONFIRMED_EVERY_MS = 3_600_000;

/**
 * Heads as they are stored: most of a history is heads, and those of a day differ in little. Each revision is a list: times by
 * their distance, and in the place of what others have too its place among `shared`; what is seldom set comes last.
 */
const storedForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Accounts that the report names. */
    asked: Type.Array(Type.String()),
    shared: Type.Array(Type.Unknown()),
    revisions: Type.Array(Type.Array(Type.Unknown())),
  }),
);
/** Compiled: they are read with each fetch, and with each answer from the past. */
const revisionsForm = recordForm(Type.Array(RevisionForm));

export function encodeHeads({ asked, revisions }: Heads): Buffer {
  const places = new Map<string | number | null, number>();
  const shared = (value: string | number | null) => {
    const place = places.get(value) ?? places.size;
    places.set(value, place);
    return place;
  };
  const stored = revisions.map((one) => {
    const { id, knownFrom, confirmedUntil, fetchedFrom, ageDays, digest, rowCount, bytes, ...rest } = one;
    const { schema, generation, credential, answerRows, seq, ...marks } = rest;
    const alike = [schema, generation, credential, answerRows, seq].map(shared);
    const times = [knownFrom, confirmedUntil - knownFrom, knownFrom - fetchedFrom];
    return [...times, ageDays, digest, ...alike, rowCount, bytes, marks];
  });
  return Buffer.from(JSON.stringify({ form: 1, asked, shared: [...places.keys()], revisions: stored }));
}

/** @returns null for what is none, or was written by a later release: it is then left as it is */
export function decodeHeads(bytes: Buffer): Heads | null {
  const stored = storedForm.parse(bytes.toString());
  if (stored === null) return null;
  const { asked, shared } = stored;
  const revisions: unknown = stored.revisions.map((one) => revisionIn(one, shared));
  return revisionsForm.is(revisions) ? { asked, revisions } : null;
}

/** Each member by its place: this is done for each revision of each day of a fetch. */
function revisionIn(one: readonly unknown[], shared: readonly unknown[]): unknown {
  const knownFrom = one[0] as number;
  const revision = {
    id: idOf(knownFrom),
    knownFrom,
    confirmedUntil: knownFrom + (one[1] as number),
    fetchedFrom: knownFrom - (one[2] as number),
    ageDays: one[3],
    digest: one[4],
    schema: shared[one[5] as number],
    generation: shared[one[6] as number],
    credential: shared[one[7] as number],
    answerRows: shared[one[8] as number],
    seq: shared[one[9] as number],
    rowCount: one[10],
    bytes: one[11],
  };
  return Object.assign(revision, one[12]);
}

/** The name of a revision that is known from this moment on. */
function idOf(knownFrom: number): string {
  return Number(knownFrom).toString(36);
}

const NONE: Heads = { asked: [], revisions: [] };

/** @returns no revisions where {@link decodeHeads} finds none; the void ones too */
export function readHeads(found: { readonly heads: Buffer } | null | undefined): Heads {
  return found ? (decodeHeads(found.heads) ?? NONE) : NONE;
}

/** Those that are believed: not void, and of the generation that the kind has now. */
export function validRevisions(revisions: Revisions, generation: string): Revisions {
  return revisions.filter((one) => one.void === undefined && one.generation === generation);
}

/**
 * Which of the revisions of a day is meant: the last that was known at an instant, epoch milliseconds; the earliest that
 * is kept since the day was over; the one that was latest when the day was first seen final; or the newest.
 */
export type Moment = { readonly at: number } | 'first' | 'final' | 'latest';

const NEVER = Number.POSITIVE_INFINITY;

/** A revision that is meant. */
export interface KnownState {
  readonly revision: Revision;
  /** Why that is not all: a later one, known by then, was removed to save room, or never written down. */
  readonly lacks: 'thinned' | 'missed' | null;
  /** The day had been seen final. */
  readonly final: boolean;
}

/** @returns null where there is none */
export function knownAt(revisions: Revisions, moment: Moment): KnownState | null {
  // What is missing after the newest is missing now.
  const atMs = typeof moment === 'object' ? moment.at : Number.MAX_SAFE_INTEGER;
  const revision = choose(revisions, moment);
  if (revision === undefined) return null;
  if (moment === 'first' || moment === 'final')
    return { revision, lacks: null, final: revision.finalFrom !== undefined };
  const { thinnedFrom = NEVER, missedFrom = NEVER } = revision;
  const lacks = thinnedFrom <= atMs ? 'thinned' : missedFrom <= atMs ? 'missed' : null;
  return { revision, lacks, final: revisions.some(({ finalFrom = NEVER }) => finalFrom <= atMs) };
}

function choose(revisions: Revisions, moment: Moment): Revision | undefined {
  if (moment === 'latest') return revisions.at(-1);
  if (moment === 'first') return revisions.find((one) => firstSeenAfterEnd(one) !== null);
  if (moment === 'final') return revisions.find(({ finalFrom }) => finalFrom !== undefined);
  return revisions.findLast(({ knownFrom }) => knownFrom <= moment.at);
}

/** @returns when it was first seen after the day was over, epoch milliseconds; null while it was not */
export function firstSeenAfterEnd({ ageDays, knownFrom, closedFrom, unconfirmed }: Revision): number | null {
  // An empty day that no second look has confirmed may be a day that the platform has not filled yet.
  if (unconfirmed === true) return null;
  return ageDays > 0 ? knownFrom : (closedFrom ?? null);
}

/** A day as a fetch returned it. */
export interface SeenDay
  extends Pick<
    Revision,
    'digest' | 'schema' | 'generation' | 'credential' | 'rowCount' | 'answerRows' | 'seq'
  > {
  /** Start and end of the fetch, epoch milliseconds. */
  readonly fetchedFrom: number;
  readonly fetchedAt: number;
  readonly ageDays: number;
  /** What its rows take in the store. */
  readonly bytes: number;
  /** No rows, and this look does not confirm an earlier one. */
  readonly unconfirmed: boolean;
  /** It was old enough when the fetch began to change no more. */
  readonly isFinal: boolean;
}

export type Noted =
  /** Other rows than before, or the first: they are to be kept under `added`. */
  | {
      readonly kind: 'appended';
      readonly revisions: Revisions;
      readonly added: string;
      readonly removed: readonly string[];
    }
  /** The same rows as before, which is written down. */
  | { readonly kind: 'confirmed'; readonly revisions: Revisions }
  /** Nothing is to be written: seen lately (`known`), or the fetch began before the latest revision's (`late`). */
  | { readonly kind: 'known' | 'late' };

/** How long every revision of a day that is not over is kept; afterwards the last of them. */
const OPEN_DAY_MS = 48 * 3_600_000;

/** Revisions of one day after it was over. */
const CLOSED_DAY_MAX = 64;

/**
 * Marks that a fetch was not written down, at what was known last when it ended: another replica may have written since.
 * @param missedFrom its end, epoch milliseconds
 */
export function noteMissed(before: Revisions, missedFrom: number): Revisions {
  const at = before.findLastIndex(({ knownFrom }) => knownFrom <= missedFrom);
  const then = before[at];
  // It was written down after all, though nobody heard of it.
  if (then === undefined || then.knownFrom === missedFrom) return before;
  if (then.missedFrom !== undefined && then.missedFrom <= missedFrom) return before;
  return before.with(at, { ...then, missedFrom });
}

export function noteFetch(before: Revisions, seen: SeenDay): Noted {
  const latest = before.at(-1);
  if (latest === undefined) return append(before, seen);
  if (seen.fetchedFrom < latest.fetchedFrom) return { kind: 'late' };
  // Rows of a kind that was proven anew are kept anew: what was kept before is believed no more.
  if (latest.void !== undefined) return append(before, seen);
  if (latest.digest !== seen.digest || latest.generation !== seen.generation) return append(before, seen);
  const confirmedUntil = Math.max(latest.confirmedUntil, seen.fetchedAt);
  const isConfirmedNow = latest.unconfirmed === true && !seen.unconfirmed;
  const { unconfirmed, lost, ...known } = latest;
  const mark = unconfirmed && !isConfirmedNow ? { unconfirmed } : {};
  const confirmed = stamped(before.slice(0, -1), { ...known, confirmedUntil, ...mark }, seen);
  const isStamped = confirmed.finalFrom !== latest.finalFrom || confirmed.closedFrom !== latest.closedFrom;
  const isFoundAgain = lost !== undefined;
  if (
    !isConfirmedNow &&
    !isStamped &&
    !isFoundAgain &&
    confirmedUntil - latest.confirmedUntil < CONFIRMED_EVERY_MS
  )
    return { kind: 'known' };
  return { kind: 'confirmed', revisions: [...before.slice(0, -1), confirmed] };
}

/** Says of what is the latest now since when it is that of a day that is over, and of one that is final. */
function stamped(
  before: Revisions,
  latest: Revision,
  { fetchedAt, ageDays, isFinal, unconfirmed }: SeenDay,
): Revision {
  // What no second look has confirmed may be filled yet.
  if (unconfirmed) return latest;
  const seenFrom = Math.max(fetchedAt, latest.knownFrom);
  const isClosing = ageDays > 0 && latest.ageDays <= 0 && latest.closedFrom === undefined;
  const isFirstFinal =
    isFinal && knownAt(validRevisions([...before, latest], latest.generation), 'final') === null;
  return {
    ...latest,
    ...(isClosing ? { closedFrom: seenFrom } : {}),
    ...(isFirstFinal ? { finalFrom: seenFrom } : {}),
  };
}

function append(before: Revisions, seen: SeenDay): Noted {
  const { fetchedAt, unconfirmed, isFinal: _, ...facts } = seen;
  // Replicas' clocks differ: the order of revisions is that of their fetches.
  const knownFrom = Math.max(fetchedAt, (before.at(-1)?.knownFrom ?? 0) + 1);
  const id = idOf(knownFrom);
  const times = { id, knownFrom, confirmedUntil: knownFrom };
  const added: Revision = { ...times, ...facts, ...(unconfirmed ? { unconfirmed: true as const } : {}) };
  const { kept, removed } = thin([...before, stamped(before, added, seen)]);
  return { kind: 'appended', revisions: kept, added: id, removed };
}

/** Removes what is not kept for ever, and says so at the revision before it. */
function thin(revisions: Revisions): { readonly kept: Revisions; readonly removed: readonly string[] } {
  const nowMs = (revisions.at(-1) as Revision).knownFrom;
  const lastOpen = revisions.findLast(({ ageDays }) => ageDays <= 0);
  const closed = revisions.filter(({ ageDays }) => ageDays > 0);
  // What was said when the day was over, and when it was final, is asked for longest.
  const { generation } = revisions.at(-1) as Revision;
  const counting = validRevisions(revisions, generation);
  const stays = (['first', 'final', 'latest'] as const).map((moment) => knownAt(counting, moment)?.revision);
  const mayGo = closed.filter((one) => !stays.includes(one));
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
  return { kept, removed: revisions.filter(goes).map(({ id }) => id) };
}
