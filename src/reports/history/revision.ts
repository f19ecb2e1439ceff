/**
 * Known states of one day of a series over time: an append-only list, as system time of SQL:2011; the day is the valid time.
 */
import Type, { type Static } from 'typebox';
import { recordForm } from '../../lib/record.js';
import type { HistoryHeads } from '../../store/history-port.js';
import { type CapRules, isCut } from '../rows/freshness.js';
import { SMALLEST_CAP } from '../rows/proves-cap.js';
import { packValues, unpackValues } from './packed-values.js';

const RevisionForm = Type.Object({
  /** Name of its rows in the store, from `knownFrom`, so unique per day. */
  id: Type.String(),
  /** End of the fetch that first saw it, epoch milliseconds; strictly increasing. */
  knownFrom: Type.Integer(),
  /** End of the last fetch that saw the same, within {@link CONFIRMED_EVERY_MS}. */
  confirmedUntil: Type.Integer(),
  /** Start of the fetch that first saw it; defines the order of fetches. */
  fetchedFrom: Type.Integer(),
  /** Age of the day then, in the account's zone; 0: today. */
  ageDays: Type.Integer(),
  /** Of the rows, independent of order. */
  digest: Type.String(),
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
  /** Stored size of its rows. */
  bytes: Type.Integer(),
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
  /** When the platform was first seen without its rows, while that is not accepted. */
  lost: Type.Optional(Type.Object({ fromMs: Type.Integer(), endpoint: Type.String() })),
});

export type Revision = Readonly<Static<typeof RevisionForm>>;

/** Oldest first. */
export type Revisions = readonly Revision[];

/** Stored data of a day besides its rows. */
export interface Heads {
  readonly asked: readonly string[];
  readonly revisions: Revisions;
}

/** Resolution of `confirmedUntil`, so that not each fetch is a write. */
const CONFIRMED_EVERY_MS = 3_600_000;

/** The first byte of stored heads; those of earlier releases are JSON. */
const FORM = 2;
/** Number of stored values of a revision. */
const STORED_VALUES = 15;

/** Stored heads of earlier releases: each revision is a list of times, indexes into `shared` and the other members. */
const storedForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Accounts that the report names. */
    asked: Type.Array(Type.String()),
    shared: Type.Array(Type.Unknown()),
    revisions: Type.Array(Type.Array(Type.Unknown())),
  }),
);
/** Compiled: on the path of each fetch and of each answer from history. */
const headsForm = recordForm(
  Type.Object({ asked: Type.Array(Type.String()), revisions: Type.Array(RevisionForm) }),
);

/** Compact because they are most of a history: relative times, indexes of values that revisions share. */
export function encodeHeads({ asked, revisions }: Heads): Buffer {
  const places = new Map<string | number | null, number>();
  const shared = (value: string | number | null) => {
    const place = places.get(value) ?? places.size;
    places.set(value, place);
    return place;
  };
  const stored = revisions.flatMap((one) => {
    const { id, knownFrom, confirmedUntil, fetchedFrom, ageDays, digest, rowCount, bytes, ...rest } = one;
    const { schema, generation, credential, answerRows, seq, finalFrom, closedFrom, ...marks } = rest;
    const alike = [schema, generation, credential, answerRows, seq].map(shared);
    const times = [knownFrom, confirmedUntil - knownFrom, knownFrom - fetchedFrom];
    const since = [finalFrom, closedFrom].map((from) => (from === undefined ? null : from - knownFrom));
    const others = Object.keys(marks).length === 0 ? null : marks;
    return [...times, ageDays, digest, ...alike, rowCount, bytes, ...since, others];
  });
  const values = [asked.length, ...asked, places.size, ...places.keys(), ...stored];
  return Buffer.concat([Buffer.of(FORM), packValues(values)]);
}

/** @returns null if invalid or written by a newer release; such data is left unchanged */
export function decodeHeads(bytes: Buffer): Heads | null {
  const stored = bytes[0] === FORM ? unpackHeads(bytes.subarray(1)) : storedForm.parse(bytes.toString());
  if (stored === null) return null;
  const { asked, shared } = stored;
  const heads: unknown = { asked, revisions: stored.revisions.map((one) => revisionIn(one, shared)) };
  return headsForm.is(heads) ? heads : null;
}

function unpackHeads(bytes: Buffer) {
  const values = unpackValues(bytes);
  if (values === null) return null;
  let at = 0;
  const take = (count: number) => {
    at += count;
    return values.slice(at - count, at);
  };
  const takeList = () => take(Number(take(1)[0]));
  const [asked, shared] = [takeList(), takeList()];
  const revisions: unknown[][] = [];
  while (at < values.length) revisions.push(take(STORED_VALUES));
  // Else some of it is missing.
  return at === values.length ? { asked, shared, revisions } : null;
}

/** By position: on the hot path of each fetch. */
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
  if (one.length < STORED_VALUES) return Object.assign(revision, one[12]);
  const [finalFrom, closedFrom, marks] = one.slice(12);
  if (finalFrom !== null) Object.assign(revision, { finalFrom: knownFrom + (finalFrom as number) });
  if (closedFrom !== null) Object.assign(revision, { closedFrom: knownFrom + (closedFrom as number) });
  return Object.assign(revision, marks);
}

