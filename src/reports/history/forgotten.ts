/**
 * Days that have rows in history and none at the platform: decides whether they are really empty. They are if a second fetch
 * confirms it while the platform still returns rows of an older day. Otherwise the platform may have dropped them or revoked
 * access, and history is served. Pure.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import { dayNumber, isoDay } from '../query/days.js';

/** Minimum time until a second fetch can confirm that the rows of a day are gone. */
export const SECOND_LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Days that are probed if history has no older one. */
const PROBED_DAYS = 7;
/** Younger days are assumed to be within any platform's retention. */
const YOUNG_DAYS = 30;

/** Possible statuses for a range beyond retention. */
export const RANGE_REFUSED: readonly number[] = [400, 422];

export interface AnsweredDay {
  /** ISO */
  readonly date: string;
  readonly ageDays: number;
  /** Row count at the platform. */
  readonly rows: number;
  /** Row count in history. */
  readonly knownRows: number;
  /** When the platform was first seen without rows, epoch milliseconds; null: now. */
  readonly emptyFromMs: number | null;
  /** An operator accepted that its rows are gone. */
  readonly accepted: boolean;
}

/** A nearby day outside the answer, with rows in history. */
export interface Neighbour extends Pick<AnsweredDay, 'date' | 'ageDays' | 'emptyFromMs'> {
  /** When the platform last returned its rows, epoch milliseconds. */
  readonly seenMs: number;
}

export interface ForgettingRules {
  readonly nowMs: number;
  /** Declared retention of the platform in days; null: not declared. */
  readonly retentionDays: number | null;
  readonly restatementDays: number;
  /** Refetch interval of an empty provisional day. */
  readonly emptyMs: number;
  /** Greatest age with rows at the endpoint since an instant, in days; -1: none. */
  readonly reachSince: (ms: number) => number;
}

type LossCode = 'beyond_retention' | 'all_days_empty';

/** Decision on a day that lost its rows: it is empty (`believed`), or served from history until refetched (`kept`). */
export type Loss =
  | { readonly kind: 'believed'; readonly sinceMs: number }
  | { readonly kind: 'kept'; readonly code: LossCode; readonly sinceMs: number; readonly againMs: number };

/** ISO, both inclusive. */
interface Days {
  readonly from: string;
  readonly to: string;
}

export type Losses = Readonly<ReturnType<typeof judgeLosses>>;

export function judgeLosses(
  days: readonly AnsweredDay[],
  neighbours: readonly Neighbour[],
  rules: ForgettingRules,
) {
  const { nowMs, retentionDays, restatementDays, emptyMs } = rules;
  const lost = days.filter(({ rows, knownRows }) => rows === 0 && knownRows > 0);
  const sinceOf = ({ emptyFromMs }: Pick<AnsweredDay, 'emptyFromMs'>) => emptyFromMs ?? nowMs;
  const isSecond = (day: AnsweredDay) => nowMs - sinceOf(day) >= SECOND_LOOK_MS;
  const isFinal = ({ ageDays }: AnsweredDay) => ageDays > restatementDays;
  const isDeclared = ({ ageDays }: AnsweredDay) => retentionDays !== null && ageDays > retentionDays;
  const reach = days.reduce((most, { rows, ageDays }) => (rows > 0 ? Math.max(most, ageDays) : most), -1);
  // Answers before the first empty fetch say nothing about later retention.
  const reachOf = ({ emptyFromMs }: AnsweredDay) =>
    emptyFromMs === null ? reach : Math.max(reach, rules.reachSince(emptyFromMs));
  const isWithin = (day: AnsweredDay) => day.ageDays < reachOf(day);

  const open = lost.filter((day) => !isDeclared(day) && !day.accepted);
  const outside = open.filter((day) => !isWithin(day));
  const gone = neighbours.filter(({ emptyFromMs }) => emptyFromMs !== null);
  const isSeen = ({ emptyFromMs, seenMs }: Neighbour) => emptyFromMs === null && nowMs - seenMs < WEEK_MS;
  const isAlive = reach >= 0 || neighbours.some(isSeen);
  const isYoung = (day: AnsweredDay) => isWithin(day) || day.ageDays <= Math.max(restatementDays, YOUNG_DAYS);
  const isAllEmpty = !isAlive && open.length + gone.length > 1 && open.some(isYoung);
  // A single day may have been withdrawn; an edge needs two.
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
    // No nearby day can be probed: rely on recent answers of other series.
    if (!isEdge && probe === null && day.ageDays < rules.reachSince(nowMs - WEEK_MS))
      return { kind: 'believed', sinceMs };
    return kept('beyond_retention', final ? DAY_MS : SECOND_LOOK_MS);
  }

  const finals = outside.filter(isFinal).map(({ ageDays }) => ageDays);
  return {
    /** By date, for days without rows that have some in history. */
    days: new Map(lost.map((day) => [day.date, judge(day)])),
    /** Age from which every day has lost its rows; null if there is no such edge. */
    edgeDays: isEdge && !isAllEmpty && finals.length > 0 ? Math.min(...finals) : null,
    /** Older days to fetch for a decision; null if none is needed or possible. */
    probe,
  };
}

