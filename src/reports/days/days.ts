/** The days of reports: read for plain reports and for history, written after a fetch, marked. */
import type { Logger } from 'pino';
import { uptimeMs, wallMs } from '../../lib/time.js';
import { countedOrder, type DaysStore, type MonthPlace } from '../../store/days-port.js';
import type { Revisions } from '../history/revision.js';
import type { Counted, Counts, judge } from '../learn/evidence.js';
import { dayOf, type OpenMonth, revisionsOf } from './note-fetch.js';
import { createOpenMonths, type MonthChange } from './open-months.js';
import type { PartDay } from './part.js';
import { byMonth, createReadStates, createShowDays } from './read-days.js';
import { createUses } from './uses.js';
import { createWriteMonth } from './write-months.js';

export interface DaysOptions {
  readonly store: DaysStore;
  /** Parts as bytes. */
  readonly encode: (days: readonly PartDay[]) => Promise<Buffer>;
  readonly now: () => number;
  /** Told of the clock of a store on another machine: by how much it is ahead of `wallMs()`. */
  readonly onClock?: (aheadMs: number) => void;
  /** Called for stored bytes that cannot be read. */
  readonly onDamaged: () => void;
  readonly logger: Logger;
}

/** Returns the same list if nothing is to be marked. */
type Mark = (revisions: Revisions, date: string) => Revisions;

/** @param counted of the day so far */
type Judge = (counted: Counted | undefined, date: string) => ReturnType<typeof judge>;
const NO_NEWS: ReturnType<Judge> = { counted: undefined, verdicts: [] };

export type Days = ReturnType<typeof createDays>;

export function createDays({ store, encode, now, onClock, onDamaged, logger }: DaysOptions) {
  const months = createOpenMonths(({ month }) => {
    onDamaged();
    logger.warn({ month }, 'ignored damaged stored days');
  });
  const write = createWriteMonth({ store, months, encode, now });
  const uses = createUses({ store, now, logger });
  const reading = { store, months, now, onDamaged, noteUse: uses.note, logger };
  async function change(series: string, dates: readonly string[], step: Step): Promise<void> {
    const changes = byMonth(dates).map(([month, some]) => changeOf({ series, month }, some, step));
    await Promise.all(changes.map(write));
  }
  return {
    store,
    months,
    write,
    encode,
    now,
    close: uses.close,
    ...createOrders(store, onClock),
    ...createShowDays(reading),
    ...createReadStates(reading),
    /**
     * Marks revisions of days without changing their rows.
     * @returns dates that were marked. @throws StoreUnavailable, LostToOthers
     */
    async mark(series: string, dates: readonly string[], mark: Mark): Promise<ReadonlySet<string>> {
      const marked = new Set<string>();
      await change(series, dates, (month, date) =>
        withMarkedDay(month, dayOf(date), (revisions) => {
          const after = mark(revisions, date);
          if (after !== revisions) marked.add(date);
          return after;
        }),
      );
      return marked;
    },
    /**
     * Notes verdicts in the lines of stored days.
     * @returns what is new in them. @throws StoreUnavailable, LostToOthers
     */
    async count(series: string, dates: readonly string[], judge: Judge): Promise<Counts> {
      const counts = new Map<string, Counts>();
      await change(series, dates, (month, date) => {
        const known = month.days.get(dayOf(date));
        const { counted, verdicts } = known === undefined ? NO_NEWS : judge(known.counted, date);
        // What the last attempt at the write found.
        counts.set(date, verdicts);
        if (known === undefined || verdicts.length === 0) return month;
        return { ...month, days: new Map(month.days).set(dayOf(date), { ...known, counted }) };
      });
      return [...counts.values()].flat();
    },
  };
}

const US_PER_MS = 1000;
/** Answers of the store that come later say too little of its clock. */
const MEASURABLE_MS = 500;

/** Orders of fetches, by the clock of the store as the last claim told it. Before the first claim it is that of this process. */
function createOrders(store: Pick<DaysStore, 'claim'>, onClock: DaysOptions['onClock']) {
  let [aheadUs, last] = [0, 0];
  const clockUs = () => Math.floor(wallMs() * US_PER_MS + aheadUs);
  const claim = (async (series, wanted) => {
    const sentMs = uptimeMs();
    const claimed = await store.claim(series, wanted);
    aheadUs = claimed.clockUs - wallMs() * US_PER_MS;
    // The time on the way would count as a difference of the clocks.
    if (uptimeMs() - sentMs < MEASURABLE_MS) onClock?.(aheadUs / US_PER_MS);
    last = Math.max(last, claimed.order);
    return claimed;
  }) satisfies DaysStore['claim'];
  return {
    /** The clock of the store now. */
    clockUs,
    claim,
    /** Compares the clocks without a fetch: a process may serve hits for long. @throws StoreUnavailable */
    async compareClocks(): Promise<void> {
      await claim('clock', { owner: 'nobody', names: [], leaseMs: 1, known: [] });
    },
    /** For a fetch without a claim. Larger than all that this process knows. */
    nextOrder(): number {
      last = Math.max(countedOrder(last, clockUs()) + 1, clockUs());
      return last;
    },
  };
}

/** Changes a day of a month; the same month: there is nothing to write. */
type Step = (month: OpenMonth, date: string) => OpenMonth;

function changeOf(place: MonthPlace, dates: readonly string[], step: Step): MonthChange {
  return {
    place,
    days: dates.map(dayOf),
    ttlMs: 0,
    order: 0,
    apply: (month) => ({ month: dates.reduce(step, month), days: [], parts: new Map() }),
  };
}

/**
 * A day with marked revisions. @param mark returns the same list if nothing is to be marked
 * @returns the same month then
 */
export function withMarkedDay(
  month: OpenMonth,
  day: number,
  mark: (revisions: Revisions) => Revisions,
): OpenMonth {
  const known = month.days.get(day);
  const revisions = revisionsOf(month, day);
  const after = mark(revisions);
  if (known === undefined || after === revisions) return month;
  const former = after.slice(0, -1);
  const latest = after.at(-1) ?? null;
  const days = new Map(month.days).set(day, { ...known, latest, earlier: former.length });
  // A list that did not change is not written, which needs room.
  const isSame = former.every((one, at) => one === revisions[at]) && former.length === revisions.length - 1;
  return isSame ? { ...month, days } : { ...month, days, before: new Map(month.before).set(day, former) };
}