function idOf(knownFrom: number): string {
  return Number(knownFrom).toString(36);
}

const NONE: Heads = { asked: [], revisions: [] };

type StoredHeads = Pick<HistoryHeads, 'heads' | 'beside'>;

/** {@link decodeHeads}, of all that is stored of a day. */
export function decodeStored({ heads, beside }: StoredHeads): Heads | null {
  const known = decodeHeads(heads);
  if (known === null || beside === undefined) return known;
  const earlier = decodeHeads(beside);
  if (earlier === null) return null;
  const all = new Map([...earlier.revisions, ...known.revisions].map((one) => [one.id, one]));
  return { ...known, revisions: [...all.values()].toSorted((a, b) => a.knownFrom - b.knownFrom) };
}

/** {@link decodeStored}, or no revisions. Includes void ones. */
export function readHeads(found: StoredHeads | null | undefined): Heads {
  return found ? (decodeStored(found) ?? NONE) : NONE;
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
    'digest' | 'schema' | 'generation' | 'credential' | 'rowCount' | 'answerRows' | 'complete' | 'seq'
  > {
  /** Start and end of the fetch, epoch milliseconds. */
  readonly fetchedFrom: number;
  readonly fetchedAt: number;
  readonly ageDays: number;
  /** What its rows take in the store. */
  readonly bytes: number;
  /** Empty, and this fetch does not confirm an earlier one. */
  readonly unconfirmed: boolean;
  /** Final when the fetch began. */
  readonly isFinal: boolean;
}

export type Noted =
  /** New rows, to be stored under `added`. */
  | {
      readonly kind: 'appended';
      readonly revisions: Revisions;
      readonly added: string;
      readonly removed: readonly string[];
    }
  /** Same rows; the confirmation is written. */
  | { readonly kind: 'confirmed'; readonly revisions: Revisions }
  /** Nothing to write: confirmed recently (`known`), or older than the latest revision (`late`). */
  | { readonly kind: 'known' | 'late' };

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

export function noteFetch(before: Revisions, seen: SeenDay): Noted {
  const latest = before.at(-1);
  if (latest === undefined) return append(before, seen);
  if (seen.fetchedFrom < latest.fetchedFrom) return { kind: 'late' };
  // After a new proof, older revisions are void: append again.
  if (latest.void !== undefined) return append(before, seen);
  if (latest.digest !== seen.digest || latest.generation !== seen.generation) return append(before, seen);
  const confirmedUntil = Math.max(latest.confirmedUntil, seen.fetchedAt);
  const isConfirmedNow = latest.unconfirmed === true && !seen.unconfirmed;
  const { unconfirmed, lost, ...known } = latest;
  const mark = unconfirmed && !isConfirmedNow ? { unconfirmed } : {};
  const size = sizeOf(latest, seen);
  const confirmed = stamped(before.slice(0, -1), { ...known, ...size, confirmedUntil, ...mark }, seen);
  const isStamped = confirmed.finalFrom !== latest.finalFrom || confirmed.closedFrom !== latest.closedFrom;
  const isSmaller = latest.answerRows >= SMALLEST_CAP && confirmed.answerRows < latest.answerRows;
  const isWhole = isSmaller || confirmed.complete !== latest.complete;
  const isFoundAgain = lost !== undefined;
  if (
    !isConfirmedNow &&
    !isStamped &&
    !isWhole &&
    !isFoundAgain &&
    confirmedUntil - latest.confirmedUntil < CONFIRMED_EVERY_MS
  )
    return { kind: 'known' };
  return { kind: 'confirmed', revisions: [...before.slice(0, -1), confirmed] };
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
    isFinal && knownAt(validRevisions([...before, latest], latest.generation), 'final') === null;
  return {
    ...latest,
    ...(isClosing ? { closedFrom: seenFrom } : {}),
    ...(isFirstFinal ? { finalFrom: seenFrom } : {}),
  };
}

function append(before: Revisions, seen: SeenDay): Noted {
  const { fetchedAt, unconfirmed, isFinal: _, ...facts } = seen;
  // Clocks of replicas differ; revisions keep the order of fetches.
  const knownFrom = Math.max(fetchedAt, (before.at(-1)?.knownFrom ?? 0) + 1);
  const id = idOf(knownFrom);
  const times = { id, knownFrom, confirmedUntil: knownFrom };
  const added: Revision = { ...times, ...facts, ...(unconfirmed ? { unconfirmed: true as const } : {}) };
  const { kept, removed } = thin([...before, stamped(before, added, seen)]);
  return { kind: 'appended', revisions: kept, added: id, removed };
}

/** Removes excess revisions, and marks the gap at the preceding one. */
function thin(revisions: Revisions): { readonly kept: Revisions; readonly removed: readonly string[] } {
  const nowMs = (revisions.at(-1) as Revision).knownFrom;
  const lastOpen = revisions.findLast(({ ageDays }) => ageDays <= 0);
  const closed = revisions.filter(({ ageDays }) => ageDays > 0);
  // The first, the final and the latest revision are never removed.
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
