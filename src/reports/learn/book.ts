/** What is known of advertisers, by all replicas together: when each was seen last, and by which name. Pure. */
import Type from 'typebox';
import { recordForm } from '../../lib/record.js';

/** Advertisers that are remembered: those seen last. With the longest names they fit a document of the store. */
export const MAX_ADVERTISERS = 2500;

/** From which answer something is known: a purge or an erasure after it makes it absent. */
export interface Source {
  /** The newest purge known before the platform was asked. */
  readonly seq: number;
  /** When it was asked, epoch milliseconds. */
  readonly at: number;
}

/** One advertiser. Its name may come from an older answer than the last one that held it. */
export interface SeenAdvertiser {
  readonly seen: Source;
  readonly name: (Source & { readonly text: string }) | null;
}

/** By id. */
export type Book = ReadonlyMap<string, SeenAdvertiser>;

export const NO_BOOK: Book = new Map();

/** In whatever order what was seen is added, the same comes out. */
export function merge(left: Book, right: Book): Book {
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

/** Without what is known no more. @param isGone whether what an answer said of an advertiser was purged or erased */
export function without(book: Book, isGone: (id: string, source: Source) => boolean): Book {
  const kept = new Map<string, SeenAdvertiser>();
  for (const [id, { seen, name }] of book) {
    if (isGone(id, seen)) continue;
    kept.set(id, { seen, name: name === null || isGone(id, name) ? null : name });
  }
  return kept;
}

/** The {@link MAX_ADVERTISERS} that were seen last. */
export function bounded(book: Book): Book {
  if (book.size <= MAX_ADVERTISERS) return book;
  const all = [...book].sort(([a, left], [b, right]) => right.seen.at - left.seen.at || (a < b ? -1 : 1));
  return new Map(all.slice(0, MAX_ADVERTISERS));
}

const BookForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Id, when and under which purge it was seen last, and the same of its name. */
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

/** @returns null for what another release has written */
export function decodeBook(text: string): Book | null {
  const all = BookForm.parse(text);
  if (all === null) return null;
  return new Map(
    all.advertisers.map(([id, at, seq, text, nameAt, nameSeq]) => [
      id,
      { seen: { at, seq }, name: text === null ? null : { text, at: nameAt, seq: nameSeq } },
    ]),
  );
}

/** The same text for the same book. */
export function encodeBook(book: Book): string {
  const advertisers = [...book]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { seen, name }]) => [
      ...[id, seen.at, seen.seq],
      ...[name?.text ?? null, name?.at ?? 0, name?.seq ?? 0],
    ]);
  return JSON.stringify({ form: 1, advertisers });
}
