/** Assembled answers in few words, for tests. */

import { formatRows } from '../../../src/reports/cache/threads/tasks.js';
import type { Assembled, AssembleInput } from '../../../src/reports/rows/answer.js';
import { get } from '../query/canonical-request.js';
import { FETCHED_AT, RULES, rowsEntry } from './entries.js';

export const HOUR = 3_600_000;
export const QUERY = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-09&dateTo=2026-11-10';
export const ROWS = [
  { date: '2026-11-09', campaign_id: 7, spent: '12.3400' },
  { date: '2026-11-10', campaign_id: 7, spent: '0.10', note: 'a, b' },
];

export function ask(changes: Partial<AssembleInput> = {}, query = QUERY): AssembleInput {
  return {
    report: get(query).report,
    format: 'json',
    parts: [rowsEntry(ROWS, { byDate: true })],
    totals: null,
    days: false,
    bom: false,
    fields: null,
    nowMs: FETCHED_AT + 1000,
    rules: RULES,
    past: null,
    isRecorded: false,
    leftOut: [],
    ...changes,
  };
}

/** The body as its reader gets it. */
export function bodyOf(answer: Assembled): Buffer {
  const body = answer.body();
  if ('ready' in body) return Buffer.concat(body.ready);
  return Buffer.concat([body.head, formatRows(body.task), body.tail]);
}
