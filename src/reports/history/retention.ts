/**
 * How far back the platform answers with rows, by endpoint: what was seen in the last seven days, and from which age on it
 * was found to have forgotten. Gathered in memory, and added now and then to what all replicas have seen.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';

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
type Sight = Reach['rows'][number];

/** Beyond this age in days the platform has forgotten, as far as is known. */
export interface RetentionEdge {
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

export interface FoundEdge {
  readonly ageDays: number;
  /** The age at which a day was refused alone; null: none was tried. */
  readonly refusedDays: number | null;
}

export type Retention = ReturnType<typeof createRetention>;

const KEY = 'retention';
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
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
      logger.debug({ err: error }, 'how far back the platform answers could not be written; trying again'),
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
      logger.debug({ err: error }, 'how far back the platform answers could not be read from the store');
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
    sawRows(endpoint: string, ageDays: number, atMs: number, exact: boolean): void {
      const { rows, edge } = atHand(endpoint);
      const isKnown = rows.some(([at, age]) => age >= ageDays && at >= atMs - (exact ? 0 : COARSE_MS));
      if (!isKnown || (edge !== undefined && ageDays >= edge.ageDays))
        note(endpoint, { rows: [[atMs, ageDays]] });
    },
    /** From this age on the platform was found to have forgotten. */
    forgot(endpoint: string, { ageDays, refusedDays }: FoundEdge, sinceMs: number, atMs: number): void {
      const refused: Sight[] = refusedDays === null ? [] : [[atMs, refusedDays]];
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
function mergeEdge(one: Reach['edge'], other: Reach['edge'], ends: readonly Sight[]): Reach['edge'] {
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
function latest<Name extends string>(name: Name, seen: readonly Sight[]): { readonly [_ in Name]?: Sight } {
  const [newest] = seen.toSorted((a, b) => b[0] - a[0] || b[1] - a[1]);
  return (newest === undefined ? {} : { [name]: newest }) as { readonly [_ in Name]?: Sight };
}
