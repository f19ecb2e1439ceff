/**
 * What was fetched of a series, so that a finished body, or a part that was read before a wait, is told from the newest
 * that this process knows. Each fetch is noted here at once; other replicas are told when the store has it.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { randomId } from '../../lib/chance.js';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { replaces } from '../../store/entry-stamp.js';
import type { Bus } from '../../store/port.js';

const Extent = Type.Object({
  /** ISO; null where the platform chose the period. */
  from: Type.Union([Type.String(), Type.Null()]),
  to: Type.Union([Type.String(), Type.Null()]),
  /** One entry for this very period; else the days of it. */
  isWhole: Type.Boolean(),
  /** When its fetch began, epoch milliseconds; the earliest of several. */
  startedAt: Type.Number(),
});
const Announcement = recordForm(
  Type.Object({ origin: Type.String(), series: Type.String(), fetched: Type.Array(Extent) }),
);

/** Which part of a series is meant, and how new it is. */
export type Extent = RecordOf<typeof Announcement>['fetched'][number];

/** The fetches of one series. */
interface Fetches {
  /** NaN once the series was forgotten: nothing that rests on it counts as newest then. */
  count: number;
  /** The last of them, in order. */
  readonly latest: Extent[];
}

/** How many fetches of a series something takes into account. */
export interface Basis {
  readonly fetches: Readonly<Fetches>;
  seen: number;
}

/** What a finished body is made of. */
export interface MadeOf {
  readonly basis: Basis;
  readonly held: readonly Extent[];
}

export type Replacements = ReturnType<typeof createReplacements>;

const CHANNEL = 'fetched';
/** Series beyond it are forgotten, the one read longest ago first: their bodies are made anew. */
const MAX_SERIES = 10_000;
/** A body that has missed more fetches than this counts as replaced. */
const MAX_FETCHES = 8;

export function createReplacements(bus: Bus, logger: Logger) {
  const self = randomId();
  const known = createLastUsed<Fetches>(MAX_SERIES, {
    dispose(fetches) {
      fetches.count = Number.NaN;
    },
  });

  function add(series: string, fetched: readonly Extent[]): void {
    // No body is held of a series that was never read.
    const fetches = known.peek(series);
    if (fetches === undefined) return;
    fetches.count += fetched.length;
    fetches.latest.push(...fetched);
    fetches.latest.splice(0, fetches.latest.length - MAX_FETCHES);
  }

  function onMessage(text: string): void {
    const message = Announcement.parse(text);
    if (message === null) known.clear();
    else if (message.origin !== self) add(message.series, message.fetched);
  }

  return {
    /** To be taken before the parts of a series are read. */
    basisOf(series: string): Basis {
      const before = known.get(series);
      const fetches = before ?? { count: 0, latest: [] };
      if (before === undefined) known.set(series, fetches);
      return { fetches, seen: fetches.count };
    },
    /** @param stored when the store has it: then replicas are told. Never rejects */
    async note(series: string, fetched: readonly Extent[], stored: Promise<unknown>): Promise<void> {
      if (fetched.length === 0) return;
      add(series, fetched);
      try {
        if ((await stored) === false) return;
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

/** Whether none of these was replaced since; what came meanwhile is taken into account then. */
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
  if (fetch.startedAt === part.startedAt || !replaces(fetch.startedAt, part.startedAt)) return false;
  if (fetch.isWhole) return part.isWhole && part.from === fetch.from && part.to === fetch.to;
  return (part.from ?? '') <= (fetch.to ?? '') && (part.to === null || part.to >= (fetch.from ?? ''));
}
