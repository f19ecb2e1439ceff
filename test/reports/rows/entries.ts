/** Parts of answers as the cache holds them, for tests. */

import type { CountRules } from '../../../src/reports/learn/evidence.js';
import { dayNumber } from '../../../src/reports/query/days.js';
import { encodeTypes } from '../../../src/reports/rows/column-types.js';
import {
  type BytesHeader,
  bodyHash,
  type Entry,
  type RefusalHeader,
  ROW_SEPARATOR,
  type RowsHeader,
} from '../../../src/reports/rows/entry.js';
import type { Facts, FreshnessRules } from '../../../src/reports/rows/freshness.js';
import { normalizeAnswer } from '../../../src/reports/rows/normalize.js';

/** The contract's defaults. */
export const RULES: FreshnessRules = {
  restatementDays: 5,
  currentMs: 300_000,
  restatingMs: 3_600_000,
  finalMs: 2_592_000_000,
  emptyMs: 300_000,
  emptyFinalMs: 3_600_000,
  undeclaredMs: 300_000,
  staleWhileRevalidateMs: 600_000,
  staleIfErrorMs: 604_800_000,
};

/** Looks at days are counted, as those of the counted series of a scope. */
export const COUNTING: CountRules = {
  timezone: 'UTC',
  isSplit: true,
  isCounted: true,
  learnsFinality: true,
  restatementDays: 5,
  maxDays: 45,
  lateOn: -1,
};

export const FETCHED_AT = Date.parse('2026-11-21T12:00:00Z');

export function factsOf(changes: Partial<Facts> = {}): Facts {
  return {
    order: (FETCHED_AT - 500) * 1000,
    fetchStartedAt: FETCHED_AT - 500,
    fetchedAt: FETCHED_AT,
    lastDay: '2026-11-10',
    fetchedOn: dayNumber('2026-11-21') as number,
    kind: 'bounded',
    emptyTail: 'no',
    originMs: null,
    ...changes,
  };
}

/** @param rows rows as the platform would write them */
export function rowsEntry(
  rows: readonly object[],
  changes: Partial<RowsHeader> & { readonly byDate?: boolean } = {},
): Entry<RowsHeader> {
  const { byDate = false, ...header } = changes;
  const normalized = normalizeAnswer(JSON.stringify(rows), {
    rule: {},
    period: { from: null, to: null },
    byDate,
    splits: true,
    accountPattern: /^advertiserid$/,
  });
  const body = Buffer.from(normalized.rows.map(({ json }) => json).join(ROW_SEPARATOR));
  return {
    body,
    header: {
      ...factsOf(),
      form: 'rows',
      seq: 0,
      accounts: normalized.accounts,
      columns: normalized.columns,
      types: encodeTypes(normalized.columns, normalized.types),
      rowCount: rows.length,
      answerRows: rows.length,
      paging: null,
      splitFrom: null,
      hash: bodyHash(body),
      ...header,
    },
  };
}

export function bytesEntry(text: string, changes: Partial<BytesHeader> = {}): Entry<BytesHeader> {
  const body = Buffer.from(text);
  return {
    body,
    header: {
      ...factsOf(),
      form: 'bytes',
      opaque: false,
      status: 200,
      contentType: 'application/json',
      seq: 0,
      accounts: [],
      hash: bodyHash(body),
      ...changes,
    },
  };
}

export function refusalEntry(text: string, changes: Partial<RefusalHeader> = {}): Entry<RefusalHeader> {
  const { opaque: _, ...header } = bytesEntry(text).header;
  return {
    body: Buffer.from(text),
    header: { ...header, form: 'refusal', status: 404, upstream: null, tainted: false, ...changes },
  };
}
