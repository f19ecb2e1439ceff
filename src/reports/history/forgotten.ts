/**
 * Days that history has with rows and the platform answers without: whether that is believed. A day is gone when a second
 * look says so, while the platform still answers an older day with rows. Otherwise the platform may have forgotten it, or
 * no longer lets the account see it, and the rows of history stand. Pure.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import { dayNumber, isoDay } from '../query/days.js';

/** A second look this much later can confirm that the rows of a day are gone. */
export const SECOND_LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** As many days are asked for where history knows no older one. */
const PROBED_DAYS = 7;
/** No platform is taken to forget a day that is younger. */
const YOUNG_DAYS = 30;

/** A day of an answer. */
export interface AnsweredDay {
  /** ISO */
  readonly date: string;
  readonly ageDays: number;
  /** Rows that the platform gave. */
  readonly rows: number;
  /** Rows that history has of it; 0: none. */
  readonly knownRows: number;
  /** When the platform first gave none, although history has some, epoch milliseconds; null: that is new. */
  readonly emptyFromMs: number | null;
  /** An operator has accepted that its rows are gone. */
  readonly accepted: boolean;
}

/** A day near by that the answer is not about, of which history has rows. */
export interface Neighbour extends Pick<AnsweredDay, 'date' | 'ageDays' | 'emptyFromMs'> {
  /** When the platform last gave its rows, epoch milliseconds. */
  readonly seenMs: number;
}

export interface ForgettingRules {
  readonly nowMs: number;
  /** Age in days beyond which the platform is declared to have nothing; null: not declared. */
  readonly retentionDays: number | null;
  readonly restatementDays: number;
  /** After which an empty day that is not final is asked for again. */
  readonly emptyMs: number;
  /** The greatest age that the platform answered with rows since an instant, for any series of the endpoint; -1: none. */
  readonly reachSince: (ms: number) => number;
}

type LossCode = 'beyond_retention' | 'all_days_empty';

/** What is made of a day that has lost its rows: it is empty, or its rows are those of history until it is asked for again. */
export type Loss =
  | { readonly kind: 'believed'; readonly sinceMs: number }
  | { readonly kind: 'kept'; readonly code: LossCode; readonly sinceMs: number; readonly againMs: number };

/** ISO, both inclusive. */
interface Days {
  readonly from: string;
  readonly to: string;
}

export interface Losses {
  /** By date: of the days without rows of which history has some. */
  readonly days: ReadonlyMap<string, Loss>;
  /** The age from which on every day has lost its rows; null where the answer shows no such edge. */
  readonly edgeDays: number | null;
  /** Older days whose rows, or their absence, would decide what is in doubt; null: none is in doubt, or none can decide. */
  readonly probe: Days | null;
}

