/**
 * Advertisers and their names, as answers of the platform told them: noted behind the answer, gathered in memory, and added
 * now and then to what all replicas have seen, one document.
 */
import type { Logger } from 'pino';
import type { Purges } from '../cache/purges.js';
import { accountsAsked, type Erasures } from '../history/erasures.js';
import { repeat } from '../repeat.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { mergeDocument } from '../store/merge-document.js';
import type { Documents } from '../store/port.js';
import {
  type Book,
  bounded,
  decodeBook,
  encodeBook,
  merge,
  NO_BOOK,
  type SeenAdvertiser,
  type Source,
  without,
} from './book.js';
import { isAdvertiserId, namesIn, tellsNames } from './names-in.js';

export interface AdvertisersOptions {
  readonly documents: Documents;
  readonly accountFields: readonly string[];
  readonly purges: Pick<Purges, 'isPurged'>;
  readonly erasures: Pick<Erasures, 'isErased'>;
  readonly logger: Logger;
}

export interface Advertisers {
  /** Told of the rows of each answer that may be kept. */
  sighted(report: CanonicalReport, entries: readonly Entry<RowsHeader>[]): void;
  /** What all have seen, and this process. @throws StoreUnavailable */
  read(): Promise<Book>;
  /** Removes what was erased or purged from the store; it is shown no more before. @throws StoreUnavailable */
  removeGone(): Promise<void>;
  /** Writes down what was seen so far. Never rejects. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const KEY = 'advertisers';
const FLUSH_EVERY_MS = 10_000;
/** An advertiser that nobody asked for in so long is forgotten with the document. */
const KEPT_MS = 400 * 86_400_000;
/** When an advertiser was seen is kept this exactly: not every answer is a write to the store. */
const SEEN_TO_MS = 3_600_000;

export function createAdvertisers(options: AdvertisersOptions): Advertisers {
  const { documents, accountFields, logger } = options;
  const present = (book: Book) => without(book, isGoneBy(options));
  let waiting = NO_BOOK;
  /** As this process read or wrote it last. */
  let known = NO_BOOK;
  let flushing = Promise.resolve();
  const knownOf = (id: string) => present(pick(known, id)).get(id);

  async function add(seen: Book): Promise<void> {
    const all = await mergeDocument<Book>(documents, {
      ...{ key: KEY, ttlMs: KEPT_MS, decode: decodeBook, encode: encodeBook },
      add: (before) => bounded(present(merge(before ?? NO_BOOK, seen))),
    });
    if (all !== null) known = all;
  }

  async function write(): Promise<void> {
    const taken = waiting;
    if (taken.size === 0) return;
    waiting = NO_BOOK;
    try {
      await add(taken);
    } catch (error) {
      waiting = bounded(merge(taken, waiting));
      logger.debug({ err: error }, 'names of advertisers wait for the store');
    }
  }

  function flush(): Promise<void> {
    flushing = flushing.then(write);
    return flushing;
  }

  const flushes = repeat(FLUSH_EVERY_MS, flush);
  return {
    sighted(report, entries) {
      if (isKnown(entries, knownOf, accountFields)) return;
      const seen = present(bookOf(report, entries, accountFields));
      const news = new Map([...seen].filter(([id, one]) => isNews(one, knownOf(id))));
      if (news.size > 0) waiting = bounded(merge(waiting, news));
    },
    async read() {
      const text = await documents.get(KEY);
      known = (text === null ? null : decodeBook(text)) ?? NO_BOOK;
      return present(merge(known, waiting));
    },
    async removeGone() {
      const text = await documents.get(KEY);
      if (text !== null) await add(NO_BOOK);
    },
    flush,
    async close() {
      await flushes.stop();
      await flush();
    },
  };
}

/** Advertisers that rows name, and the one the report is of where it has rows. */
function bookOf(
  report: CanonicalReport,
  entries: readonly Entry<RowsHeader>[],
  accountFields: readonly string[],
): Book {
  const header = entries.find(({ header: { rowCount } }) => rowCount > 0)?.header;
  if (header === undefined) return NO_BOOK;
  const source: Source = { seq: header.seq, at: Math.floor(header.fetchStartedAt) };
  const named = namesIn(entries, accountFields);
  // Rows that name nobody are of those who were asked for; of several it cannot be told whose they are.
  const asked = named.size > 0 ? [] : accountsAsked(report).filter(isAdvertiserId);
  const ids = asked.length === 1 ? [[asked[0] as string, null] as const] : [...named];
  return new Map(
    ids.map(([id, text]) => [id, { seen: source, name: text === null ? null : { ...source, text } }]),
  );
}

/** Whether all that these rows can tell was told within the hour: then they are not read. */
function isKnown(
  entries: readonly Entry<RowsHeader>[],
  knownOf: (id: string) => SeenAdvertiser | undefined,
  accountFields: readonly string[],
): boolean {
  return entries.every(({ header: { accounts, columns, fetchStartedAt, rowCount } }) => {
    const needsName = tellsNames(columns, accountFields);
    const isFresh = (one: SeenAdvertiser | undefined) =>
      one !== undefined && fetchStartedAt - one.seen.at < SEEN_TO_MS && !(needsName && one.name === null);
    return rowCount === 0 || (accounts.length > 0 && accounts.every((id) => isFresh(knownOf(id))));
  });
}

function pick(book: Book, id: string): Book {
  const one = book.get(id);
  return one === undefined ? NO_BOOK : new Map([[id, one]]);
}

function isNews(one: SeenAdvertiser, before: SeenAdvertiser | undefined): boolean {
  if (before === undefined || one.seen.at - before.seen.at >= SEEN_TO_MS) return true;
  return one.name !== null && one.name.text !== before.name?.text;
}

/** A purge of all, or of an advertiser in all reports and on all days, forgets what was read of it. */
function isGoneBy({ purges, erasures }: AdvertisersOptions) {
  return (id: string, { seq, at }: Source): boolean =>
    purges.isPurged({
      ...{ seq, advertiserId: id, named: [], held: [id] },
      // Of no report, and on no day: a purge of some reports or days leaves the name.
      ...{ endpoint: '', from: '9999-12-31', to: '0000-01-01' },
    }) || erasures.isErased({ seq, fetchedFrom: at, asked: [id], held: [id], rowCount: 1 });
}
