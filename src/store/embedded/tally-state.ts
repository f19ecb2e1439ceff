import type { TallyAdd, TallyRaise } from '../port.js';
import { BATCH_MEMORY_MS } from '../tally-batch.js';
import { chunks } from './chunks.js';
import type { JournalledState } from './journalled-state.js';
import type { RealTime } from './real-time.js';

export interface TallyBatch {
  readonly id: string;
  readonly adds: readonly TallyAdd[];
  readonly raises: readonly TallyRaise[];
  readonly ttlMs: number;
}

type Row = readonly [book: string, field: string, number: number];

/** A batch as it stands in the journal. */
export interface TallyEntry {
  readonly id: string;
  readonly atMs: number;
  readonly ttlMs: number;
  readonly adds: readonly Row[];
  readonly raises: readonly Row[];
}

export type TallyPart =
  | {
      readonly books: readonly (readonly [
        book: string,
        endsAtMs: number,
        fields: readonly (readonly [field: string, number: number])[],
      ])[];
    }
  | { readonly batches: readonly (readonly [id: string, atMs: number])[] };

export interface TallyState extends JournalledState<TallyBatch, TallyEntry> {
  restore(part: TallyPart): void;
  read(book: string): ReadonlyMap<string, number>;
}

interface Book {
  readonly fields: Map<string, number>;
  readonly endsAtMs: number;
}

/** The tallies in memory. What has ended is dropped when the journal is rewritten. */
export function createTallyState(realTime: RealTime): TallyState {
  const books = new Map<string, Book>();
  /** Batches applied, and when, the oldest first. */
  const batches = new Map<string, number>();

  /** A batch that came from a future (the machine's clock was put back since) is forgotten too. */
  const remembered = (id: string, nowMs: number) =>
    Math.abs(nowMs - (batches.get(id) ?? Number.NaN)) <= BATCH_MEMORY_MS;

  function forget(nowMs: number): void {
    for (const [name, book] of books) if (live(book, nowMs) === null) books.delete(name);
    for (const id of batches.keys()) if (!remembered(id, nowMs)) batches.delete(id);
  }

  return {
    header: () => ({}),
    parts() {
      forget(realTime());
      const write = ([name, { fields, endsAtMs }]: [string, Book]) => [name, endsAtMs, [...fields]] as const;
      return [
        ...chunks([...books], (chunk) => ({ books: chunk.map(write) })),
        ...chunks([...batches], (chunk) => ({ batches: chunk })),
      ];
    },
    restore(part) {
      if ('batches' in part) for (const [id, atMs] of part.batches) batches.set(id, atMs);
      else {
        for (const [name, endsAtMs, fields] of part.books)
          books.set(name, { endsAtMs, fields: new Map(fields) });
      }
    },
    prepare(changes) {
      const atMs = realTime();
      const staged = new Set<string>();
      return changes.map((batch) => {
        if (staged.has(batch.id) || remembered(batch.id, atMs)) return null;
        staged.add(batch.id);
        return entryOf(batch, atMs);
      });
    },
    apply(entry) {
      applyEntry(books, entry);
      batches.set(entry.id, entry.atMs);
    },
    read: (name) => new Map(live(books.get(name), realTime())),
  };
}

function live(book: Book | undefined, atMs: number): Map<string, number> | null {
  return book !== undefined && atMs < book.endsAtMs ? book.fields : null;
}

function applyEntry(books: Map<string, Book>, { atMs, ttlMs, adds, raises }: TallyEntry): void {
  const fieldsOf = (name: string) => {
    const fields = live(books.get(name), atMs) ?? new Map<string, number>();
    books.set(name, { fields, endsAtMs: atMs + ttlMs });
    return fields;
  };
  for (const [name, field, by] of adds) {
    const fields = fieldsOf(name);
    fields.set(field, within((fields.get(field) ?? 0) + by));
  }
  for (const [name, field, to] of raises) {
    const fields = fieldsOf(name);
    fields.set(field, Math.max(fields.get(field) ?? to, to));
  }
}

const within = (total: number) =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, total));

function entryOf({ id, adds, raises, ttlMs }: TallyBatch, atMs: number): TallyEntry {
  return {
    id,
    atMs,
    ttlMs,
    adds: adds.map(({ book, field, by }) => [book, field, by]),
    // Zero has no sign here, nor in JSON.
    raises: raises.map(({ book, field, to }) => [book, field, to + 0]),
  };
}
