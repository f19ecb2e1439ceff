/** Reads the feed of changes for one reader: what its filter takes, and its team may see. */
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { turn, uptimeMs } from '../../lib/time.js';
import { type Changes, FEED_START, type FeedEntry, type FeedPage } from '../../store/changes-port.js';
import { type Bus, type Documents, whenAway } from '../../store/port.js';
import { type DaysEntry, isOfOther } from './entry.js';
import { latestChanges } from './latest.js';
import {
  createMessages,
  type MadeEntry,
  type MakeOptions,
  type Message,
  shownSeries,
  sizeOf,
} from './messages.js';
import { ALL, isOf, type Offset, offsetAfter, writeOffset } from './offset.js';
import { FeedTail } from './tail.js';
import { VOIDING_DOCUMENT } from './tell-kinds.js';

/** Null: any. */
export interface FeedFilter {
  readonly endpoint: string | null;
  readonly advertisers: readonly string[] | null;
  /** `date,campaign` */
  readonly split: string | null;
  /** The first 22 characters of its id. */
  readonly series: string | null;
}

export interface FeedReader {
  readonly team: string;
  readonly filter: FeedFilter;
  readonly withRows: boolean;
  /** Whether the team may see these accounts now; null: of a report that names none. */
  readonly maySee: (accounts: readonly string[] | null) => boolean;
  /** Equal for readers that see the same: of the filter, the team's list, and `withRows`. */
  readonly view: string;
}

export interface FeedBatch {
  /** A JSON array. */
  readonly body: string;
  readonly count: number;
  readonly next: Offset;
  /** There was nothing after it. */
  readonly isUpToDate: boolean;
  /** Of the oldest entry that is kept, or the begin of the feed; epoch milliseconds. */
  readonly sinceMs: number;
}

const MESSAGES_MAX = 1000;
const BODY_BYTES = 1_048_576;
/** Changes that a narrow filter looks at in one answer. */
const LOOKED_MAX = 20_000;
const PAGE = 500;
/** Rows that are read together. */
const ROWS_AT_ONCE = 50;
const SHARED_BYTES = 8_388_608;

export type Feed = ReturnType<typeof createFeed>;

export function createFeed(
  options: MakeOptions & {
    readonly changes: Changes;
    readonly documents: Pick<Documents, 'get'>;
    readonly bus: Pick<Bus, 'subscribe'>;
    readonly logger: Logger;
  },
) {
  const { changes } = options;
  const { open, rowsOf } = createMessages(options);
  const tail = new FeedTail({ ...options, open });
  const compose = createCompose(rowsOf);
  /** Answers from the tail: many readers see the same. */
  const shared = new LRUCache<string, Omit<FeedBatch, 'sinceMs'>>({
    maxSize: SHARED_BYTES,
    sizeCalculation: ({ body }) => body.length + 1,
  });
  return {
    /**
     * @param limit of messages
     * @throws GatewayError `cursor_too_old`; StoreUnavailable
     */
    async read(reader: FeedReader, from: '-1' | Offset, limit = MESSAGES_MAX): Promise<FeedBatch> {
      const found = await look(changes, open, reader, from, limit);
      return { ...(await compose(reader, found)), sinceMs: found.sinceMs };
    },
    /** As {@link read}, as the tail of this process knows the feed; null: it does not reach back so far. */
    async readTail(reader: FeedReader, from: Offset): Promise<FeedBatch | null> {
      const found = from.count === ALL ? tail.after(from) : null;
      if (found === null) return null;
      const { entries, sinceMs } = found;
      const version = options.erasures.version();
      const name = `${reader.view} ${writeOffset(from)} ${entries.at(-1)?.position} ${version}`;
      let batch = shared.get(name);
      if (batch === undefined) {
        batch = await compose(reader, await lookThrough(reader, from, entries, async ({ made }) => made));
        shared.set(name, batch);
      }
      return { ...batch, sinceMs };
    },
    /** The end of the feed. @throws StoreUnavailable */
    async newest(): Promise<Pick<FeedBatch, 'next' | 'sinceMs'>> {
      const { incarnation, entries, oldestMs } = await changes.newest();
      return { next: offsetAfter(incarnation, entries[0] ?? null), sinceMs: oldestMs };
    },
    /** Changes with each erasure: messages of erased days lose their totals and rows. */
    erased: (): number => options.erasures.version(),
    voiding: createVoiding(options.documents),
    /** The last changes of known numbers, for operators. @throws StoreUnavailable */
    latest: (limit: number) => latestChanges(changes, open, limit),
    tail,
  };
}

