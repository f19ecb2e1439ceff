/** What a caller should know of an answer beside its rows: `meta.warnings`. */
import type { Entry, EntryHeader } from './entry.js';

export interface Warning {
  /** For programs. */
  readonly code: 'shape_unknown' | 'totals_unavailable';
  /** For people: what it means, and what to do. */
  readonly message: string;
}

/** @param totals the unsplit report of the same period, when it was asked for */
export function warningsOf(
  endpoint: string,
  parts: readonly Entry[],
  totals: Entry | null,
): readonly Warning[] {
  const all = totals === null ? parts : [...parts, totals];
  const doubt = all.map(({ header }) => (header.form === 'rows' ? header.doubt : undefined)).find(Boolean);
  const missing = totals === null ? null : whyNoTotals(totals.header);
  return [
    ...(doubt === undefined ? [] : [shapeUnknown(endpoint, doubt)]),
    ...(missing === null ? [] : [totalsUnavailable(missing)]),
  ];
}

function shapeUnknown(endpoint: string, doubt: string): Warning {
  return {
    code: 'shape_unknown',
    message: `The platform's answer may be no report: ${doubt}. It was not kept. If it is one, say so with report.endpoints."${endpoint}".rowsAt or requiredColumns.`,
  };
}

/** @returns null when the unsplit report is the one row that totals are */
function whyNoTotals(header: EntryHeader): string | null {
  if (header.form !== 'rows') return 'is not one of rows';
  if (header.rowCount === 1) return null;
  return header.rowCount === 0 ? 'has no row' : `has ${header.rowCount} rows where one was expected`;
}

function totalsUnavailable(why: string): Warning {
  return {
    code: 'totals_unavailable',
    message: `meta.totals is missing: the platform's unsplit report of this period ${why}. Do not add up the rows instead where meta.reach.summable is false.`,
  };
}