/** The nearest older day that was not seen empty; the week before if history has no older day. */
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

// Observed retention by endpoint: ages with rows in the last seven days, and the age from which rows are gone. Collected in
// memory and periodically merged into a document of all replicas.

const Milliseconds = Type.Integer();
const ReachForm = Type.Object({
  /** Time and greatest age with rows, newest first, with increasing ages. */
  rows: Type.Array(Type.Tuple([Milliseconds, Type.Integer()])),
  /** Age from which every day had lost its rows at the last check. */
  edge: Type.Optional(
    Type.Object({
      ageDays: Type.Integer(),
      sinceMs: Milliseconds,
      atMs: Milliseconds,
      /** Time and age of a day that was also refused alone. */
      refused: Type.Optional(Type.Tuple([Milliseconds, Type.Integer()])),
    }),
  ),
  /** Time and age of the last rows beyond the edge. */
  ended: Type.Optional(Type.Tuple([Milliseconds, Type.Integer()])),
});
const Seen = recordForm(
  Type.Object({ form: Type.Literal(1), endpoints: Type.Record(Type.String(), ReachForm) }),
);
type Seen = RecordOf<typeof Seen>;
type Reach = Seen['endpoints'][string];
/** When, in epoch milliseconds, and an age in days. */
type SeenAge = Reach['rows'][number];

/** Known limit of the platform's retention. */
interface RetentionEdge {
  readonly endpoint: string;
  readonly days: number;
  /** learned: seen in its answers · declared: `platform.retentionDays` */
  readonly source: 'learned' | 'declared';
  /** When it was first seen, as an instant; null if declared. */
  readonly since: string | null;
}

export interface EndpointRetention {
  /** See {@link ForgettingRules.reachSince}. */
  reachSince(ms: number): number;
  /** Greatest age of a day that was refused alone since an instant; -1: none. */
  refusedSince(ms: number): number;
  /** Declared, else learned, age from which rows are gone; null: unknown. */
  readonly edgeDays: number | null;
}

interface FoundEdge {
  readonly ageDays: number;
  /** Age of a day that was refused alone; null: not tried. */
  readonly refusedDays: number | null;
}