const VOIDING_MS = 1000;

/** @returns the reports whose days are being voided just now, for people; null: none. As of a second ago */
function createVoiding(documents: Pick<Documents, 'get'>): () => Promise<string | null> {
  let [text, readMs]: [string | null, number] = [null, Number.NEGATIVE_INFINITY];
  return async () => {
    if (uptimeMs() - readMs < VOIDING_MS) return text;
    readMs = uptimeMs();
    text = await documents.get(VOIDING_DOCUMENT).catch(whenAway(() => null));
    return text;
  };
}

/** A message, and the offset after it. */
interface FoundMessage {
  readonly message: Message;
  readonly after: Offset;
}

interface Found extends Pick<FeedBatch, 'next' | 'isUpToDate'> {
  readonly messages: readonly FoundMessage[];
  /** Changes that were looked at. */
  readonly looked: number;
}

type Open = (text: string) => Promise<MadeEntry>;

/** Of a series that the filter leaves out: its report is not read. */
const OTHER: MadeEntry = { entry: null, report: null, messages: async () => [] };

/** Goes on where the reader is, to the end or a limit. */
async function look(
  changes: Pick<Changes, 'read'>,
  open: Open,
  reader: FeedReader,
  from: '-1' | Offset,
  limit: number,
): Promise<Found & Pick<FeedBatch, 'sinceMs'>> {
  let page = await changes.read(from === '-1' ? FEED_START : from.position, PAGE);
  const sinceMs = page.oldestMs;
  let entries = from === '-1' ? page.entries : entriesAfter(page, from);
  let at = from === '-1' ? offsetAfter(page.incarnation, null) : from;
  const messages: FoundMessage[] = [];
  const { series } = reader.filter;
  const openOne = async ({ text }: FeedEntry) =>
    series !== null && isOfOther(text, series) ? OTHER : await open(text);
  for (let looked = 0; ; ) {
    const found = await lookThrough(reader, at, entries, openOne, limit - messages.length);
    messages.push(...found.messages);
    looked += found.looked;
    const isEnd = page.entries.length < PAGE;
    if (isEnd || !found.isUpToDate || looked >= LOOKED_MAX || messages.length >= limit)
      return { messages, looked, next: found.next, isUpToDate: found.isUpToDate && isEnd, sinceMs };
    at = found.next;
    // Others go first.
    await turn();
    page = await changes.read(at.position, PAGE);
    entries = entriesAfter(page, at);
  }
}

/** @throws GatewayError `cursor_too_old` unless the entry of the offset is still the same */
function entriesAfter(page: FeedPage, from: Offset): readonly FeedEntry[] {
  const { entries, incarnation, trimmed } = page;
  const isFirst = from.position === FEED_START;
  const isKept = isFirst ? trimmed === FEED_START : isOf(from, entries[0]);
  if (incarnation !== from.incarnation || !isKept) throw new GatewayError('cursor_too_old');
  return isFirst || from.count < ALL ? entries : entries.slice(1);
}

