/** Stage: what the store holds of a report, and what each piece may be used for now. */

import type { Purges } from '../cache/purges.js';
import type { CacheTier } from '../cache/tier.js';
import type { Wish } from '../http/cache-directives.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { ageMs, type FreshnessRules, freshForMs, type State, stateAt } from '../report/freshness.js';
import { dayRef, type EntryRef } from '../report/keys.js';
import { isPartHeader, type Part, type RowsHeader } from '../report/part.js';
import { newPatience, type Patience } from './store-patience.js';

/** One entry that is looked for: a whole period, or a day of it. */
export interface Unit {
  readonly ref: EntryRef;
  /** The `id` of its `ref`. */
  readonly key: string;
  /** What is claimed while it is fetched: rows and bytes of one answer come together. */
  readonly claim: string;
  readonly from: string | null;
  readonly to: string | null;
}

export function dayUnit(series: string, date: string): Unit {
  const ref = dayRef(series, date);
  return { ref, key: ref.id, claim: ref.id, from: date, to: date };
}

/** Days by their date, of what was found of these units. */
export function daysFound(
  units: readonly Unit[],
  found: ReadonlyMap<string, Part>,
): Map<string, Part<RowsHeader>> {
  return new Map(
    units.flatMap(({ key, from }): [string, Part<RowsHeader>][] => {
      const part = found.get(key);
      return part?.header.form === 'rows' ? [[from as string, part as Part<RowsHeader>]] : [];
    }),
  );
}

/** What a piece may be used for. stale: at once, with a refresh behind · error-only: when the platform fails */
export type Use = 'fresh' | 'stale' | 'error-only' | 'absent';

export interface LookUpOptions {
  readonly tier: CacheTier;
  readonly purges: Purges;
  readonly rules: FreshnessRules;
  readonly negativeMs: number;
  readonly now: () => number;
}

export interface LookUp {
  /**
   * Reads entries of one series in one round trip. Those that were purged, or are of another form, are absent.
   * @param patience where it is spent, nothing is read
   */
  read(
    report: CanonicalReport,
    units: readonly Unit[],
    patience?: Patience,
  ): Promise<{ readonly found: Map<string, Part>; readonly degraded: boolean }>;
  isPurged(part: Part, report: CanonicalReport, unit: Unit): boolean;
  /** @param arrivedAt when the request came: `no-cache` asks for a fetch that began after it */
  use(part: Part, wish: Wish, arrivedAt: number): Use;
}

/** Longest list of keys in one command: 400 days of 5 KB are 2 MiB. */
const KEYS_PER_READ = 400;

export function createLookUp({ tier, purges, rules, negativeMs, now }: LookUpOptions): LookUp {
  function isPurged({ header }: Part, report: CanonicalReport, { from, to }: Unit): boolean {
    const { account, accounts, endpoint } = report;
    const { seq, accounts: held } = header;
    return purges.isPurged({ seq, advertiserId: account, named: accounts, held, endpoint, from, to });
  }

  function stateOf({ header }: Part): State {
    if (header.form !== 'refusal') return stateAt(header, rules, now());
    // From the future after a clock was set back: then it is not known how old it is.
    return Math.abs(now() - header.fetchedAt) < negativeMs ? 'fresh' : 'absent';
  }

  return {
    isPurged,
    async read(report, units, patience = newPatience()) {
      const found = new Map<string, Part>();
      let degraded = false;
      for (let start = 0; start < units.length; start += KEYS_PER_READ) {
        if (patience.isSpent) return { found, degraded: true };
        const chunk = units.slice(start, start + KEYS_PER_READ);
        const read = await tier.read(chunk.map(({ ref }) => ref));
        degraded ||= read.degraded;
        patience.isSpent ||= read.degraded;
        for (const [index, unit] of chunk.entries()) {
          const entry = read.entries[index];
          if (entry === null || entry === undefined || !isPartHeader(entry.header)) continue;
          const part: Part = { header: entry.header, body: entry.body };
          if (!isPurged(part, report, unit)) found.set(unit.key, part);
        }
      }
      return { found, degraded };
    },
    use(part, wish, arrivedAt) {
      const { header } = part;
      const age = ageMs(header.fetchedAt, now());
      const state = stateOf(part);
      if (state === 'absent') return 'absent';
      const fallback = header.form === 'refusal' ? 'absent' : 'error-only';
      if (wish.maxAgeMs === 0) return header.fetchStartedAt >= arrivedAt ? 'fresh' : fallback;
      if (wish.maxAgeMs !== null && age > wish.maxAgeMs) return fallback;
      if (state === 'fresh') return 'fresh';
      if (state === 'revalidate') return 'stale';
      const staleMs = age - freshForMs(header, rules);
      return wish.maxStaleMs !== null && staleMs <= wish.maxStaleMs ? 'stale' : 'error-only';
    },
  };
}