export function judgeLosses(
  days: readonly AnsweredDay[],
  neighbours: readonly Neighbour[],
  rules: ForgettingRules,
): Losses {
  const { nowMs, retentionDays, restatementDays, emptyMs } = rules;
  const lost = days.filter(({ rows, knownRows }) => rows === 0 && knownRows > 0);
  const sinceOf = ({ emptyFromMs }: Pick<AnsweredDay, 'emptyFromMs'>) => emptyFromMs ?? nowMs;
  const isSecond = (day: AnsweredDay) => nowMs - sinceOf(day) >= SECOND_LOOK_MS;
  const isFinal = ({ ageDays }: AnsweredDay) => ageDays > restatementDays;
  const isDeclared = ({ ageDays }: AnsweredDay) => retentionDays !== null && ageDays > retentionDays;
  const reach = days.reduce((most, { rows, ageDays }) => (rows > 0 ? Math.max(most, ageDays) : most), -1);
  // What was answered before the first look tells nothing of what the platform has since.
  const reachOf = ({ emptyFromMs }: AnsweredDay) =>
    emptyFromMs === null ? reach : Math.max(reach, rules.reachSince(emptyFromMs));
  const isWithin = (day: AnsweredDay) => day.ageDays < reachOf(day);

  const open = lost.filter((day) => !isDeclared(day) && !day.accepted);
  const outside = open.filter((day) => !isWithin(day));
  const gone = neighbours.filter(({ emptyFromMs }) => emptyFromMs !== null);
  const isAlive = reach >= 0 || neighbours.some((one) => isSeen(one, nowMs));
  const isYoung = (day: AnsweredDay) => isWithin(day) || day.ageDays <= Math.max(restatementDays, YOUNG_DAYS);
  const isAllEmpty = !isAlive && open.length + gone.length > 1 && open.some(isYoung);
  // One day alone may have been withdrawn; of two, every older one is gone.
  const youngestOut = Math.min(...outside.map(({ ageDays }) => ageDays));
  const isEdge = outside.length + gone.filter(({ ageDays }) => ageDays > youngestOut).length > 1;
  const probe = isAllEmpty ? null : probeOf(outside.filter(isSecond), days, neighbours);

  function judge(day: AnsweredDay): Loss {
    const sinceMs = sinceOf(day);
    const kept = (code: LossCode, againMs: number): Loss => ({ kind: 'kept', code, sinceMs, againMs });
    if (day.accepted) return { kind: 'believed', sinceMs };
    if (isDeclared(day)) return kept('beyond_retention', DAY_MS);
    const [second, final] = [isSecond(day), isFinal(day)];
    if (isAllEmpty) return kept('all_days_empty', second || final ? DAY_MS : emptyMs);
    if (isWithin(day) && second) return { kind: 'believed', sinceMs };
    if (isWithin(day)) return kept('beyond_retention', final ? SECOND_LOOK_MS : emptyMs);
    if (isEdge && final) return kept('beyond_retention', DAY_MS);
    if (!second) return kept('beyond_retention', final ? SECOND_LOOK_MS : emptyMs);
    // Nothing near by can be asked for: what other series were answered with lately has to do.
    if (!isEdge && probe === null && day.ageDays < rules.reachSince(nowMs - WEEK_MS))
      return { kind: 'believed', sinceMs };
    return kept('beyond_retention', final ? DAY_MS : SECOND_LOOK_MS);
  }

  const finals = outside.filter(isFinal).map(({ ageDays }) => ageDays);
  return {
    days: new Map(lost.map((day) => [day.date, judge(day)])),
    edgeDays: isEdge && !isAllEmpty && finals.length > 0 ? Math.min(...finals) : null,
    probe,
  };
}

function isSeen({ emptyFromMs, seenMs }: Neighbour, nowMs: number): boolean {
  return emptyFromMs === null && nowMs - seenMs < WEEK_MS;
}

/** The nearest day that is older than all that are in doubt, and was not seen to be empty; a week, where none is known. */
function probeOf(
  doubted: readonly AnsweredDay[],
  days: readonly AnsweredDay[],
  neighbours: readonly Neighbour[],
): Days | null {
  const [oldest] = doubted.toSorted((a, b) => b.ageDays - a.ageDays);
  if (oldest === undefined) return null;
  const isOlder = ({ ageDays }: Pick<AnsweredDay, 'ageDays'>) => ageDays > oldest.ageDays;
  const older = neighbours.filter(isOlder);
  if (older.length === 0 && !days.some(isOlder)) {
    const day = dayNumber(oldest.date) as number;
    return { from: isoDay(day - PROBED_DAYS), to: isoDay(day - 1) };
  }
  const unseen = older.filter(({ emptyFromMs }) => emptyFromMs === null);
  const date = unseen.toSorted((a, b) => a.ageDays - b.ageDays)[0]?.date;
  return date === undefined ? null : { from: date, to: date };
}

// How far back the platform answers with rows, by endpoint: what was seen in the last seven days, and from which age on it
// was found to have forgotten. Gathered in memory, and added now and then to what all replicas have seen.

const Milliseconds = Type.Integer();
const ReachForm = Type.Object({
  /** When days of an age, the greatest of an answer, came with rows; the newest first, each older than those before. */
  rows: Type.Array(Type.Tuple([Milliseconds, Type.Integer()])),
  /** From this age on every day had lost its rows, when it was last looked at. */
  edge: Type.Optional(
    Type.Object({
      ...{ ageDays: Type.Integer(), sinceMs: Milliseconds, atMs: Milliseconds },
      /** When a day of a range that was refused was refused alone, and its age. */
      refused: Type.Optional(Type.Tuple([Milliseconds, Type.Integer()])),
    }),
  ),
  /** When rows of a day beyond the edge came last, and its age. */
  ended: Type.Optional(Type.Tuple([Milliseconds, Type.Integer()])),
});
const Seen = recordForm(
  Type.Object({ form: Type.Literal(1), endpoints: Type.Record(Type.String(), ReachForm) }),
);
type Seen = RecordOf<typeof Seen>;
type Reach = Seen['endpoints'][string];
/** When, in epoch milliseconds, and an age in days. */
type SeenAge = Reach['rows'][number];

