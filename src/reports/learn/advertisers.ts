/** Advertisers and their names, collected from platform answers in the background, in a document shared by all replicas. */
import type { Logger } from 'pino';
import Type from 'typebox';
import { plainName } from '../../lib/near-name.js';
import { recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies, mergeDocument } from '../../store/shared-tallies.js';
import type { Purges } from '../cache/purges.js';
import { type Erasures, requestedAccounts } from '../history/erasures.js';
import type { Report } from '../query/canonicalize.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../rows/entry.js';

/** Limit; those seen last are kept. With the longest names they fit a document of the store. */
export const MAX_ADVERTISERS = 2500;

/** The answer that is the source; a later purge or erasure invalidates it. */
interface Source {
  /** The newest purge known before the fetch. */
  readonly seq: number;
  /** Start of the fetch, epoch milliseconds. */
  readonly at: number;
}

/** One advertiser; its name may come from an older answer. */
interface SeenAdvertiser {
  readonly seen: Source;
  readonly name: (Source & { readonly text: string }) | null;
}

/** By id. */
export type KnownAdvertisers = ReadonlyMap<string, SeenAdvertiser>;

export const NO_ADVERTISERS: KnownAdvertisers = new Map();

/** Commutative, associative and idempotent. */
export function merge(left: KnownAdvertisers, right: KnownAdvertisers): KnownAdvertisers {
  const all = new Map(left);
  for (const [id, one] of right) {
    const other = all.get(id);
    all.set(id, other === undefined ? one : both(other, one));
  }
  return all;
}

function both(left: SeenAdvertiser, right: SeenAdvertiser): SeenAdvertiser {
  return {
    seen: isLater(right.seen, left.seen) ? right.seen : left.seen,
    name:
      left.name === null || (right.name !== null && isLater(right.name, left.name)) ? right.name : left.name,
  };
}

function isLater(one: Source & { text?: string }, other: Source & { text?: string }): boolean {
  if (one.at !== other.at) return one.at > other.at;
  return one.seq === other.seq ? (one.text ?? '') > (other.text ?? '') : one.seq > other.seq;
}

/** Drops purged and erased data. */
export function without(
  book: KnownAdvertisers,
  isGone: (id: string, source: Source) => boolean,
): KnownAdvertisers {
  const kept = new Map<string, SeenAdvertiser>();
  for (const [id, { seen, name }] of book) {
    if (isGone(id, seen)) continue;
    kept.set(id, { seen, name: name === null || isGone(id, name) ? null : name });
  }
  return kept;
}

/** The {@link MAX_ADVERTISERS} seen last. */
export function bounded(book: KnownAdvertisers): KnownAdvertisers {
  if (book.size <= MAX_ADVERTISERS) return book;
  const all = [...book].sort(([a, left], [b, right]) => right.seen.at - left.seen.at || (a < b ? -1 : 1));
  return new Map(all.slice(0, MAX_ADVERTISERS));
}

const AdvertisersForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Id, time and purge when last seen; name, and the same of the name. */
    advertisers: Type.Array(
      Type.Tuple([
        Type.String(),
        Type.Integer(),
        Type.Integer(),
        Type.Union([Type.String(), Type.Null()]),
        Type.Integer(),
        Type.Integer(),
      ]),
    ),
  }),
);

/** @returns null for documents of another release */
export function decodeAdvertisers(text: string): KnownAdvertisers | null {
  const all = AdvertisersForm.parse(text);
  if (all === null) return null;
  return new Map(
    all.advertisers.map(([id, at, seq, text, nameAt, nameSeq]) => [
      id,
      { seen: { at, seq }, name: text === null ? null : { text, at: nameAt, seq: nameSeq } },
    ]),
  );
}

/** The same text for the same book. */
export function encodeAdvertisers(book: KnownAdvertisers): string {
  const advertisers = [...book]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { seen, name }]) => [
      ...[id, seen.at, seen.seq],
      ...[name?.text ?? null, name?.at ?? 0, name?.seq ?? 0],
    ]);
  return JSON.stringify({ form: 1, advertisers });
}

/** Limit of a name in UTF-16 units. */
export const MAX_NAME = 200;
/** Limit of bytes read per answer: rows are read on the main thread. */
const MAX_BYTES = 262_144;

/**
 * @param accountFields members with the id by which teams are limited
 * @returns ids with the last name next to them in a row, or null
 */