/** @param at before the entries, or inside the first one. `isUpToDate`: all of them were looked at */
async function lookThrough<E extends FeedEntry>(
  reader: FeedReader,
  at: Offset,
  entries: readonly E[],
  open: (entry: E) => Promise<MadeEntry>,
  limit = MESSAGES_MAX,
): Promise<Found> {
  const messages: FoundMessage[] = [];
  let [next, looked] = [at, 0];
  for (const entry of entries) {
    const made = await open(entry);
    looked += sizeOf(made);
    const all = takes(reader, made) ? await made.messages() : [];
    let place = next.count < ALL && isOf(next, entry) ? next.count : 0;
    for (; place < all.length && messages.length < limit; place += 1) {
      const message = shownTo(reader, made, all[place] as Message);
      if (message === null) continue;
      const count = place + 1 === all.length ? ALL : place + 1;
      messages.push({ message, after: offsetAfter(at.incarnation, entry, count) });
    }
    if (place < all.length)
      return { messages, looked, next: offsetAfter(at.incarnation, entry, place), isUpToDate: false };
    next = offsetAfter(at.incarnation, entry);
  }
  return { messages, looked, next, isUpToDate: true };
}

/** @returns null: its team may not see it */
function shownTo(reader: FeedReader, { entry }: MadeEntry, message: Message): Message | null {
  const { accounts, old } = message;
  if (entry?.type === 'grants') return message;
  if (!reader.maySee(accounts)) return null;
  return old === null || reader.maySee(old.accounts) ? message : { ...message, tail: old.tailWithout };
}

/** Whether an entry may have messages for a reader: judged by its report alone. */
export function takes({ filter, team }: Pick<FeedReader, 'filter' | 'team'>, made: MadeEntry): boolean {
  const { entry, report } = made;
  if (entry === null) return false;
  if (entry.type === 'grants') return entry.team === team;
  const { endpoint, advertisers, split, series } = filter;
  if (series !== null && !isOfSeries(entry, series)) return false;
  // Of a month that is gone the series alone is known.
  if (report === null)
    return series !== null || (endpoint === null && advertisers === null && split === null);
  return (
    (endpoint === null || report.endpoint === endpoint) &&
    (split === null || report.split.join(',') === split) &&
    (advertisers === null || (report.account !== null && advertisers.includes(report.account)))
  );
}

const isOfSeries = (entry: DaysEntry, series: string) => shownSeries(entry.series) === series;

/** Composes an answer, with rows for readers that want them, up to its limit of bytes. At least one message. */
function createCompose(rowsOf: MessageRows) {
  return async (
    { withRows }: FeedReader,
    { messages, next, isUpToDate }: Found,
  ): Promise<Omit<FeedBatch, 'sinceMs'>> => {
    const last = new Map(messages.map(({ message }, at) => [message.key, at]));
    const texts: string[] = [];
    let bytes = 0;
    for (let from = 0; from < messages.length; from += ROWS_AT_ONCE) {
      const some = messages.slice(from, from + ROWS_AT_ONCE);
      const rows = withRows
        ? await rowsOf(
            some.map(({ message }, n) => (last.get(message.key) === from + n ? message.rows : null)),
          )
        : [];
      for (const [n, { message }] of some.entries()) {
        const text = withRows ? textWithRows(message, rows[n] ?? null) : message.head + message.tail;
        bytes += Buffer.byteLength(text) + 1;
        if (bytes > BODY_BYTES && texts.length > 0)
          return answerOf(texts, (messages[texts.length - 1] as FoundMessage).after, false);
        texts.push(text);
      }
    }
    return answerOf(texts, next, isUpToDate);
  };
}

type MessageRows = ReturnType<typeof createMessages>['rowsOf'];

const answerOf = (texts: readonly string[], next: Offset, isUpToDate: boolean) => ({
  body: `[${texts.join()}]`,
  count: texts.length,
  next,
  isUpToDate,
});

/** @param rows null: they can no longer be read, or a newer message of the answer replaces them */
function textWithRows({ head, tail, hasValue }: Message, rows: string | null): string {
  if (!hasValue) return head + tail;
  return `${head},${rows === null ? '"superseded":true' : `"rows":${rows}`}${tail}`;
}