/** Beyond this age in days the platform has forgotten, as far as is known. */
interface RetentionEdge {
  readonly endpoint: string;
  readonly days: number;
  /** learned: seen in its answers · declared: `platform.retentionDays` */
  readonly source: 'learned' | 'declared';
  /** When it was first seen, as an instant; null: it is declared. */
  readonly since: string | null;
}

export interface EndpointRetention {
  /** See {@link ForgettingRules.reachSince}. */
  reachSince(ms: number): number;
  /** The greatest age at which a day was refused alone since an instant; -1: none. */
  refusedSince(ms: number): number;
  /** The youngest age that is declared, or else known, to be forgotten; null: none is. */
  readonly edgeDays: number | null;
}

interface FoundEdge {
  readonly ageDays: number;
  /** The age at which a day was refused alone; null: none was tried. */
  readonly refusedDays: number | null;
}

export type Retention = ReturnType<typeof createRetention>;

const KEY = 'retention';
const KEPT_MS = 400 * DAY_MS;
const FLUSH_EVERY_MS = 30_000;
/** The same age is not written down again within this time. */
const COARSE_MS = 600_000;
const NOTHING: Reach = { rows: [] };

export function createRetention({
  documents,
  declaredDays,
  endpoints,
  logger,
}: {
  readonly documents: Documents;
  /** The setting. */
  readonly declaredDays: number | null;
  readonly endpoints: () => Iterable<string>;
  readonly logger: Logger;
}) {
  const ends = new Map<string, number>();
  const tallies = createSharedTallies<string, Seen>({
    ...{ documents, everyMs: FLUSH_EVERY_MS, ttlMs: KEPT_MS },
    ...{ decode: Seen.parse, encode: JSON.stringify, none: { form: 1, endpoints: {} }, merge },
    documentOf: (key) => key,
    onWritten: async (_key, all) => noteEnds(all),
    onAway: (error) =>
      logger.debug({ err: error }, "failed to store the platform's observed retention; retrying"),
  });

  function note(endpoint: string, reach: Reach): void {
    tallies.add(KEY, { form: 1, endpoints: { [endpoint]: reach } });
    noteEnds({ form: 1, endpoints: { [endpoint]: atHand(endpoint) } });
  }

  function noteEnds(seen: Seen): void {
    for (const [endpoint, { ended }] of Object.entries(seen.endpoints))
      if (ended !== undefined) ends.set(endpoint, ended[0]);
  }

  const atHand = (endpoint: string) => tallies.atHand(KEY).endpoints[endpoint] ?? NOTHING;

  /** What all replicas have seen; this process alone while the store is away. */
  async function read(): Promise<Seen['endpoints']> {
    const seen = await tallies.read(KEY).catch((error: unknown) => {
      logger.debug({ err: error }, "failed to read the platform's observed retention from the store");
      return tallies.atHand(KEY);
    });
    noteEnds(seen);
    return seen.endpoints;
  }

  return {
    declaredDays,
    /** Never rejects. */
    async of(endpoint: string): Promise<EndpointRetention> {
      const { rows, edge } = (await read())[endpoint] ?? NOTHING;
      return {
        reachSince: (ms) => Math.max(-1, ...rows.filter(([atMs]) => atMs >= ms).map(([, age]) => age)),
        refusedSince: (ms) => (edge?.refused !== undefined && edge.refused[0] >= ms ? edge.refused[1] : -1),
        edgeDays: declaredDays === null ? (edge?.ageDays ?? null) : declaredDays + 1,
      };
    },
    /** The platform answered a day of this age with rows. Costs no call and no wait. @param exact that very moment counts */
    rowsSeen(endpoint: string, ageDays: number, atMs: number, exact: boolean): void {
      const { rows, edge } = atHand(endpoint);
      const isKnown = rows.some(([at, age]) => age >= ageDays && at >= atMs - (exact ? 0 : COARSE_MS));
      if (!isKnown || (edge !== undefined && ageDays >= edge.ageDays))
        note(endpoint, { rows: [[atMs, ageDays]] });
    },
    /** From this age on the platform was found to have forgotten. */
    noteForgotten(
      endpoint: string,
      { ageDays, refusedDays }: FoundEdge,
      sinceMs: number,
      atMs: number,
    ): void {
      const refused: SeenAge[] = refusedDays === null ? [] : [[atMs, refusedDays]];
      note(endpoint, { rows: [], edge: { ageDays, sinceMs, atMs, ...latest('refused', refused) } });
    },
    /** When an edge was last proven wrong, epoch milliseconds, as far as this process knows; 0: never. */
    endedMs: (endpoint: string): number => ends.get(endpoint) ?? 0,
    /** Where the platform forgets. Never rejects. */
    async edges(): Promise<readonly RetentionEdge[]> {
      const seen = await read();
      return [...endpoints()].flatMap((endpoint) =>
        edgeOf(endpoint, declaredDays, seen[endpoint] ?? NOTHING),
      );
    },
    flush: tallies.flush,
    close: tallies.close,
  };
}

