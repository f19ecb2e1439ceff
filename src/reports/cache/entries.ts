/** Entries that one request holds: found in the store or fetched. */
import { GatewayError } from '../../errors.js';
import type { Entry } from '../rows/entry.js';

/** An entry and its source. */
export interface HeldEntry {
  readonly entry: Entry;
  /**
   * kept: from the store · own: fetched by this request, so always newer than it, whatever the clock says · other: fetched
   * by another request
   */
  readonly source: 'kept' | 'own' | 'other';
  /** Present at the first read: older than the request, even within the same millisecond. */
  readonly wasThere: boolean;
  /** Time of the lookup, epoch milliseconds; freshness is evaluated for it. */
  readonly atMs: number;
}

/** An entry, or why the platform's answer has none. */
export type EntryOrError = Entry | GatewayError;

export interface Entries {
  /** By id of their ref. */
  readonly known: ReadonlyMap<string, HeldEntry>;
  /** Answers that may not be reports, by id; served only if there is nothing else. */
  readonly doubtful: ReadonlyMap<string, Entry>;
}

export function createEntries() {
  const known = new Map<string, HeldEntry>();
  const doubtful = new Map<string, Entry>();
  /** Orders of the entries of the first read. */
  let first: ReadonlyMap<string, number> | null = null;

  return {
    known,
    doubtful,
    /** Adds entries read from the store. */
    addFound(found: ReadonlyMap<string, Entry>, atMs: number): void {
      first ??= new Map([...found].map(([key, { header }]) => [key, header.order]));
      for (const [key, entry] of found) {
        const wasThere = first.get(key) === entry.header.order;
        known.set(key, { entry, source: 'kept', wasThere, atMs });
      }
    },
    /** Adds entries that others fetched since, if newer. */
    addNewer(found: ReadonlyMap<string, Entry>, atMs: number): void {
      for (const [key, entry] of found) {
        const held = known.get(key)?.entry.header.order;
        if (held === undefined || entry.header.order > held)
          known.set(key, { entry, source: 'other', wasThere: false, atMs });
      }
    },
    /** Adds fetched entries. @returns the first unreadable entry's error, else null */
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
