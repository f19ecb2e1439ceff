/** What this process counted and the store does not surely have, by the document it belongs to. */
import type { Logger } from 'pino';
import { randomBuffer } from '../../lib/chance.js';
import { type Documents, StoreUnavailable } from '../../store/port.js';
import { addBatch, type Batch, decodePage, EMPTY_PAGE, encodePage, mergedCells, type Page } from './page.js';
import { ALL, DAY_MS, type Place } from './places.js';

// Brings what this process counted into its document, by compare-and-replace. A batch has a number, which is written into the
// document with it: so one of unknown outcome is neither lost nor added twice.

/** What one document is to be told: what waits, and at most one batch that was sent and is not known to have arrived. */
interface Entry {
  readonly place: Place;
  waiting: Batch | null;
  sent: { readonly batch: Batch; readonly sequence: number } | null;
}

interface SettleOptions {
  readonly documents: Documents;
  readonly logger: Logger;
  /** Of this process alone; letters and digits. */
  readonly writer: string;
  /** Further teams of a page are left out. */
  readonly maxNames: number;
}

/**
 * @returns the page with all that waited; null where others were always quicker; `foreign` where another release has
 * written it, and what waited is given up
 * @throws StoreUnavailable
 */
type Settle = (entry: Entry) => Promise<Page | 'foreign' | null>;

/** Others write the same at times; each time one of them gets through. */
const TRIES = 8;
const ASIDE_MS = 7 * DAY_MS;

function createSettle({ documents, logger, writer, maxNames }: SettleOptions): Settle {
  let sequence = 0;

  async function usable(key: string, text: string): Promise<Page | 'foreign'> {
    const page = decodePage(text);
    if (page !== 'damaged') return page;
    logger.error({ document: key }, 'a document of the series is damaged; it is set aside and begun anew');
    // For people; what is counted does not wait for it.
    await documents.create(`${key}:damaged`, text, ASIDE_MS).catch(() => null);
    return EMPTY_PAGE;
  }

  return async (entry) => {
    const { key, ttlMs } = entry.place;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const text = await documents.get(key);
      const page = text === null ? EMPTY_PAGE : await usable(key, text);
      if (page === 'foreign') {
        logger.warn({ document: key }, 'a document of the series is of another release and is left as it is');
        entry.sent = entry.waiting = null;
        return page;
      }
      if (entry.sent !== null && (page.writers.get(writer) ?? 0) >= entry.sent.sequence) entry.sent = null;
      if (entry.sent === null) {
        if (entry.waiting === null) return page;
        sequence += 1;
        entry.sent = { batch: entry.waiting, sequence };
        entry.waiting = null;
      }
      const after = addBatch(page, entry.sent.batch, writer, entry.sent.sequence, maxNames);
      if (!(await swap(documents, key, text, encodePage(after), ttlMs))) continue;
      entry.sent = null;
      if (entry.waiting === null) return after;
    }
    return null;
  };
}

async function swap(
  documents: Documents,
  key: string,
  before: string | null,
  after: string,
  ttlMs: number,
): Promise<boolean> {
  if (before === null) return (await documents.create(key, after, ttlMs)) === null;
  return await documents.replace(key, before, after, ttlMs);
}

export interface Outbox {
  add(batches: ReadonlyMap<Place, Batch>): void;
  isEmpty(): boolean;
  /** Writes what it can. @returns whether nothing is left. Never rejects; not to be called while one is under way */
  flush(): Promise<boolean>;
  /** What is not in a page of the store yet. @param page as it was read */
  missing(key: string, page: Page): readonly Batch[];
}

/** A team beyond them is counted with all of them, and has no series of its own that day. */
const MAX_TEAMS = 200;
/** While the store is away: some days of it. */
const MAX_DOCUMENTS = 1000;
const AT_ONCE = 16;

