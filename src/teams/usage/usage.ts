/**
 * Usage per team and day: counted in memory, written in batches. A batch has an id of its own and is repeated with it
 * until the store has taken it, so that it counts once, whatever happens on the way.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { flushAtEnd, oneAtATime } from '../../lib/repeat.js';
import { startTicks, stopTicks } from '../../lib/time.js';
import { isoDay } from '../../reports/query/days.js';
import { type Counters, StoreUnavailable } from '../../store/port.js';
import { readLife, readUsage } from './read-usage.js';
import { createUsageBatches } from './usage-batches.js';
import { dayGroup, type UsageDay } from './usage-day.js';
import { createUsageTally, type UsageTally } from './usage-tally.js';

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
