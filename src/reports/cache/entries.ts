/** What one request has in hand of its report: found in the store, or fetched by a call. */
import { GatewayError } from '../../errors.js';
import { replaces } from '../../store/entry-stamp.js';
import type { Entry } from '../rows/entry.js';

/** An entry in hand, and how it came there. */
export interface HeldEntry {
  readonly entry: Entry;
  /**
   * kept: it was in the store · own: a call of this request fetched it · other: another caller's did. One's own
   * began after the question came, whatever the clock did meanwhile.
   */
  readonly source: 'kept' | 'own' | 'other';
  /** In the store at the first look: it was there before the request, though both may be of the same millisecond. */
  readonly wasThere: boolean;
  /** When it was looked up, epoch milliseconds; its freshness is judged as of then. */
  readonly atMs: number;
}

/** An entry, or why there is none although the platform answered. */
export type EntryOrError = Entry | GatewayError;

export interface Entries {
  /** By key. */
  readonly known: ReadonlyMap<string, HeldEntry>;
  /** What may be no report, by key: given when there is nothing better, and put aside until then. */
  readonly doubtful: ReadonlyMap<string, Entry>;
}

export type EntryStore = ReturnType<typeof createEntries>;

export function createEntries() {
  const known = new Map<string, HeldEntry>();
  const doubtful = new Map<string, Entry>();
  /** When each entry of the first look began to be fetched. */
  let first: ReadonlyMap<string, number> | null = null;

  return {
    known,
    doubtful,
    /** What the store holds now. */
    addFound(found: ReadonlyMap<string, Entry>, atMs: number): void {
      first ??= new Map([...found].map(([key, { header }]) => [key, header.fetchStartedAt]));
      for (const [key, entry] of found) {
        const wasThere = first.get(key) === entry.header.fetchStartedAt;
        known.set(key, { entry, source: 'kept', wasThere, atMs });
      }
    },
    /** What others fetched since, where it is newer than what is in hand. */
    addNewer(found: ReadonlyMap<string, Entry>, atMs: number): void {
      for (const [key, entry] of found) {
        const held = known.get(key)?.entry.header.fetchStartedAt;
        if (held === entry.header.fetchStartedAt) continue;
        if (held === undefined || replaces(entry.header.fetchStartedAt, held))
          known.set(key, { entry, source: 'other', wasThere: false, atMs });
      }
    },
    /**
     * What a call fetched.
     * @returns why an entry cannot be read, where one cannot; null: there is none such
     */
    addFetched(
      fetched: ReadonlyMap<string, EntryOrError>,
      by: 'own' | 'other',
      atMs: number,
    ): GatewayError | null {
      let fault: GatewayError | null = null;
      for (const [key, entry] of fetched) {
        if (entry instanceof GatewayError) fault ??= entry;
        else if (entry.header.form === 'rows' && entry.header.doubt !== undefined) doubtful.set(key, entry);
        else known.set(key, { entry, source: by, wasThere: false, atMs });
      }
      return fault;
    },
  };
}
