/**
 * Brings what this process counted into its document, by compare-and-replace. A batch has a number, which is written into the
 * document with it: so one of unknown outcome is neither lost nor added twice.
 */
import type { Logger } from 'pino';
import type { Documents } from '../../store/port.js';
import { addBatch, type Batch, decodePage, EMPTY_PAGE, encodePage, type Page } from './page.js';
import { DAY_MS, type Place } from './places.js';

/** What one document is to be told: what waits, and at most one batch that was sent and is not known to have arrived. */
export interface Entry {
  readonly place: Place;
  waiting: Batch | null;
  sent: { readonly batch: Batch; readonly sequence: number } | null;
}

export interface SettleOptions {
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
export type Settle = (entry: Entry) => Promise<Page | 'foreign' | null>;

/** Others write the same at times; each time one of them gets through. */
const TRIES = 8;
const ASIDE_MS = 7 * DAY_MS;

export function createSettle({ documents, logger, writer, maxNames }: SettleOptions): Settle {
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