const KEY = 'retention';
const KEPT_MS = 400 * DAY_MS;
const FLUSH_EVERY_MS = 30_000;
/** The same age is not recorded again within this time. */
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
  const [ends, edgeAges] = [new Map<string, number>(), new Map<string, number>()];
  const tallies = createSharedTallies<string, Seen>({
    documents,
    everyMs: FLUSH_EVERY_MS,
    ttlMs: KEPT_MS,
    decode: Seen.parse,
    encode: JSON.stringify,
    none: { form: 1, endpoints: {} },
    merge,
    documentOf: (key) => key,
    onWritten: async (_key, all) => noteKnown(all),
    onAway: (error) =>
      logger.debug({ err: error }, "failed to store the platform's observed retention; retrying"),
  });

  function note(endpoint: string, reach: Reach): void {
    tallies.add(KEY, { form: 1, endpoints: { [endpoint]: reach } });
    noteKnown({ form: 1, endpoints: { [endpoint]: atHand(endpoint) } });
  }

  function noteKnown(seen: Seen): void {
    for (const [endpoint, { edge, ended }] of Object.entries(seen.endpoints)) {
      if (ended !== undefined) ends.set(endpoint, ended[0]);
      if (edge === undefined) edgeAges.delete(endpoint);
      else edgeAges.set(endpoint, edge.ageDays);
    }
  }

  const atHand = (endpoint: string) => tallies.atHand(KEY).endpoints[endpoint] ?? NOTHING;

  /** Shared observations; those of this process while the store is unavailable. */
  async function read(): Promise<Seen['endpoints']> {
    const seen = await tallies.read(KEY).catch((error: unknown) => {
      logger.debug({ err: error }, "failed to read the platform's observed retention from the store");
      return tallies.atHand(KEY);
    });
    noteKnown(seen);
    return seen.endpoints;
  }

  const declaredEdge = declaredDays === null ? null : declaredDays + 1;
  return {
    declaredDays,
    /** See {@link EndpointRetention.edgeDays}, as known to this process. */
    edgeDays: (endpoint: string): number | null => declaredEdge ?? edgeAges.get(endpoint) ?? null,
    /** Never rejects. */
    async of(endpoint: string): Promise<EndpointRetention> {
      const { rows, edge } = (await read())[endpoint] ?? NOTHING;
      return {
        reachSince: (ms) => Math.max(-1, ...rows.filter(([atMs]) => atMs >= ms).map(([, age]) => age)),
        refusedSince: (ms) => (edge?.refused !== undefined && edge.refused[0] >= ms ? edge.refused[1] : -1),
        edgeDays: declaredEdge ?? edge?.ageDays ?? null,
      };
    },
    /** Records that the platform returned rows of this age. @param exact do not skip repeated ages */
    rowsSeen(endpoint: string, ageDays: number, atMs: number, exact: boolean): void {
      const { rows, edge } = atHand(endpoint);
      const isKnown = rows.some(([at, age]) => age >= ageDays && at >= atMs - (exact ? 0 : COARSE_MS));
      if (!isKnown || (edge !== undefined && ageDays >= edge.ageDays))
        note(endpoint, { rows: [[atMs, ageDays]] });
    },
    /** Records an edge. */
    noteForgotten(
      endpoint: string,
      { ageDays, refusedDays }: FoundEdge,
      sinceMs: number,
      atMs: number,
    ): void {
      const refused: SeenAge[] = refusedDays === null ? [] : [[atMs, refusedDays]];
      note(endpoint, { rows: [], edge: { ageDays, sinceMs, atMs, ...latest('refused', refused) } });
    },
    /** When an edge was last proven wrong, as known to this process, epoch milliseconds; 0: never. */
    endedMs: (endpoint: string): number => ends.get(endpoint) ?? 0,
    /** Known edges. Never rejects. */
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

/** Merges observations: rows of the last seven days unless a later answer reached as far, and the valid edge. */
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

/** An edge that was proven wrong is not accepted again for a day. */
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

/** The newest, as a member; no member if empty. */
function latest<Name extends string>(
  name: Name,
  seen: readonly SeenAge[],
): { readonly [_ in Name]?: SeenAge } {
  const [newest] = seen.toSorted((a, b) => b[0] - a[0] || b[1] - a[1]);
  return (newest === undefined ? {} : { [name]: newest }) as { readonly [_ in Name]?: SeenAge };
}