export function namesIn(
  entries: readonly Entry<RowsHeader>[],
  accountFields: readonly string[],
): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  let leftBytes = MAX_BYTES;
  for (const { header, body } of entries.toReversed()) {
    const { accounts, columns, rowCount } = header;
    const members = membersOf(columns, accountFields);
    if (members.length === 0 || rowCount === 0) continue;
    // Earlier rows of an account tell nothing more.
    const name = accounts.length === 1 ? found.get(accounts[0] as string) : undefined;
    if (name !== undefined && (name !== null || !members.some(tellsName))) continue;
    const rows = rowsWithin(body, leftBytes);
    const own = new Map<string, string | null>();
    if (accounts.length === 1) readLast(rows, members, own);
    else for (const row of rows) readRow(row, members, own);
    for (const [id, text] of own) found.set(id, found.get(id) ?? text);
    leftBytes -= body.length;
    if (leftBytes <= 0) break;
  }
  return found;
}

/** Of rows of one account: from the last one to one that tells all there is, which usually is the last. */
function readLast(
  rows: readonly string[],
  members: readonly Members[],
  found: Map<string, string | null>,
): void {
  const isNamed = members.some(tellsName);
  const last = new Map<string, string | null>();
  for (const row of rows.toReversed()) {
    const own = new Map<string, string | null>();
    readRow(row, members, own);
    for (const [id, name] of own) last.set(id, last.get(id) ?? name);
    if (last.size > 0 && (!isNamed || [...last.values()].every((name) => name !== null))) break;
  }
  for (const [id, name] of last) found.set(id, name ?? found.get(id) ?? null);
}

/** Whether rows with such a member can have an advertiser's name. */
const tellsName = ({ name, isBoth }: Members) => isBoth || name !== null;

/** Members of a row about an advertiser: the id and maybe the name, or an object with both. */
interface Members {
  readonly id: string;
  readonly name: string | null;
  readonly isBoth: boolean;
}

function membersOf(columns: readonly string[], accountFields: readonly string[]): Members[] {
  const plain = columns.map(plainName);
  const columnOf = (name: string) => columns[plain.indexOf(name)] ?? null;
  return accountFields.flatMap((field) => {
    const name = plainName(field);
    const stem = name.replace(/id$/, '');
    const id = columnOf(name);
    const whole = stem === name ? null : columnOf(stem);
    return [
      ...(id === null ? [] : [{ id, name: columnOf(`${stem}name`), isBoth: false }]),
      ...(whole === null ? [] : [{ id: whole, name: null, isBoth: true }]),
    ];
  });
}

/** Whole rows within the first `bytes` bytes. */
function rowsWithin(body: Buffer, bytes: number): readonly string[] {
  if (body.length <= bytes) return body.toString().split(ROW_SEPARATOR);
  const end = body.lastIndexOf(ROW_SEPARATOR, bytes);
  return end <= 0 ? [] : body.toString('utf8', 0, end).split(ROW_SEPARATOR);
}

function readRow(text: string, members: readonly Members[], found: Map<string, string | null>): void {
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>;
  for (const { id, name, isBoth } of members) {
    const value = row[id];
    if (!isBoth) note(value, name === null ? undefined : row[name], found);
    else if (typeof value === 'object' && value !== null) {
      const whole = value as { readonly id?: unknown; readonly name?: unknown };
      note(whole.id, whole.name, found);
    }
  }
}

/** Rows are normalised: numbers are exact. */
function note(id: unknown, name: unknown, found: Map<string, string | null>): void {
  const text = typeof id === 'number' ? String(id) : id;
  if (typeof text !== 'string' || !isAdvertiserId(text)) return;
  found.set(text, nameOf(name) ?? found.get(text) ?? null);
}

/** Valid in a team's list of advertisers. */
function isAdvertiserId(text: string): boolean {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

/** For people: without control characters and lone surrogates, at most {@link MAX_NAME} long. */
function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = value
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME)
    .replaceAll(/\p{Cs}/gu, '\ufffd');
  return name === '' ? null : name;
}

interface AdvertisersOptions {
  readonly documents: Documents;
  readonly accountFields: readonly string[];
  readonly purges: Pick<Purges, 'isPurged'>;
  readonly erasures: Pick<Erasures, 'isErased'>;
  readonly logger: Logger;
}

const KEY = 'advertisers';
const FLUSH_EVERY_MS = 10_000;
/** Lifetime of the document. */
const KEPT_MS = 400 * 86_400_000;
/** Resolution of `seen`, so that not every answer is a write to the store. */
const SEEN_TO_MS = 3_600_000;

