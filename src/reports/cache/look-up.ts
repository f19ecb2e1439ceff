/** What the store holds of a report: entries of one series, read in one round trip. */

import type { Report } from '../query/canonicalize.js';
import { type EntryRef, newPatience, type Patience } from '../question.js';
import { type Entry, isEntryHeader, type RowsHeader } from '../rows/entry.js';
import { isPurged } from './grade.js';
import type { Purges } from './purges.js';
import type { CacheTier, ReadWhen } from './tier.js';

export type LookUp = ReturnType<typeof createLookUp>;

/** Longest list of keys in one command: 400 days of 5 KB are 2 MiB. */
const KEYS_PER_READ = 400;

export function createLookUp(tier: CacheTier, purges: Pick<Purges, 'isPurged'>) {
  return {
    /**
     * Those that were purged, or are of another form, are absent.
     * @param patience where it is spent, nothing is read
     */
    async read(
      report: Report,
      refs: readonly EntryRef[],
      patience: Patience = newPatience(),
      when?: ReadWhen,
    ): Promise<{ readonly found: Map<string, Entry>; readonly degraded: boolean }> {
      const found = new Map<string, Entry>();
      let degraded = false;
      for (let start = 0; start < refs.length; start += KEYS_PER_READ) {
        if (patience.isSpent) return { found, degraded: true };
        const chunk = refs.slice(start, start + KEYS_PER_READ);
        const read = await tier.read(chunk, when);
        degraded ||= read.degraded;
        patience.isSpent ||= read.degraded;
        for (const [index, ref] of chunk.entries()) {
          const entry = read.entries[index];
          if (entry === null || entry === undefined || !isEntryHeader(entry.header)) continue;
          const part = entry as Entry;
          if (!isPurged(part, ref, { report, purges })) found.set(ref.id, part);
        }
      }
      return { found, degraded };
    },
  };
}

/** Days by their date, of what was found of these refs. */
export function daysFound(
  refs: readonly EntryRef[],
  found: ReadonlyMap<string, Entry>,
): Map<string, Entry<RowsHeader>> {
  return new Map(
    refs.flatMap(({ id, from }): [string, Entry<RowsHeader>][] => {
      const part = found.get(id);
      return part?.header.form === 'rows' ? [[from as string, part as Entry<RowsHeader>]] : [];
    }),
  );
}
