/** Platforms whose numbers for a day depend on the period asked for, each in a way that overlaps alone do not show. */
import type { IncomingMessage } from 'node:http';
import { daysBetween } from '../../../src/reports/query/days.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { periodOf } from '../fetch/by-day.js';

export type Period = readonly [from: string, to: string];
export type Answering = (period: Period) => readonly Readonly<Record<string, unknown>>[];

export const answering =
  (rowsIn: Answering): Handler =>
  (request: IncomingMessage, response) =>
    sends(JSON.stringify({ data: rowsIn(periodOf(request)) }))(request, response);

/** Each day alike, whatever the period. */
export const plain: Answering = (period) =>
  daysBetween(...period).map((date) => ({ date, campaign_id: 1, advertiser_id: 1, impressions: 110 }));

/** The last day of a period is counted up to some hour only. */
export const lowerOnTheLastDay: Answering = (period) =>
  plain(period).map((row) => (row.date === period[1] ? { ...row, impressions: 100 } : row));

/** Lists a campaign on every day of a period in which it delivered at all; one of three delivered on a single day. */
export const listingWhatDelivered: Answering = (period) => {
  const dates = daysBetween(...period);
  const delivers = (date: string, campaign: number) => campaign < 3 || date === '2026-10-20';
  return dates.flatMap((date) =>
    [1, 2, 3]
      .filter((campaign) => dates.some((other) => delivers(other, campaign)))
      .map((campaign_id) => ({
        date,
        campaign_id,
        advertiser_id: 1,
        impressions: delivers(date, campaign_id) ? 10 * campaign_id : 0,
      })),
  );
};