export function createAdvertisers(options: AdvertisersOptions) {
  const { documents, accountFields, logger } = options;
  const present = (book: KnownAdvertisers) => without(book, isGoneBy(options));
  const form = { key: KEY, ttlMs: KEPT_MS, decode: decodeAdvertisers, encode: encodeAdvertisers };
  const tallies = createSharedTallies<string, KnownAdvertisers>({
    ...form,
    documents,
    everyMs: FLUSH_EVERY_MS,
    none: NO_ADVERTISERS,
    documentOf: (key) => key,
    merge: (one, other) => bounded(merge(one, other)),
    keep: present,
    onAway: (error) => logger.debug({ err: error }, 'failed to store advertiser names; retrying'),
  });
  const knownOf = (id: string) => {
    const one = tallies.known(KEY)?.get(id);
    return one && present(new Map([[id, one]])).get(id);
  };

  return {
    /** Call for the rows of each storable answer. */
    observed(report: Report, entries: readonly Entry<RowsHeader>[]): void {
      if (isKnown(entries, knownOf, accountFields)) return;
      const seen = present(advertisersOf(report, entries, accountFields));
      const news = new Map([...seen].filter(([id, one]) => isNews(one, knownOf(id))));
      if (news.size > 0) tallies.add(KEY, news);
    },
    /** Of all replicas. @throws StoreUnavailable */
    read: async (): Promise<KnownAdvertisers> => present(await tallies.read(KEY)),
    /** Removes erased and purged data, which is hidden already, from the store. @throws StoreUnavailable */
    async removeGone(): Promise<void> {
      if ((await documents.get(KEY)) === null) return;
      await mergeDocument<KnownAdvertisers>(documents, {
        ...form,
        add: (all) => present(all ?? NO_ADVERTISERS),
      });
    },
    flush: tallies.flush,
    close: tallies.close,
  };
}

/** Advertisers named by rows, else the report's own one if it has rows. */
function advertisersOf(
  report: Report,
  entries: readonly Entry<RowsHeader>[],
  accountFields: readonly string[],
): KnownAdvertisers {
  const header = entries.find(({ header: { rowCount } }) => rowCount > 0)?.header;
  if (header === undefined) return NO_ADVERTISERS;
  const source: Source = { seq: header.seq, at: Math.floor(header.fetchStartedAt) };
  const named = namesIn(entries, accountFields);
  // Rows without a name belong to the requested advertiser, unless several were requested.
  const asked = named.size > 0 ? [] : requestedAccounts(report).filter(isAdvertiserId);
  const ids = asked.length === 1 ? [[asked[0] as string, null] as const] : [...named];
  return new Map(
    ids.map(([id, text]) => [id, { seen: source, name: text === null ? null : { ...source, text } }]),
  );
}

/** Whether these rows can add nothing new; then they are not read. */
function isKnown(
  entries: readonly Entry<RowsHeader>[],
  knownOf: (id: string) => SeenAdvertiser | undefined,
  accountFields: readonly string[],
): boolean {
  return entries.every(({ header: { accounts, columns, fetchStartedAt, rowCount } }) => {
    const needsName = membersOf(columns, accountFields).some(tellsName);
    const isFresh = (one: SeenAdvertiser | undefined) =>
      one !== undefined && fetchStartedAt - one.seen.at < SEEN_TO_MS && !(needsName && one.name === null);
    return rowCount === 0 || (accounts.length > 0 && accounts.every((id) => isFresh(knownOf(id))));
  });
}

function isNews(one: SeenAdvertiser, before: SeenAdvertiser | undefined): boolean {
  if (before === undefined || one.seen.at - before.seen.at >= SEEN_TO_MS) return true;
  return one.name !== null && one.name.text !== before.name?.text;
}

/** By a purge of all, or of an advertiser in all reports and on all days; or by an erasure. */
function isGoneBy({ purges, erasures }: AdvertisersOptions) {
  return (id: string, { seq, at }: Source): boolean =>
    purges.isPurged({
      seq,
      advertiserId: id,
      named: [],
      held: [id],
      // A purge of some reports or days leaves the name.
      ...{ endpoint: '', from: '9999-12-31', to: '0000-01-01' },
    }) || erasures.isErased({ seq, fetchedFrom: at, asked: [id], held: [id], rowCount: 1 });
}
