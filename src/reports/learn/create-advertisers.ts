/**
 * Advertisers and their names, as answers of the platform told them: noted behind the answer, gathered in memory, and added
 * now and then to what all replicas have seen, one document.
 */
import type { Logger } from 'pino';
import { mergeDocument } from '../../store/merge-document.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import type { Purges } from '../cache/purges.js';
import { accountsAsked, type Erasures } from '../history/erasures.js';
import type { Report } from '../query/canonicalize.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
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

export type Advertisers = ReturnType<typeof createAdvertisers>;

const KEY = 'advertisers';
const FLUSH_EVERY_MS = 10_000;
/** An advertiser that nobody asked for in so long is forgotten with the document. */
const KEPT_MS = 400 * 86_400_000;
/** When an advertiser was seen is kept this exactly: not every answer is a write to the store. */
const SEEN_TO_MS = 3_600_000;

export function createAdvertisers(options: AdvertisersOptions) {
  const { documents, accountFields, logger } = options;
  const present = (book: Book) => without(book, isGoneBy(options));
  const form = { key: KEY, ttlMs: KEPT_MS, decode: decodeBook, encode: encodeBook };
  const tallies = createSharedTallies<string, Book>({
    ...{ ...form, documents, everyMs: FLUSH_EVERY_MS, none: NO_BOOK },
    documentOf: (key) => key,
    merge: (one, other) => bounded(merge(one, other)),
    keep: present,
    onAway: (error) => logger.debug({ err: error }, 'names of advertisers wait for the store'),
  });
  const knownOf = (id: string) => present(pick(tallies.known(KEY) ?? NO_BOOK, id)).get(id);

  return {
    /** Told of the rows of each answer that may be kept. */
    observed(report: Report, entries: readonly Entry<RowsHeader>[]): void {
      if (isKnown(entries, knownOf, accountFields)) return;
      const seen = present(bookOf(report, entries, accountFields));
      const news = new Map([...seen].filter(([id, one]) => isNews(one, knownOf(id))));
      if (news.size > 0) tallies.add(KEY, news);
    },
    /** What all have seen, and this process. @throws StoreUnavailable */
    read: async (): Promise<Book> => present(await tallies.read(KEY)),
    /** Removes what was erased or purged from the store; it is shown no more before. @throws StoreUnavailable */
    async removeGone(): Promise<void> {
      if ((await documents.get(KEY)) === null) return;
      await mergeDocument<Book>(documents, { ...form, add: (all) => present(all ?? NO_BOOK) });
    },
    flush: tallies.flush,
    close: tallies.close,
  };
}

/** Advertisers that rows name, and the one the report is of where it has rows. */
function bookOf(
  report: Report,
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