function edgeOf(endpoint: string, declaredDays: number | null, { edge }: Reach): RetentionEdge[] {
  if (declaredDays !== null) return [{ endpoint, days: declaredDays, source: 'declared', since: null }];
  if (edge === undefined) return [];
  const since = new Date(edge.sinceMs).toISOString();
  return [{ endpoint, days: edge.ageDays - 1, source: 'learned', since }];
}

function merge(one: Seen, other: Seen): Seen {
  const endpoints = Object.entries(other.endpoints).map(([endpoint, reach]): [string, Reach] => [
    endpoint,
    mergeReach(one.endpoints[endpoint] ?? NOTHING, reach),
  ]);
  return { ...one, endpoints: { ...one.endpoints, ...Object.fromEntries(endpoints) } };
}

/** What both have seen: rows of the last seven days as far as no later answer reached as far, and the edge that stands. */
export function mergeReach(one: Reach, other: Reach): Reach {
  const rows = [...one.rows, ...other.rows].toSorted((a, b) => b[0] - a[0] || b[1] - a[1]);
  const newestMs = rows[0]?.[0] ?? 0;
  const ends = [one.ended, other.ended].filter((ended) => ended !== undefined);
  const edge = mergeEdge(one.edge, other.edge, ends);
  const isOver = (atMs: number, ageDays: number) =>
    edge !== undefined && ageDays >= edge.ageDays && atMs <= edge.atMs;
  let most = -1;
  const kept = rows.filter(([atMs, ageDays]) => {
    const isFurther = ageDays > most && newestMs - atMs <= WEEK_MS && !isOver(atMs, ageDays);
    if (isFurther) most = ageDays;
    return isFurther;
  });
  // A later answer that reaches beyond the edge proves it wrong.
  const beyond = kept.filter(([, age]) => edge !== undefined && age >= edge.ageDays);
  const ended = latest('ended', [...ends, ...beyond]);
  return { rows: kept, ...ended, ...(edge !== undefined && beyond.length === 0 && { edge }) };
}

/** Within a day of the answer that proved an edge wrong, the same edge is not taken up again. */
function mergeEdge(one: Reach['edge'], other: Reach['edge'], ends: readonly SeenAge[]): Reach['edge'] {
  const edges = [one, other].filter((edge) => edge !== undefined);
  if (edges.length === 0) return undefined;
  const ageDays = Math.min(...edges.map((edge) => edge.ageDays));
  const atMs = Math.max(...edges.map((edge) => edge.atMs));
  if (ends.some(([endMs, age]) => age >= ageDays && atMs < endMs + DAY_MS)) return undefined;
  const sinceMs = Math.min(...edges.map((edge) => edge.sinceMs));
  const refused = edges.flatMap((edge) => (edge.refused === undefined ? [] : [edge.refused]));
  return { ageDays, sinceMs, atMs, ...latest('refused', refused) };
}

/** The one that was seen last, as a member, if there is one. */
function latest<Name extends string>(
  name: Name,
  seen: readonly SeenAge[],
): { readonly [_ in Name]?: SeenAge } {
  const [newest] = seen.toSorted((a, b) => b[0] - a[0] || b[1] - a[1]);
  return (newest === undefined ? {} : { [name]: newest }) as { readonly [_ in Name]?: SeenAge };
}