interface OutboxOptions {
  readonly documents: Documents;
  readonly logger: Logger;
  /** Of this process alone; letters and digits. Made up when not given. */
  readonly writer?: string;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { documents, logger, writer = randomBuffer(5).toString('hex') } = options;
  const settle = createSettle({ documents, logger, writer, maxNames: MAX_TEAMS });
  const entries = new Map<string, Entry>();
  const admitted = createAdmitted();
  let isFull = false;

  async function settleOne(entry: Entry): Promise<void> {
    const page = await settle(entry);
    if (page !== null) admitted.note(entry.place, page);
    if (entry.sent === null && entry.waiting === null) entries.delete(entry.place.key);
  }

  async function write(): Promise<void> {
    const all = [...entries.values()];
    const first = all.filter(({ place: { ofDay } }) => ofDay === null || ofDay.team === ALL);
    // Who is admitted is known when the names that wait are written.
    for (const { place } of first) admitted.forget(place);
    await inTurns(first, settleOne);
    for (const { place } of all) {
      if (admitted.has(place) !== false) continue;
      entries.delete(place.key);
      admitted.sayOnce(place, logger);
    }
    const isNext = (entry: Entry) => entries.get(entry.place.key) === entry && admitted.has(entry.place);
    await inTurns(all.filter(isNext), settleOne);
    if (entries.size === 0) admitted.prune();
  }

  return {
    add(batches) {
      for (const [place, batch] of batches) {
        const entry = entries.get(place.key) ?? { place, waiting: null, sent: null };
        entry.waiting = entry.waiting === null ? batch : joined(entry.waiting, batch);
        entries.set(place.key, entry);
      }
      const tooMany = [...entries.keys()].slice(0, -MAX_DOCUMENTS);
      for (const key of tooMany) entries.delete(key);
      if (tooMany.length > 0 && !isFull)
        logger.warn('the store is away for too long: the oldest counts of the series are lost');
      isFull = tooMany.length > 0;
    },
    isEmpty: () => entries.size === 0,
    async flush() {
      try {
        await write();
      } catch (error) {
        const level = error instanceof StoreUnavailable ? 'debug' : 'error';
        logger[level]({ err: error }, 'the series cannot be written; what was counted waits');
      }
      return entries.size === 0;
    },
    missing(key, page) {
      const entry = entries.get(key);
      if (entry === undefined) return [];
      const { sent, waiting } = entry;
      const isThere = sent !== null && (page.writers.get(writer) ?? 0) >= sent.sequence;
      return [isThere ? null : (sent?.batch ?? null), waiting].filter((batch) => batch !== null);
    },
  };
}

/** The teams that have a series of their own, by the day. */
function createAdmitted() {
  /** Null: all of them. */
  const days = new Map<string, ReadonlySet<string> | null>();
  let saidOf = '';
  return {
    note({ ofDay }: Place, page: Page | 'foreign'): void {
      if (ofDay?.team === ALL) days.set(ofDay.day, page === 'foreign' ? null : new Set(page.names));
    },
    forget({ ofDay }: Place): void {
      if (ofDay !== null) days.delete(ofDay.day);
    },
    /** @returns null where that is not known yet */
    has({ ofDay }: Place): boolean | null {
      if (ofDay === null || ofDay.team === ALL) return true;
      const teams = days.get(ofDay.day);
      return teams === undefined ? null : teams === null || teams.has(ofDay.team);
    },
    prune(): void {
      for (const day of [...days.keys()].slice(0, -2)) days.delete(day);
    },
    sayOnce({ ofDay }: Place, logger: Logger): void {
      const day = ofDay?.day ?? '';
      if (day !== saidOf)
        logger.warn(`more than ${MAX_TEAMS} teams asked on ${day}: further ones have no series of their own`);
      saidOf = day;
    },
  };
}

/** @throws what the first that failed was rejected with, when those beside it have ended */
async function inTurns(all: readonly Entry[], settleOne: (entry: Entry) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const ended = await Promise.allSettled(all.slice(at, at + AT_ONCE).map(settleOne));
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  }
}

function joined(one: Batch, other: Batch): Batch {
  return {
    cells: mergedCells([one.cells, other.cells]),
    names: new Set([...one.names, ...other.names]),
  };
}
