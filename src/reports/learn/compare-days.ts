/** Compares the days of a new answer with what earlier answers said of them. Pure. */

import type { ReportSeries } from '../query/platform-call.js';
import type { Entry, RowsHeader, SplitFrom } from '../rows/entry.js';
import { type FreshnessRules, isFinal } from '../rows/freshness.js';
import { type Agreement, pairId } from './state.js';

/** Days by date. */
export type Days = ReadonlyMap<string, Entry<RowsHeader>>;

export interface DaysInput extends Pick<DaysOf, 'series' | 'known'> {
  readonly fresh: readonly Entry<RowsHeader>[];
  /** Of the kind's divisibility: what was split under another one says nothing. */
  readonly generation: string;
  readonly rules: FreshnessRules;
}

/** A final day of which two answers say different things. */
export interface Dispute {
  readonly date: string;
  readonly older: Entry<RowsHeader>;
  readonly newer: Entry<RowsHeader>;
}

export interface DaysCompared {
  /** Of answers that differ in both ends, and only days with rows. */
  readonly agreements: readonly Agreement[];
  readonly disputes: readonly Dispute[];
  /** Dates on which answers for different periods say the same, rows or none. */
  readonly same: ReadonlySet<string>;
}

export function compareDays({ series, fresh, known, generation, rules }: DaysInput): DaysCompared {
  const agreements: Agreement[] = [];
  const disputes: Dispute[] = [];
  const same = new Set<string>();
  for (const newer of fresh) {
    const date = newer.header.lastDay as string;
    const older = known.get(date);
    if (older === undefined || ![older, newer].every((entry) => isComparable(entry, generation, rules)))
      continue;
    const [a, b] = [splitFromOf(older), splitFromOf(newer)];
    if (a.sortedHash !== b.sortedHash) {
      disputes.push({ date, older, newer });
      continue;
    }
    if (a.from !== b.from || a.to !== b.to) same.add(date);
    if (newer.header.rowCount > 0 && a.from !== b.from && a.to !== b.to) {
      agreements.push({ date, pair: pairId(series, `${a.from}/${a.to}`, `${b.from}/${b.to}`) });
    }
  }
  return { agreements, disputes, same };
}

/** Only days past restatement say anything: the others may differ for good reasons. */
export function isComparable(
  { header }: Entry<RowsHeader>,
  generation: string,
  rules: FreshnessRules,
): boolean {
  if (header.forgotten !== undefined) return false;
  return header.splitFrom?.generation === generation && isFinal(header, rules);
}

/** Of a day that {@link isComparable}. */
export function splitFromOf({ header }: Entry<RowsHeader>): SplitFrom {
  return header.splitFrom as SplitFrom;
}

export interface DaysOf extends ReportSeries {
  /** What is known of days already, to tell an empty day that stays empty. */
  readonly known: Days;
}

/** @returns null when the platform refused, or when its answer may not be split */
export type FetchDays = (what: DaysOf, from: string, to: string) => Promise<Days | null>;
