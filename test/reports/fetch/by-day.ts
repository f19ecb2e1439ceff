/** Settings and a platform's answers for reports that are split by day. */
import type { IncomingMessage } from 'node:http';
import { daysBetween } from '../../../src/reports/query/days.js';
import { type Handler, sends } from '../../support/raw-platform.js';

/** The campaign report, split by day from the first answer on. */
export const ALWAYS = { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } };

export const byDay = (from: string, to: string) => `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}`;

/** The period a call asks for. */
export function periodOf(call: { readonly url?: string | undefined }): readonly [from: string, to: string] {
  const { searchParams } = new URL(call.url ?? '', 'http://platform');
  return [searchParams.get('dateFrom') ?? '', searchParams.get('dateTo') ?? ''];
}

/** Answers each asked day with so many rows; beyond the cap it silently stops. */
export function rowsPerDay(
  rowsOn: (date: string) => number,
  cap = Number.POSITIVE_INFINITY,
  more: Readonly<Record<string, unknown>> = {},
): Handler {
  return (request: IncomingMessage, response) => {
    const rows = daysBetween(...periodOf(request)).flatMap((date) =>
      Array.from({ length: rowsOn(date) }, (_, index) => ({
        date,
        campaign_id: index,
        advertiser_id: 1,
        impressions: 1,
        ...more,
      })),
    );
    sends(JSON.stringify({ data: rows.slice(0, cap) }))(request, response);
  };
}
