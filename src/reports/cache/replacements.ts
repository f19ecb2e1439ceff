/**
 * Recent fetches of each series, to detect finished bodies and parts that a later fetch replaced. A fetch is recorded here
 * at once, and announced to other replicas when it is stored.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { randomId } from '../../lib/chance.js';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { countedOrder } from '../../store/days-port.js';
import type { Bus, BusMessage } from '../../store/port.js';

const Extent = Type.Object({
  /** ISO; null where the platform chose the period. */
  from: Type.Union([Type.String(), Type.Null()]),
  to: Type.Union([Type.String(), Type.Null()]),
  /** One entry for exactly this period, else its days. */
  isWhole: Type.Boolean(),
  /** Of its (earliest) fetch, by the store. */
  order: Type.Number(),
});
const Announcement = recordForm(
  Type.Object({
    origin: Type.String(),
    series: Type.String(),
    fetched: Type.Array(Extent),
    /** Names of fetch locks that ended with the write. */
    released: Type.Optional(Type.Array(Type.String())),
  }),
);

/** A part of a series, and its age. */
export type Extent = RecordOf<typeof Announcement>['fetched'][number];

interface Fetches {
  /** NaN once the series was evicted: then nothing counts as newest. */
  count: number;
  /** The last of them, in order. */
  latest: readonly Extent[];
  /** Newest fetch time that an answer rests on, epoch milliseconds. */
  givenMs: number;
}

/** The number of fetches of a series that are taken into account. */
export interface Basis {
  readonly fetches: Readonly<Fetches>;
  seen: number;
}

/** The data that a finished body depends on. */
export interface MadeOf {
  readonly basis: Basis;
  readonly held: readonly Extent[];
}

const CHANNEL = 'fetched';
/** LRU limit; bodies of evicted series are rebuilt. */
const MAX_SERIES = 10_000;
/** A body that missed more fetches counts as replaced. */
const MAX_FETCHES = 8;

/** @param onReleased called with names of locks that ended with a write of another replica */
export function createReplacements(bus: Bus, logger: Logger, onReleased: (names: readonly string[]) => void) {
  const self = randomId();
  const known = createLastUsed<Fetches>(MAX_SERIES, {
    dispose(fetches) {
      fetches.count = Number.NaN;
    },
  });

  function add(series: string, fetched: readonly Extent[]): void {
    // Series that were never read have no bodies.
    const fetches = known.peek(series);
    if (fetches === undefined) return;
    fetches.count += fetched.length;
    // A copy of its exact size: `push` makes room for 16 more.
    fetches.latest = [...fetches.latest, ...fetched].slice(-MAX_FETCHES);
  }

  function onMessage(text: string): void {
    const message = Announcement.parse(text);
    if (message === null) known.clear();
    else if (message.origin !== self) {
      add(message.series, message.fetched);
      onReleased(message.released ?? []);
    }
  }

  return {
    /** Call before reading parts of a series. */
    basisOf(series: string): Basis {
      const before = known.get(series);
      const fetches = before ?? { count: 0, latest: [], givenMs: 0 };
      if (before === undefined) known.set(series, fetches);
      return { fetches, seen: fetches.count };
    },
    /** An answer is given that rests on fetches up to this time. */
    gave(series: string, newestMs: number): void {
      const fetches = known.peek(series);
      if (fetches !== undefined) fetches.givenMs = Math.max(fetches.givenMs, newestMs);
    },
    /** @returns the newest fetch time that an answer rests on */
    givenMs: (series: string): number => known.peek(series)?.givenMs ?? 0,
    /** The message to other replicas, for a write that carries it. @param released names of locks that end with the write */
    newsOf: (series: string, fetched: readonly Extent[], released: readonly string[]): BusMessage => ({
      channel: CHANNEL,
      message: JSON.stringify({ origin: self, series, fetched, released }),
    }),
    /**
     * @param stored write to the store, after which replicas are notified
     * @param isTold whether the write has carried the message. Never rejects
     */
    async note(
      series: string,
      fetched: readonly Extent[],
      stored: Promise<unknown>,
      isTold: () => boolean = () => false,
    ): Promise<void> {
      if (fetched.length === 0) return;
      add(series, fetched);
      try {
        if ((await stored) === false || isTold()) return;
        await bus.publish(CHANNEL, JSON.stringify({ origin: self, series, fetched }));
      } catch (error) {
        logger.debug(
          { err: error },
          'failed to announce a fetch to other replicas; they may serve older rows until these days are fetched again',
        );
      }
    },
    // Messages sent while the connection was down are lost.
    stop: bus.subscribe(CHANNEL, onMessage, () => known.clear()),
  };
}

/** Whether none of these was replaced since; if so, advances the basis. */
export function isNewest(basis: Basis, held: readonly Extent[]): boolean {
  const { count, latest } = basis.fetches;
  if (count === basis.seen) return true;
  const missed = count - basis.seen;
  if (!(missed <= latest.length)) return false;
  const later = latest.slice(-missed);
  if (held.some((part) => later.some((fetch) => isReplaced(part, fetch)))) return false;
  basis.seen = count;
  return true;
}

function isReplaced(part: Extent, fetch: Extent): boolean {
  // The clock of now is not asked: what is voided without need is read again.
  if (fetch.order <= countedOrder(part.order, fetch.order)) return false;
  if (fetch.isWhole) return part.isWhole && part.from === fetch.from && part.to === fetch.to;
  return (part.from ?? '') <= (fetch.to ?? '') && (part.to === null || part.to >= (fetch.from ?? ''));
}
