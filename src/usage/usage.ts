/**
 * Usage per team and day: counted in memory, written in batches. A batch has an id of its own and is repeated with it
 * until the store has taken it, so that it counts once, whatever happens on the way.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { daysBetween, isoDay } from '../report/days.js';
import { StoreUnavailable, type Tallies, type TallyAdd, type TallyRaise } from '../store/port.js';
import { dayBook, readDay, teamBook, toBatch, type UsageDay, type UsageField } from './usage-day.js';

export interface Usage {
  add(team: string, counts: ReadonlyMap<UsageField, number>): void;
  /** Writes what was counted so far. @returns whether the store took it all */
  flush(): Promise<boolean>;
  /**
   * What the store holds: by day, then by team; days without anything are left out.
   * @param from first day, `YYYY-MM-DD`. @param team only this one
   * @throws StoreUnavailable
   */
  read(from: string, to: string, team?: string): Promise<UsageDay[]>;
  /** A team's last 30 days, newest last; null when the store is away. */
  recent(team: string): Promise<Omit<UsageDay, 'team'>[] | null>;
  /** Today by UTC, and the day so many days before. */
  daysBack(count: number): { readonly from: string; readonly to: string };
  /** Writes what is left, as long as the store takes it within a few seconds. */
  close(): Promise<void>;
}

export interface UsageOptions {
  readonly tallies: Tallies;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time between two batches. */
  readonly everyMs?: number;
}

/** Contract: at most 5 s are lost when the process is killed; writing takes its time, too. */
const EVERY_MS = 2000;
/** Days are kept so long, for a year to be compared with the one before. */
const KEPT_MS = 800 * 86_400_000;
/** The store knows a batch for 10 minutes; later a repetition might count twice. */
const REPEATED_MS = 9 * 60_000;
/** As `/gateway/v1/me` shows them. */
const RECENT_DAYS = 30;
/** A store answers one command within its time; a year of many teams is read in several. */
const BOOKS_AT_ONCE = 500;
const CLOSE_TRIES = 5;
const CLOSE_WAIT_MS = 500;

interface Batch {
  readonly id: string;
  readonly adds: readonly TallyAdd[];
  readonly raises: readonly TallyRaise[];
  /** Monotonic time of its first try. */
  readonly sinceMs: number;
}

type Counts = Map<string, Map<string, Map<UsageField, number>>>;

export function createUsage(options: UsageOptions): Usage {
  const { tallies, clock, logger } = options;
  let counted: Counts = new Map();
  /** Sent, and not known to have arrived. */
  let sent: Batch | null = null;
  let flushing: Promise<boolean> | null = null;
  /** After a failure, a batch is begun only when the store answers: what was sent can no longer be put together. */
  let doubtful = false;

  const timer = setInterval(() => void flush(), options.everyMs ?? EVERY_MS);
  timer.unref();

  const today = () => Math.floor(clock.now() / 86_400_000);
  const daysBack = (count: number) => ({ from: isoDay(today() - count), to: isoDay(today()) });

  function flush(): Promise<boolean> {
    flushing ??= write().finally(() => {
      flushing = null;
    });
    return flushing;
  }

  async function write(): Promise<boolean> {
    try {
      if (sent !== null) await send(sent);
      if (counted.size === 0) return true;
      if (doubtful) await tallies.read([dayBook(isoDay(today()))]);
      doubtful = false;
      const batch = { id: randomUUID(), ...toBatch(counted), sinceMs: clock.monotonicMs() };
      counted = new Map();
      await send(batch);
      return true;
    } catch (error) {
      if (!doubtful) logger.warn({ err: error }, 'usage cannot be written; it is kept in memory');
      doubtful = true;
      return false;
    }
  }

  async function send(batch: Batch): Promise<void> {
    if (clock.monotonicMs() - batch.sinceMs > REPEATED_MS) {
      sent = null;
      logger.error(
        { counts: batch.adds.length },
        'a batch of usage is lost: the store was away for too long',
      );
      return;
    }
    sent = batch;
    await tallies.add(batch.id, batch.adds, batch.raises, KEPT_MS);
    sent = null;
  }

  async function read(from: string, to: string, team?: string): Promise<UsageDay[]> {
    const days = daysBetween(from, to);
    const places = team === undefined ? await placesOf(days) : days.map((day) => ({ day, team }));
    const found: UsageDay[] = [];
    for (let at = 0; at < places.length; at += BOOKS_AT_ONCE) {
      const some = places.slice(at, at + BOOKS_AT_ONCE);
      const books = await tallies.read(some.map((place) => teamBook(place.day, place.team)));
      for (const [index, place] of some.entries()) {
        const day = readDay(place.day, place.team, books[index] ?? new Map());
        if (day !== null) found.push(day);
      }
    }
    return found;
  }

  async function placesOf(days: readonly string[]): Promise<{ day: string; team: string }[]> {
    const books = await tallies.read(days.map(dayBook));
    return days.flatMap((day, index) =>
      [...(books[index]?.keys() ?? [])].sort().map((team) => ({ day, team })),
    );
  }

  return {
    add(team, counts) {
      const teams = entryOf(counted, isoDay(today()), () => new Map<string, Map<UsageField, number>>());
      const fields = entryOf(teams, team, () => new Map<UsageField, number>());
      for (const [field, by] of counts) fields.set(field, (fields.get(field) ?? 0) + by);
    },
    flush,
    read,
    async recent(team) {
      const { from, to } = daysBack(RECENT_DAYS - 1);
      try {
        return (await read(from, to, team)).map(({ team: _, ...day }) => day);
      } catch (error) {
        if (error instanceof StoreUnavailable) return null;
        throw error;
      }
    },
    daysBack,
    async close() {
      clearInterval(timer);
      // The one under way may have begun before the last count.
      await flushing;
      for (let left = CLOSE_TRIES; !(await flush()); left -= 1) {
        if (left === 1) return logger.error('usage since the store went away is lost');
        await sleep(CLOSE_WAIT_MS);
      }
    },
  };
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
