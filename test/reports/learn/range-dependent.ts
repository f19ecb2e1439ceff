/** Platforms whose numbers for a day depend on the period asked for, each in a way that overlaps alone do not show. */
import type { IncomingMessage } from 'node:http';
import { daysBetween } from '../../../src/reports/query/days.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { periodOf } from '../fetch/by-day.js';

export type Period = readonly [from: string, to: string];
export type Answering = (
  period: Period,
  account?: string | null,
) => readonly Readonly<Record<string, unknown>>[];

export const answering =
  (rowsIn: Answering): Handler =>
  (request: IncomingMessage, response) =>
    sends(JSON.stringify({ data: rowsIn(periodOf(request), accountOf(request)) }))(request, response);

const accountOf = ({ url = '' }: IncomingMessage) =>
  new URL(url, 'http://platform').searchParams.get('advertiserId');

/** Each day alike, whatever the period. */
export const plain: Answering = (period, account = '1') =>
  daysBetween(...period).map((date) => ({
    date,
    campaign_id: 1,
    advertiser_id: Number(account),
    impressions: 110,
  }));

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

/** Counts a conversion on the day after its click, if the click is in the period too. */
export const countingInside =
  (conversions: (account: string | null) => number): Answering =>
  (period, account = '1') =>
    plain(period, account).map((row) => ({
      ...row,
      conversions: row.date === period[0] ? 0 : conversions(account),
    }));

/** Samples periods of more than a month. */
export const sampledWhenLong: Answering = (period, account) =>
  lower(period, account, () => daysBetween(...period).length > 31);

/** Whole months are what was invoiced. */
export const invoicedByMonth: Answering = (period, account) =>
  lower(period, account, () => period[0].endsWith('-01') && next(period[1]).endsWith('-01'));

/** Whole weeks are from another table. */
export const rolledUpByWeek: Answering = (period, account) =>
  lower(period, account, () => weekday(period[0]) === 1 && weekday(next(period[1])) === 1);

/** A period that reaches the last three days before `today` is answered by another path. */
export const recentByAnotherPath =
  (today: () => string): Answering =>
  (period, account) =>
    lower(period, account, () => daysBetween(period[1], today()).length <= 4);

/** One account has so many rows that its periods of more than a week are sampled. */
export const largeAccountSampled =
  (large: string): Answering =>
  (period, account) =>
    lower(period, account, () => account === large && daysBetween(...period).length > 7);

function lower(period: Period, account: string | null | undefined, isLower: () => boolean) {
  return plain(period, account).map((row) => (isLower() ? { ...row, impressions: 100 } : row));
}

const next = (date: string) => new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);
const weekday = (date: string) => new Date(date).getUTCDay();
