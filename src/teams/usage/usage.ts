/**
 * Usage per team and day: counted in memory, written in batches. A batch has an id of its own and is repeated with it
 * until the store has taken it, so that it counts once, whatever happens on the way.
 */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { flushAtEnd, oneAtATime } from '../../lib/repeat.js';
import { startTicks, stopTicks } from '../../lib/time.js';
import { daysBetween, isoDay } from '../../reports/query/days.js';
import { type CounterAdd, type CounterRaise, type Counters, StoreUnavailable } from '../../store/port.js';
import { teamOfName } from '../team-life.js';
import { addDays, dayGroup, type Pending, readDay, teamGroup, toBatch, type UsageDay } from './usage-day.js';
import { createUsageTally, type UsageTally } from './usage-tally.js';

// Sends counts to the store in batches, each of them once: with its id it is repeated until the store has taken it.

/** Days are kept so long, for a year to be compared with the one before. */
const KEPT_MS = 800 * 86_400_000;
/** The store knows a batch for 10 minutes; later a repetition might count twice. */
const REPEATED_MS = 9 * 60_000;

interface UsageBatches {
  /** Sends once more what is not known to have arrived; nothing where all has. @throws StoreUnavailable */
  resend(): Promise<void>;
  /** Sends these counts; after a failure they wait for {@link resend}. @throws StoreUnavailable */
  send(counts: Pending): Promise<void>;
}

interface Batch {
  readonly id: string;
  readonly adds: readonly CounterAdd[];
  readonly raises: readonly CounterRaise[];
  /** Monotonic time of its first try. */
  readonly sinceMs: number;
}

function createUsageBatches(counters: Counters, clock: Clock, logger: Logger): UsageBatches {
  /** Sent, and not known to have arrived. */
  let sent: Batch | null = null;

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
    await counters.add(batch.id, batch.adds, batch.raises, KEPT_MS);
    sent = null;
  }

  return {
    async resend() {
      if (sent !== null) await send(sent);
    },
    send: (counts) => send({ id: randomId(), ...toBatch(counts), sinceMs: clock.monotonicMs() }),
  };
}

// Reads from the store what teams asked for.

/** A store answers one command within its time; a year of many teams is read in several. */
const GROUPS_AT_ONCE = 500;

/**
 * By day, then by team, all lives of it together; days without anything are left out.
 * @param from first day, `YYYY-MM-DD`; `to` is the last. @param team only this one
 * @throws StoreUnavailable
 */
async function readUsage(counters: Counters, from: string, to: string, team?: string): Promise<UsageDay[]> {
  const days = daysBetween(from, to);
  const groups = await counters.read(days.map(dayGroup));
  const places = days.flatMap((day, index) =>
    [...(groups[index]?.keys() ?? [])]
      .filter((name) => team === undefined || teamOfName(name) === team)
      .map((name) => ({ day, name })),
  );
  const found = new Map<string, UsageDay>();
  for (const one of await readPlaces(counters, places)) {
    const shown = { ...one, team: teamOfName(one.team) };
    const key = `${shown.day} ${shown.team}`;
    const before = found.get(key);
    found.set(key, before === undefined ? shown : addDays(before, shown));
  }
  return [...found.keys()].sort().map((key) => found.get(key) as UsageDay);
}

/** The same of one life of a team, by its name. @throws StoreUnavailable */
async function readLife(counters: Counters, from: string, to: string, name: string): Promise<UsageDay[]> {
  return readPlaces(
    counters,
    daysBetween(from, to).map((day) => ({ day, name })),
  );
}

async function readPlaces(
  counters: Counters,
  places: readonly { readonly day: string; readonly name: string }[],
): Promise<UsageDay[]> {
  const found: UsageDay[] = [];
  for (let at = 0; at < places.length; at += GROUPS_AT_ONCE) {
    const some = places.slice(at, at + GROUPS_AT_ONCE);
    const groups = await counters.read(some.map(({ day, name }) => teamGroup(day, name)));
    for (const [index, { day, name }] of some.entries()) {
      const one = readDay(day, name, groups[index] ?? new Map());
      if (one !== null) found.push(one);
    }
  }
  return found;
}

export interface Usage extends Pick<UsageTally, 'add' | 'addRequest'> {
  /** Writes what was counted so far. @returns whether the store took it all */
  flush(): Promise<boolean>;
  /**
   * What the store holds: by day, then by team, all lives of it together; days without anything are left out.
   * @param from first day, `YYYY-MM-DD`. @param team only this one
   * @throws StoreUnavailable
   */
  read(from: string, to: string, team?: string): Promise<UsageDay[]>;
  /** The last 30 days of a team's present life, newest last; null when the store is away. */
  recent(team: string): Promise<Omit<UsageDay, 'team'>[] | null>;
  /** Today by UTC, and the day so many days before. */
  daysBack(count: number): { readonly from: string; readonly to: string };
  /** Writes what is left, as long as the store takes it within a few seconds. */
  close(): Promise<void>;
}

export interface UsageOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A team in its present life: its id, and behind a colon what tells it from those that were deleted. Absent: the id. */
  readonly nameOf?: (team: string) => string;
  /** Time between two batches. */
  readonly everyMs?: number;
}

/** Contract: at most 5 s are lost when the process is killed; writing takes its time, too. */
const EVERY_MS = 2000;
/** As `/gateway/v1/me` shows them. */
const RECENT_DAYS = 30;
const CLOSE_TRIES = 5;

export function createUsage(options: UsageOptions): Usage {
  const { counters, clock, logger, nameOf = (team) => team } = options;
  const batches = createUsageBatches(counters, clock, logger);
  const tally = createUsageTally(clock, nameOf);
  /** After a failure, a batch is begun only when the store answers: what was sent can no longer be put together. */
  let doubtful = false;

  const today = () => Math.floor(clock.now() / 86_400_000);
  const daysBack = (count: number) => ({ from: isoDay(today() - count), to: isoDay(today()) });

  const flush = oneAtATime(async () => {
    try {
      await batches.resend();
      if (tally.isEmpty()) return true;
      if (doubtful) await counters.read([dayGroup(isoDay(today()))]);
      doubtful = false;
      await batches.send(tally.take());
      return true;
    } catch (error) {
      if (!doubtful) logger.warn({ err: error }, 'usage cannot be written; it is kept in memory');
      doubtful = true;
      return false;
    }
  });

  const timer = startTicks(() => void flush(), options.everyMs ?? EVERY_MS);
  timer.unref();

  return {
    add: tally.add,
    addRequest: tally.addRequest,
    flush,
    read: (from, to, team) => readUsage(counters, from, to, team),
    recent: (team) => recentOf(nameOf(team), counters, daysBack(RECENT_DAYS - 1)),
    daysBack,
    async close() {
      stopTicks(timer);
      if (!(await flushAtEnd(flush, CLOSE_TRIES))) logger.error('usage since the store went away is lost');
    },
  };
}

async function recentOf(
  /** In its present life. */
  team: string,
  counters: Counters,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<Omit<UsageDay, 'team'>[] | null> {
  try {
    return (await readLife(counters, from, to, team)).map(({ team: _, ...day }) => day);
  } catch (error) {
    if (error instanceof StoreUnavailable) return null;
    throw error;
  }
}
